"""The mask: packed, equal by content, saved whole, and never believed when damaged."""

from __future__ import annotations

import hashlib

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from parsity.errors import DamagedError, ParsityError, UsageError
from parsity.pruning import Layout, Mask, TensorReport


def _network() -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(8, 3))  # 20 + 27 entries


def _mask(network: nn.Module, seed: int = 0) -> Mask:
    generator = torch.Generator().manual_seed(seed)
    return Mask.of(network, torch.rand(Layout.of(network).total, generator=generator) < 0.5)


@given(st.lists(st.booleans(), min_size=1, max_size=40))
def test_bits_come_back_as_they_went_in(bits):
    network = nn.Linear(len(bits), 1, bias=False)
    mask = Mask.of(network, torch.tensor(bits))

    assert mask.flat.tolist() == bits
    assert mask.tensors()["weight"].tolist() == [bits]
    assert mask.kept == sum(bits)
    assert mask.density + mask.sparsity == 1
    assert len(mask.bits) == -(-len(bits) // 8)


def test_a_mask_is_its_content():
    network = _network()
    mask, same, other = _mask(network), _mask(network), _mask(network, seed=1)

    assert mask == same
    assert len({mask, same, other}) == 2
    assert mask.digest == same.digest != other.digest
    renamed = Mask(Layout(("a", "b", "c", "d"), mask.shapes), mask.bits)
    assert renamed != mask
    assert renamed.digest != mask.digest


def test_the_digest_stays_what_it_was():
    """Digests are compared across versions and machines, so they are part of the format."""
    mask = Mask(Layout(("weight",), ((1, 4),)), bytes([0b10100000]))

    assert mask.digest == hashlib.sha256(b'[["weight"],[[1,4]]]\n\xa0').hexdigest()


def test_report_counts_each_tensor():
    network = nn.Linear(2, 3)
    mask = Mask.of(network, torch.tensor([1, 0, 0, 0, 1, 1, 0, 0, 0]).bool())

    assert mask.report() == [TensorReport("weight", (3, 2), 6, 3), TensorReport("bias", (3,), 3, 0)]
    assert [row.density for row in mask.report()] == [0.5, 0]


def test_apply_leaves_positive_zeros_and_touches_nothing_else():
    network = nn.Linear(2, 2, bias=False)
    network.weight.data = torch.tensor([[-1.0, 2.0], [torch.nan, -3.0]])

    Mask.of(network, torch.tensor([False, True, False, True])).apply_(network)

    assert network.weight.tolist() == [[0, 2], [0, -3]]
    assert not bool(torch.signbit(network.weight[0, 0]))


def test_apply_refuses_another_network():
    with pytest.raises(UsageError, match="names and shapes"):
        _mask(_network()).apply_(nn.Linear(47, 1, bias=False))


def test_saving_and_loading(tmp_path):
    path = tmp_path / "digits.mask"
    for seed in range(2):  # the second one replaces the first
        mask = _mask(_network(), seed)
        mask.save(path)

        assert Mask.load(path) == mask
    assert [file.name for file in tmp_path.iterdir()] == ["digits.mask"]


def test_any_flipped_byte_is_damage(tmp_path):
    path = tmp_path / "mask"
    _mask(_network()).save(path)
    whole = path.read_bytes()

    for place in range(len(whole)):
        for bit in (0x01, 0x20, 0x80):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :])
            with pytest.raises(DamagedError, match="damaged") as raised:
                Mask.load(path)
            assert "\n" not in str(raised.value)


@pytest.mark.parametrize("part", [0, 1, 100, -1])
def test_a_part_of_a_file_is_damage(tmp_path, part):
    path = tmp_path / "mask"
    _mask(_network()).save(path)
    path.write_bytes(path.read_bytes()[:part])

    with pytest.raises(DamagedError, match="damaged"):
        Mask.load(path)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UsageError, match="No such file"):
        Mask.load(tmp_path / "nothing")
    with pytest.raises(ParsityError, match="cannot be written"):
        _mask(_network()).save(tmp_path / "no folder" / "mask")


def test_masks_that_cannot_be():
    network = nn.Linear(4, 1, bias=False)
    with pytest.raises(UsageError, match="4 parameters"):
        Mask.of(network, torch.ones(5, dtype=torch.bool))
    with pytest.raises(UsageError, match=r"torch\.float32"):
        Mask.of(network, torch.ones(4))
    with pytest.raises(UsageError, match="not the mask"):
        Mask(Layout.of(network), bytes([0b10100001]))
