"""SNIP's scores of Simple-CNN over the whole training split: images/s beside a plain PyTorch loop.

Both run in this process on one thread, in turn, and must give the same scores. Run as ``python benchmarks/snip.py``.

In float32, a few units per thousand images lie so close to a ReLU's zero, or to their neighbour in a pooling window,
that rounding decides, and two orders of summation may decide differently. Batches without such a unit agree to 1e-6;
over the whole split what remains is about 1e-5 of the scores' norm, as it is between the plain loop and float64
(``--exact`` shows it).
"""

from __future__ import annotations

import argparse
import copy
import statistics
import sys
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from parsity.data import CATALOGUE, load, locate, split
from parsity.models import make_network
from parsity.pruning import SNIP, LabelledBatches, select

AGREEMENT = 1e-5  # of the scores of a typical batch; of all together, ten times that is a fault too


def plain_scores(network: nn.Module, batches: LabelledBatches) -> Tensor:
    """Score as one would write it down: backward on every batch, then |gradient x weight|."""
    network.zero_grad()
    for images, labels in batches:
        F.cross_entropy(network(images), labels).backward()
    return torch.cat([(p.grad * p).flatten().abs() for p in network.parameters()]).detach()


def mnist() -> tuple[Tensor, Tensor]:
    """Return the 54,000 training images, normalised; random ones if MNIST is not on this machine."""
    entry = CATALOGUE["mnist"]
    place = locate(entry)
    if place is None or place.missing(entry):
        print("MNIST is not in the cache: random images of the same shape stand in for it", file=sys.stderr)
        generator = torch.Generator().manual_seed(0)
        return torch.randn(54_000, 1, 28, 28, generator=generator), torch.randint(0, 10, (54_000,), generator=generator)
    dataset = load("mnist")
    train = split(len(dataset.images)).train
    return dataset.normalise(dataset.images[train]), dataset.labels[train]


def timed(function: Callable[[], Tensor]) -> tuple[float, Tensor]:
    """Return the seconds it took, and the result."""
    begin = time.perf_counter()
    result = function()
    return time.perf_counter() - begin, result


def distance(found: Tensor, expected: Tensor) -> float:
    """Return the norm of the difference over the norm."""
    return float((found.double() - expected.double()).norm() / expected.double().norm())


def largest(found: Tensor, expected: Tensor) -> float:
    """Return the largest difference over the largest score."""
    return float((found - expected).abs().max() / expected.max())


def main() -> int:
    """Measure, print, and fail if the scores differ."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each (default: 5)")
    parser.add_argument("--seed", type=int, default=0, help="of the initial weights (default: 0)")
    parser.add_argument("--exact", action="store_true", help="compare with float64 too; takes minutes")
    arguments = parser.parse_args()
    rounds = arguments.rounds
    torch.set_num_threads(1)
    images, labels = mnist()
    batches = list(zip(images.split(100), labels.split(100), strict=True))
    network = make_network("simple-cnn", seed=arguments.seed)
    for way in (plain_scores, SNIP().scores):  # the first calls choose kernels
        way(network, batches[:10])
    plain, ours = [], []
    for number in range(rounds):
        seconds, expected = timed(lambda: plain_scores(network, batches))
        plain.append(len(images) / seconds)
        seconds, found = timed(lambda: SNIP().scores(network, batches))
        ours.append(len(images) / seconds)
        print(f"round {number + 1}: plain {plain[-1]:,.0f}, parsity {ours[-1]:,.0f} images/s", file=sys.stderr)
    ratios = sorted(mine / theirs for mine, theirs in zip(ours, plain, strict=True))
    difference = distance(found, expected)
    typical = statistics.median(
        distance(SNIP().scores(network, [batch]), plain_scores(network, [batch])) for batch in batches[:50]
    )
    disagreements = {s: int((select(found, s) != select(expected, s)).sum()) for s in (0.5, 0.7, 0.9)}
    print(f"images            {len(images):,} in batches of 100, one thread, {rounds} rounds in turn")
    print(f"plain loop        {statistics.median(plain):,.0f} images/s (median)")
    print(f"parsity           {statistics.median(ours):,.0f} images/s (median)")
    print(f"ratio             {statistics.median(ratios):.2f} (lowest {ratios[0]:.2f}, highest {ratios[-1]:.2f})")
    print(
        f"difference        {difference:.1e} of the scores' norm; {largest(found, expected):.1e} of the largest score"
    )
    print(f"                  {typical:.1e} in a typical batch (median of 50)")
    print(f"masks differ in   {', '.join(map(str, disagreements.values()))} entries at 50, 70, 90 %")
    if arguments.exact:
        doubles = [(some.double(), their_labels) for some, their_labels in batches]
        exact = plain_scores(copy.deepcopy(network).double(), doubles)
        print(f"from float64      plain {distance(expected, exact):.1e}, parsity {distance(found, exact):.1e}")
    return 0 if typical <= AGREEMENT and difference <= 10 * AGREEMENT else 1


if __name__ == "__main__":
    sys.exit(main())
