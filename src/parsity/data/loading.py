"""From a name to a data set in memory."""

from __future__ import annotations

import io
import logging
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from parsity.data.catalogue import CATALOGUE
from parsity.data.dataset import Dataset
from parsity.data.fetching import fetch
from parsity.data.places import locate
from parsity.errors import UsageError
from parsity.extensions import resolve

if TYPE_CHECKING:
    import os

    from parsity.data.catalogue import Entry
    from parsity.data.places import Place

logger = logging.getLogger(__name__)

Bytes = np.ndarray[tuple[int, ...], np.dtype[np.uint8]]


def load(name: str, *, folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Return the data set ``name``: a built-in one, or one of the user's own.

    A built-in set comes from ``folder`` (or the folder in ``PARSITY_DATA_DIR``), the cache, or is fetched;
    every digest is checked on the way. Anything else is an import path ``package.module:function`` or an entry
    point, whose function returns a `Dataset`, or images and labels (and test images and test labels).
    """
    if name in CATALOGUE:
        return load_entry(CATALOGUE[name], None if folder is None else Path(folder))
    made = resolve("data", name, dict.fromkeys(CATALOGUE, f"{__name__}:load"))
    if folder is not None:
        raise UsageError(f"data set {name}: a folder is for the built-in ones: {', '.join(CATALOGUE)}")
    if callable(made):
        made = made()
    if isinstance(made, tuple) and len(made) in (2, 4):
        rest = dict(zip(("test_images", "test_labels"), made[2:], strict=False))
        made = Dataset.from_tensors(made[0], made[1], name=name, **rest)
    if not isinstance(made, Dataset):
        raise UsageError(
            f"data set {name}: gave a {type(made).__name__}; allowed are a parsity.data.Dataset, "
            "(images, labels) or (images, labels, test images, test labels)"
        )
    return made


def load_entry(entry: Entry, folder: Path | None) -> Dataset:
    """Return a data set of the catalogue, fetching it first where needed."""
    place = locate(entry, folder)
    if place is None or (place.kind == "cache" and place.missing(entry)):
        place = fetch(entry, folder=folder)
    # Digits need no remark; where anything else was taken from may surprise.
    logger.log(
        logging.DEBUG if entry.embedded else logging.INFO, "%s: from the %s %s", entry.name, place.kind, place.at
    )
    images, labels = {"npz": _npz, "idx": _idx, "cifar": _cifar}[entry.layout](entry, place)
    tensors = torch.from_numpy(images.reshape(-1, *entry.shape))
    numbers = torch.from_numpy(labels.astype(np.int64))
    return Dataset.from_tensors(
        tensors[: entry.images],
        numbers[: entry.images],
        name=entry.name,
        test_images=tensors[entry.images :],
        test_labels=numbers[entry.images :],
        classes=entry.classes,
        scale=entry.scale,
    )


def _npz(entry: Entry, place: Place) -> tuple[Bytes, Bytes]:
    with np.load(io.BytesIO(place.read(entry.files[0])), allow_pickle=False) as arrays:
        return arrays["images"], arrays["labels"]


def _idx(entry: Entry, place: Place) -> tuple[Bytes, Bytes]:
    train_images, train_labels, test_images, test_labels = (
        np.frombuffer(place.read(file), dtype=np.uint8) for file in entry.files
    )
    # The headers (16 bytes before images, 8 before labels) are right, for the digests are.
    images = np.concatenate([train_images[16:], test_images[16:]])
    return images, np.concatenate([train_labels[8:], test_labels[8:]])


def _cifar(entry: Entry, place: Place) -> tuple[Bytes, Bytes]:
    batches = (np.frombuffer(place.read(file), dtype=np.uint8).reshape(-1, 3073) for file in entry.files)
    records = np.concatenate(list(batches))
    return np.ascontiguousarray(records[:, 1:]), records[:, 0]
