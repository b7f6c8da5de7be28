"""Quantities with units, and clusters in files."""

from __future__ import annotations

from pathlib import Path

import pytest

from parsity.errors import UsageError
from parsity.planning import Cluster, bandwidth, budget, duration, read_cluster, speed, spoken


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (bandwidth, "10Gbit", 1.25e9),
        (bandwidth, "10 Gbit/s", 1.25e9),
        (bandwidth, "400Mbps", 5e7),
        (bandwidth, "1.5GB/s", 1.5e9),
        (duration, "20us", 2e-5),
        (duration, "20 µs", 2e-5),
        (duration, "10min", 600),
        (duration, "2 hours", 7200),
        (duration, "1e-3s", 1e-3),
        (speed, "50x", 50),
        (speed, "0.5", 0.5),
        (budget, "5core-hours", 18000),
        (budget, "90 worker-min", 5400),
        (budget, "1gpu-h", 3600),
    ],
)
def test_units(read, text: str, value: float) -> None:
    assert read(text, "--x") == pytest.approx(value)


@pytest.mark.parametrize(
    ("read", "text"), [(bandwidth, "10"), (bandwidth, "fast"), (duration, "0s"), (duration, "-1s"), (duration, "20"),
                       (speed, "50y"), (budget, "5hours"), (speed, "1e999")]
)  # fmt: skip
def test_other_words_are_refused(read, text: str) -> None:
    with pytest.raises(UsageError, match=r"--x '.*': it must be a"):
        read(text, "--x")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(2e-5, "20 us"), (1.5e-3, "1.5 ms"), (1, "1 s"), (90, "90 s"), (150, "2.5 min"), (7200, "2 h"), (3.5e5, "4.05 d")],
)
def test_spoken(seconds: float, text: str) -> None:
    assert spoken(seconds) == text


def test_a_cluster_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "cluster.toml"
    path.write_text('bandwidth = "10Gbit"\nlatency = "20us"\ndevice_speed = 50\nexchange = "halving"\n')
    found = read_cluster(path)
    assert found == Cluster(bandwidth=1.25e9, latency=20 * 1e-6, device_speed=50, exchange="halving")
    assert found.but(latency="1s", bandwidth=None) == Cluster(
        bandwidth=1.25e9, latency=1.0, device_speed=50, exchange="halving"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("speed = 3", "'speed' is not known; allowed are bandwidth, latency, device_speed, exchange"),
        ("latency = true", "with its unit"),
        ('latency = "long"', "it must be a time"),
        ('exchange = "star"', "allowed are ring, halving"),
        ("=", "not TOML"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "cluster.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=said) as refusal:
        read_cluster(path)
    assert str(path) in str(refusal.value)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read_cluster(tmp_path / "none.toml")
