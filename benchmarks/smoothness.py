"""Seconds for one point of the local Lipschitz constant, beside a plain PyTorch loop over the same passes.

Both run in this process on one thread, in turn, and must give the same value: the gradient over all images at the
weights before a step and at ten places on the way to those after it, and the training error. Then memory: the peak of
a process of its own for each number of images, less what it had with the data loaded. Run as
``python benchmarks/smoothness.py``; ``--images`` says how many of the training split, ``--no-memory`` leaves that out.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from parsity.data import Dataset, load, split
from parsity.engines import Replica, Snapshot, make_engine
from parsity.models import make_network
from parsity.smoothness import Place, lipschitz_point

GAMMAS = tuple(number / 10 for number in range(1, 11))
AGREEMENT = 1e-3  # of the value, as the tests hold it against the authors'
SLICE = 500  # of the plain loop: as large as keeps its memory small; smaller ones are no faster

MEMORY = """
import resource, sys
from smoothness import ours, prepared
count = int(sys.argv[1])
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
data, images, network, mask, before, after, replica = prepared("mnist", "simple-cnn", 0.0, 54_000)
ours(replica, images[:100], before, after)
loaded = peak()
ours(replica, images[:count], before, after, gammas=(1.0,))  # each gamma's pass is like the others
print(loaded, peak())
"""


def prepared(
    name: str, network_name: str, sparsity: float, count: int
) -> tuple[Dataset, Tensor, nn.Module, Tensor, Tensor, Tensor, Replica]:
    """The data, images of it, a network, its mask and weights before and after a step of plain SGD, and a replica."""
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    data = load(name)
    images = split(len(data.images)).train[:count].sort().values
    network = make_network(network_name, seed=1)
    before = torch.cat([one.detach().flatten() for one in network.parameters()])
    # Which entries survive decides nothing here but how many there are.
    mask = torch.rand(len(before), generator=torch.Generator().manual_seed(0)) >= sparsity
    before = before * mask
    replica = make_engine("auto", make_network(network_name, seed=1), data).replica(
        Snapshot(before, (), ()), mask=mask if sparsity else None
    )
    return data, images, network, mask, before, before - 0.1 * replica.gradient(images[:100])[1], replica


def plain(data: Dataset, images: Tensor, network: nn.Module, mask: Tensor, before: Tensor, after: Tensor) -> float:
    """The largest ratio as one would write it down: a backward pass per slice and place, gradients added up."""
    parameters = list(network.parameters())

    def gradient(weights: Tensor) -> Tensor:
        nn.utils.vector_to_parameters(weights, parameters)
        total = torch.zeros(len(weights), dtype=torch.float64)
        for part in images.split(SLICE):  # type: ignore[no-untyped-call]
            loss = F.cross_entropy(network(data.normalise(data.images[part])), data.labels[part], reduction="sum")
            total += torch.cat([one.flatten() for one in torch.autograd.grad(loss, parameters)])
        return total / len(images) * mask

    base = gradient(before)
    with torch.no_grad():
        for part in images.split(SLICE):  # type: ignore[no-untyped-call]
            (network(data.normalise(data.images[part])).argmax(1) == data.labels[part]).sum()
    move = after.double() - before
    ratios = []
    for gamma in GAMMAS:
        weights = (before.double() + gamma * move).float()
        distance = (weights.double() - before).norm()
        ratios.append(float((gradient(weights) - base).norm() / distance))
    return max(ratios)


def ours(replica: Replica, images: Tensor, before: Tensor, after: Tensor, gammas: Sequence[float] = GAMMAS) -> float:
    """The same by Parsity."""
    place = Place(replica=replica, snapshot=Snapshot(before, (), ()), step=0, images=images)
    return lipschitz_point(place, Snapshot(after, (), ()), gammas=gammas).lipschitz


def timed(function: Callable[[], float]) -> tuple[float, float]:
    """Return the seconds it took, of this process and not of its neighbours, and the result."""
    begin = time.process_time()
    result = function()
    return time.process_time() - begin, result


def compare(name: str, network_name: str, sparsity: float, count: int, rounds: int) -> bool:
    """Print one line; whether the values agree."""
    data, images, network, mask, before, after, replica = prepared(name, network_name, sparsity, count)
    theirs, mine = [], []
    plain(data, images[:SLICE], network, mask, before, after)  # the first calls choose kernels
    ours(replica, images[:SLICE], before, after)
    for _ in range(rounds):
        seconds, expected = timed(lambda: plain(data, images, network, mask, before, after))
        theirs.append(seconds)
        seconds, found = timed(lambda: ours(replica, images, before, after))
        mine.append(seconds)
    ratios = sorted(one / other for one, other in zip(theirs, mine, strict=True))
    print(
        f"{network_name:<11}{sparsity:>4.0%}  {len(images):>6,} images  plain {statistics.median(theirs):7.2f} s"
        f"  parsity {statistics.median(mine):7.2f} s  ratio {statistics.median(ratios):.2f} ({ratios[0]:.2f} to "
        f"{ratios[-1]:.2f})  value {found:.5g}, plain {expected:.5g}",
        flush=True,
    )
    return abs(found / expected - 1) < AGREEMENT


def memory(counts: list[int]) -> None:
    """Print the peak of each number of images, each in a process of its own."""
    for count in counts:
        done = subprocess.run(
            [sys.executable, "-c", MEMORY, str(count)],
            check=True,
            capture_output=True,
            text=True,
            cwd=Path(__file__).parent,
        ).stdout.split()
        print(
            f"{count:>6,} images  peak {float(done[1]):.0f} MiB, {float(done[1]) - float(done[0]):.1f} MiB above "
            "that of a hundred",
            flush=True,
        )


def main() -> int:
    """Measure, print, and fail if the values differ."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each (default: 3)")
    parser.add_argument("--images", type=int, default=6_000, help="images a gradient is over (default: 6000)")
    parser.add_argument("--no-memory", action="store_true", help="leave the memory out")
    arguments = parser.parse_args()
    agreed = [
        compare(name, network, sparsity, arguments.images // share, arguments.rounds)
        for name, network, share in (("mnist", "simple-cnn", 1), ("cifar10", "resnet-8", 6))
        for sparsity in (0.0, 0.9)
    ]
    if not arguments.no_memory:
        memory([6_000, 27_000, 54_000])
    return 0 if all(agreed) else 1


if __name__ == "__main__":
    sys.exit(main())
