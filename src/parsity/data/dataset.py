"""A data set in memory: images, labels, and how pixels become numbers."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from parsity.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

Statistics = tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Images and labels of one training file, in file order, and of its test file where there is one.

    ``images`` is (number, channels, height, width), uint8 as they came (or floating point, for one's own);
    ``mean`` and ``std`` have one entry per channel, in units of ``scale``.
    """

    name: str
    images: Tensor
    labels: Tensor
    test_images: Tensor | None
    test_labels: Tensor | None
    classes: tuple[str, ...]
    scale: float
    mean: Statistics
    std: Statistics

    @classmethod
    def from_tensors(
        cls,
        images: Tensor,
        labels: Tensor,
        *,
        name: str = "own",
        test_images: Tensor | None = None,
        test_labels: Tensor | None = None,
        classes: Sequence[str] | None = None,
        scale: float | None = None,
        mean: Sequence[float] | None = None,
        std: Sequence[float] | None = None,
    ) -> Dataset:
        """Check tensors of one's own and make a data set of them.

        uint8 images are divided by ``scale`` (255) and standardised by the mean and standard deviation of the
        training images, unless given. Floating-point images are taken as they are, unless those are given.
        """
        labels = _checked(name, "", images, labels)
        if (test_images is None) != (test_labels is None):
            raise UsageError(f"data set {name}: test images and test labels are given both or not at all")
        if test_images is not None and test_labels is not None:
            test_labels = _checked(name, "test ", test_images, test_labels)
            if test_images.shape[1:] != images.shape[1:] or test_images.dtype != images.dtype:
                raise UsageError(
                    f"data set {name}: test images are {_kind(test_images)}, "
                    f"training images {_kind(images)}; they must agree in all but their number"
                )
        highest = int(labels.max())
        names = tuple(classes) if classes is not None else tuple(str(label) for label in range(highest + 1))
        if test_labels is not None:
            highest = max(highest, int(test_labels.max()))
        if highest >= len(names):
            raise UsageError(f"data set {name}: there is a label {highest}, allowed are 0 to {len(names) - 1}")
        if scale is None:
            scale = 255.0 if images.dtype == torch.uint8 else 1.0
        if not (math.isfinite(scale) and scale > 0):
            raise UsageError(f"data set {name}: the scale is {scale}; it must be a positive number")
        own_mean, own_std = _own_statistics(name, images.shape[1], mean, std)
        if own_mean is None or own_std is None:
            own_mean, own_std = _statistics(images, scale)
        return cls(name, images, labels, test_images, test_labels, names, float(scale), own_mean, own_std)

    def to(self, device: torch.device) -> Dataset:
        """The same data set with its training images on ``device``; itself if they are there."""
        if self.images.device == device:
            return self
        return replace(self, images=self.images.to(device), labels=self.labels.to(device))

    def normalise(self, images: Tensor) -> Tensor:
        """Return float32 pixels: (x / scale - mean) / std, channel by channel."""
        if self._identity:
            return images.to(torch.float32)
        pixels = images.to(torch.float32, copy=True)
        shape = (-1, 1, 1)
        mean = torch.tensor(self.mean, dtype=torch.float32, device=pixels.device).reshape(shape)
        std = torch.tensor(self.std, dtype=torch.float32, device=pixels.device).reshape(shape)
        return pixels.div_(self.scale).sub_(mean).div_(std)

    @cached_property
    def _identity(self) -> bool:
        return self.scale == 1 and set(self.mean) == {0.0} and set(self.std) == {1.0}

    @cached_property
    def digest(self) -> str:
        """Sha256 of the tensors and the normalisation: of all that a measurement here depends on."""
        parts = [self.images, self.labels, self.test_images, self.test_labels]
        heading = {
            "tensors": [None if part is None else [str(part.dtype), list(part.shape)] for part in parts],
            "normalisation": [self.scale, self.mean, self.std],
        }
        digest = hashlib.sha256(json.dumps(heading).encode())
        for part in parts:
            if part is not None:
                # As bytes, because not every dtype of torch has one in numpy.
                flat = part.detach().cpu().contiguous().flatten()
                digest.update(flat.view(torch.uint8).numpy().data)
        return digest.hexdigest()


def _checked(name: str, which: str, images: Tensor, labels: Tensor) -> Tensor:
    """Refuse tensors that are no images and labels; return the labels as int64."""
    for what, tensor in (("images", images), ("labels", labels)):
        if not isinstance(tensor, Tensor):
            raise UsageError(f"data set {name}: {which}{what} are a {type(tensor).__name__}; give a tensor")
    if images.ndim != 4 or 0 in images.shape:
        raise UsageError(
            f"data set {name}: {which}images are {_kind(images)}; "
            "give (number, channels, height, width), none of them 0"
        )
    if not (images.dtype == torch.uint8 or images.dtype.is_floating_point):
        raise UsageError(f"data set {name}: {which}images are {_kind(images)}; give uint8 or a floating-point type")
    if images.dtype.is_floating_point and not bool(torch.isfinite(images).all()):
        raise UsageError(f"data set {name}: {which}images hold a value that is not finite")
    whole = not (labels.dtype.is_floating_point or labels.dtype.is_complex or labels.dtype == torch.bool)
    if labels.shape != (len(images),) or not whole:
        raise UsageError(
            f"data set {name}: {which}labels are {_kind(labels)}; give one whole number per image: ({len(images)})"
        )
    labels = labels.to(torch.int64)
    if int(labels.min()) < 0:
        raise UsageError(f"data set {name}: there is a {which}label {int(labels.min())}; labels start at 0")
    return labels


def _kind(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} ({', '.join(map(str, tensor.shape))})"


def _own_statistics(
    name: str, channels: int, mean: Sequence[float] | None, std: Sequence[float] | None
) -> tuple[Statistics | None, Statistics | None]:
    if (mean is None) != (std is None):
        raise UsageError(f"data set {name}: mean and std are given both or not at all")
    if mean is None or std is None:
        return None, None
    own_mean, own_std = tuple(map(float, mean)), tuple(map(float, std))
    if not len(own_mean) == len(own_std) == channels or not all(map(math.isfinite, own_mean + own_std)):
        raise UsageError(f"data set {name}: mean {own_mean} and std {own_std} must be {channels} finite numbers each")
    if min(own_std) <= 0:
        raise UsageError(f"data set {name}: std {own_std} must be above 0")
    return own_mean, own_std


def _statistics(images: Tensor, scale: float) -> tuple[Statistics, Statistics]:
    """Mean and (population) standard deviation per channel, from integer sums: rounded once, at the end."""
    channels = images.shape[1]
    if images.dtype != torch.uint8:
        return (0.0,) * channels, (1.0,) * channels
    values = torch.arange(256)
    count = images.numel() // channels
    mean, std = [], []
    for channel in images.unbind(1):
        often = torch.bincount(channel.reshape(-1), minlength=256).cpu()
        first, second = int((often * values).sum()), int((often * values**2).sum())
        mean.append(first / count / scale)
        # A channel of one value carries nothing; divided by 1 it stays 0 and does not become not-a-number.
        std.append(math.sqrt((count * second - first * first) / (count * count)) / scale or 1.0)
    return tuple(mean), tuple(std)
