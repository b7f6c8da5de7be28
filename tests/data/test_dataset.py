from __future__ import annotations

import hashlib

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from parsity.data import Dataset
from parsity.errors import UsageError


def pictures(number: int = 12, channels: int = 3, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, (number, channels, 5, 4), generator=generator, dtype=torch.uint8)


LABELS = torch.arange(12) % 3


@settings(deadline=None)
@given(seed=st.integers(0, 1000), number=st.integers(2, 30), channels=st.sampled_from([1, 3]))
def test_statistics_are_those_of_float64(seed: int, number: int, channels: int):
    images = pictures(number, channels, seed)
    data = Dataset.from_tensors(images, torch.zeros(number, dtype=torch.int64))
    scaled = images.numpy().astype(np.float64) / 255
    np.testing.assert_allclose(data.mean, scaled.mean(axis=(0, 2, 3)), rtol=1e-13)
    np.testing.assert_allclose(data.std, scaled.std(axis=(0, 2, 3)), rtol=1e-12)
    pixels = data.normalise(images)
    assert pixels.dtype == torch.float32
    expected = (scaled - scaled.mean((0, 2, 3), keepdims=True)) / scaled.std((0, 2, 3), keepdims=True)
    np.testing.assert_allclose(pixels.numpy(), expected, atol=2e-6)


def test_a_channel_of_one_value_becomes_zero_not_nan():
    images = torch.full((12, 1, 2, 2), 9, dtype=torch.uint8)
    assert Dataset.from_tensors(images, LABELS).normalise(images).abs().max() < 1e-6


def test_floating_point_images_are_taken_as_they_are_unless_told_otherwise():
    images = pictures().double() / 100
    data = Dataset.from_tensors(images, LABELS)
    assert torch.equal(data.normalise(images), images.float())
    scaled = Dataset.from_tensors(images, LABELS, mean=[1, 2, 3], std=[2, 2, 4])
    before = images.clone()
    assert torch.allclose(scaled.normalise(images)[:, 2], (images[:, 2].float() - 3) / 4)
    assert torch.equal(images, before)


def test_normalising_does_not_write_into_float32_images():
    images = pictures().float()
    before = images.clone()
    Dataset.from_tensors(images, LABELS, mean=[1, 2, 3], std=[2, 2, 4]).normalise(images)
    assert torch.equal(images, before)


def test_labels_become_int64_and_classes_are_counted():
    data = Dataset.from_tensors(pictures(), LABELS.to(torch.uint8))
    assert data.labels.dtype == torch.int64
    assert data.classes == ("0", "1", "2")
    assert Dataset.from_tensors(pictures(), LABELS, classes=["a", "b", "c", "d"]).classes[3] == "d"


def test_the_digest_says_what_the_data_is():
    data = Dataset.from_tensors(pictures(), LABELS, name="one")
    assert data.digest == Dataset.from_tensors(pictures(), LABELS.int(), name="another").digest
    assert len(data.digest) == len(hashlib.sha256().hexdigest())
    flipped = pictures()
    flipped[3, 1, 2, 2] ^= 1
    others = [
        Dataset.from_tensors(flipped, LABELS, mean=data.mean, std=data.std),
        Dataset.from_tensors(pictures(), LABELS.flip(0)),
        Dataset.from_tensors(pictures().reshape(12, 3, 4, 5), LABELS),
        Dataset.from_tensors(pictures(), LABELS, test_images=pictures(2), test_labels=LABELS[:2]),
        Dataset.from_tensors(pictures(), LABELS, mean=[0, 0, 0], std=[1, 1, 1]),
        Dataset.from_tensors(pictures().permute(0, 1, 3, 2), LABELS),
    ]
    assert len({data.digest, *(other.digest for other in others)}) == 7


def test_the_digest_of_images_stored_otherwise_is_the_same():
    images = pictures()
    strided = images.to(memory_format=torch.channels_last)
    assert Dataset.from_tensors(images, LABELS).digest == Dataset.from_tensors(strided, LABELS).digest
    half = images.to(torch.bfloat16)
    assert Dataset.from_tensors(half, LABELS).digest != Dataset.from_tensors(images, LABELS).digest


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"images": pictures()[:, 0]}, r"images are uint8 \(12, 5, 4\); give \(number, channels"),
        ({"images": pictures()[:0]}, "none of them 0"),
        ({"images": pictures().int()}, r"images are int32 .* give uint8 or a floating"),
        ({"images": torch.full((12, 3, 2, 2), float("nan"))}, "not finite"),
        ({"images": pictures().numpy()}, "images are a ndarray; give a tensor"),
        ({"labels": LABELS[:-1]}, r"labels are int64 \(11\); give one whole number per image: \(12\)"),
        ({"labels": LABELS.float()}, "labels are float32"),
        ({"labels": LABELS - 1}, "there is a label -1; labels start at 0"),
        ({"classes": ["a", "b"]}, "there is a label 2, allowed are 0 to 1"),
        ({"test_images": pictures()}, "given both or not at all"),
        ({"test_images": pictures(2), "test_labels": LABELS[:2] + 5}, "there is a label 6"),
        ({"test_images": pictures(2, 1), "test_labels": LABELS[:2]}, "agree in all but their number"),
        ({"test_images": pictures(2), "test_labels": LABELS[:3]}, "test labels are"),
        ({"mean": [0, 0, 0]}, "mean and std are given both"),
        ({"mean": [0, 0], "std": [1, 1]}, "must be 3 finite numbers each"),
        ({"mean": [0, 0, 0], "std": [1, 1, 0]}, "must be above 0"),
        ({"scale": 0}, "scale is 0; it must be a positive number"),
    ],
)
def test_what_is_no_data_set_is_refused_in_one_line(change: dict, line: str):
    arguments = {"images": pictures(), "labels": LABELS, "name": "mine"} | change
    with pytest.raises(UsageError, match=line) as raised:
        Dataset.from_tensors(**arguments)
    assert str(raised.value).startswith("data set mine: ")
    assert "\n" not in str(raised.value)
