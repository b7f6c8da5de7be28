"""What the paper authors' program computed, in PyTorch's layouts."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor, nn

from parsity.models import ResNet8, SimpleCNN

REFERENCE = Path(__file__).parent / "reference"
MEAN_STD = {
    "mnist": ((0.13066062,), (0.30810776,)),
    "cifar10": ((0.49139968, 0.48215841, 0.44653091), (0.24703223, 0.24348513, 0.26158784)),
}


@pytest.fixture(autouse=True, scope="session")
def _engines_of_their_own(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Choices of engines are remembered among the tests, and not beyond them."""
    base = tmp_path_factory.getbasetemp()
    os.environ["PARSITY_ENGINES_DIR"] = str((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "engines")


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    torch.set_num_threads(1)


@dataclass(frozen=True)
class Reference:
    """One network's recorded weights, inputs and results; every array comes as torch holds it."""

    name: str
    network_class: type[nn.Module]
    names: tuple[tuple[str, str], ...]  # (parameter, recorded key), in parameter order
    images: Tensor  # normalised, the first 2,000 of the training file
    labels: Tensor
    arrays: dict[str, np.ndarray]
    training: dict[str, np.ndarray]

    def torch_layout(self, array: np.ndarray) -> Tensor:
        """Kernels arrive height x width x in x out, matrices in x out."""
        tensor = torch.from_numpy(np.array(array))
        if tensor.dim() == 4:
            return tensor.permute(3, 2, 0, 1).contiguous()
        if tensor.shape == (1024, 10):  # rows in height, width, channel order; torch flattens channel first
            return tensor.reshape(4, 4, 64, 10).permute(3, 2, 0, 1).reshape(10, 1024)
        return tensor.T.contiguous() if tensor.dim() == 2 else tensor

    def tensors(self, prefix: str, *, training: bool = False) -> dict[str, Tensor]:
        """The tensors under ``prefix``, by parameter name."""
        source = self.training if training else self.arrays
        return {name: self.torch_layout(source[f"{prefix}/{key}"]) for name, key in self.names}

    def flat(self, prefix: str, *, training: bool = False) -> Tensor:
        """The same as one vector in parameter order."""
        return torch.cat([t.flatten() for t in self.tensors(prefix, training=training).values()])

    def network(self) -> nn.Module:
        """The network at the recorded weights."""
        network = self.network_class()
        network.load_state_dict(self.tensors("w"))
        return network


def _images(name: str) -> tuple[Tensor, Tensor]:
    sheet = np.asarray(Image.open(REFERENCE / f"{name}.webp").convert("L" if name == "mnist" else "RGB"))
    side = sheet.shape[1] // 40
    tiles = sheet.reshape(50, side, 40, side, -1).swapaxes(1, 2).reshape(2000, side, side, -1)
    images = torch.from_numpy(tiles.transpose(0, 3, 1, 2).copy()).float() / 255
    mean, std = (torch.tensor(values).view(1, -1, 1, 1) for values in MEAN_STD[name])
    with np.load(REFERENCE / "labels.npz") as labels:
        return (images - mean) / std, torch.from_numpy(labels[name].astype(np.int64))


def _reference(name: str, network_class: type[nn.Module], data: str) -> Reference:
    names = [parameter for parameter, _ in network_class().named_parameters()]
    keys = [f"{kind}{layer}" for layer in range(1, len(names) // 2 + 1) for kind in "wb"]
    images, labels = _images(data)
    with (
        np.load(REFERENCE / f"{name}.npz") as arrays,
        np.load(REFERENCE / f"{name}-training.npz") as training,
    ):
        return Reference(
            name,
            network_class,
            tuple(zip(names, keys, strict=True)),
            images,
            labels,
            dict(arrays),
            dict(training),
        )


@pytest.fixture(scope="session")
def simple_cnn_reference() -> Reference:
    return _reference("simple-cnn", SimpleCNN, "mnist")


@pytest.fixture(scope="session")
def resnet_8_reference() -> Reference:
    return _reference("resnet-8", ResNet8, "cifar10")


@pytest.fixture(scope="session", params=["simple-cnn", "resnet-8"])
def reference(request: pytest.FixtureRequest) -> Reference:
    """Each of the two networks in turn."""
    fixture: Reference = request.getfixturevalue(f"{request.param.replace('-', '_')}_reference")
    return fixture
