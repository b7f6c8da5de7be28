"""SNIP's scores of Simple-CNN over the whole training split: images/s beside a plain PyTorch loop.

Studies have them from the native kernels (``scoring_batches``); batches in a list go through autograd, the quickest way
that gives the plain gradient. All run in this process on one thread, in turn, and must give the same scores. Run as
``python benchmarks/snip.py``.

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

from parsity.data import CATALOGUE, Dataset, load, locate
from parsity.models import make_network
from parsity.pruning import SNIP, LabelledBatches, select
from parsity.training import scoring_batches
from parsity.training.scoring import ScoringBatches

AGREEMENT = 1e-5  # of the scores of a typical batch; of all together, ten times that is a fault too


def plain_scores(network: nn.Module, batches: LabelledBatches) -> Tensor:
    """Score as one would write it down: backward on every batch, then |gradient x weight|."""
    network.zero_grad()
    for images, labels in batches:
        F.cross_entropy(network(images), labels).backward()
    return torch.cat([(p.grad * p).flatten().abs() for p in network.parameters()]).detach()


def mnist() -> ScoringBatches:
    """Return the 54,000 training images in batches of 100; random ones if MNIST is not on this machine."""
    entry = CATALOGUE["mnist"]
    place = locate(entry)
    if place is None or place.missing(entry):
        print("MNIST is not in the cache: random images of the same shape stand in for it", file=sys.stderr)
        generator = torch.Generator().manual_seed(0)
        images = torch.randn(60_000, 1, 28, 28, generator=generator)
        return scoring_batches(Dataset.from_tensors(images, torch.randint(0, 10, (60_000,), generator=generator)))
    return scoring_batches(load("mnist"))


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
    ours = mnist()
    batches = list(ours)
    count = len(ours.train)
    network = make_network("simple-cnn", seed=arguments.seed)
    ways: dict[str, Callable[[LabelledBatches], Tensor]] = {
        "plain loop": lambda some: plain_scores(network, some),
        "autograd": lambda some: SNIP().scores(network, list(some)),
        "as in studies": lambda some: SNIP().scores(network, some),
    }
    for way in ways.values():  # the first calls choose kernels
        way(batches[:10])
    paces: dict[str, list[float]] = {name: [] for name in ways}
    scores: dict[str, Tensor] = {}
    for number in range(rounds):
        for name, way in ways.items():
            seconds, scores[name] = timed(lambda way=way, name=name: way(ours if name == "as in studies" else batches))
            paces[name].append(count / seconds)
        print(f"round {number + 1}: " + ", ".join(f"{n} {p[-1]:,.0f}" for n, p in paces.items()), file=sys.stderr)
    print(f"images            {count:,} in batches of 100, one thread, {rounds} rounds in turn")
    expected, fine = scores["plain loop"], True
    for name, found in scores.items():
        ratios = sorted(mine / theirs for mine, theirs in zip(paces[name], paces["plain loop"], strict=True))
        text = f"{statistics.median(paces[name]):,.0f} images/s (median)"
        if found is not expected:
            masks = ", ".join(str(int((select(found, s) != select(expected, s)).sum())) for s in (0.5, 0.7, 0.9))
            text += (
                f", {statistics.median(ratios):.2f} x ({ratios[0]:.2f} to {ratios[-1]:.2f}); scores differ by "
                f"{distance(found, expected):.1e} of their norm, {largest(found, expected):.1e} of the largest; "
                f"masks in {masks} entries at 50, 70, 90 %"
            )
            fine = fine and distance(found, expected) <= 10 * AGREEMENT
        print(f"{name:17} {text}")
    typical = statistics.median(
        distance(SNIP().scores(network, [batch]), plain_scores(network, [batch])) for batch in batches[:50]
    )
    print(f"in a typical batch autograd's differ by {typical:.1e} (median of 50)")
    if arguments.exact:
        doubles = [(some.double(), their_labels) for some, their_labels in batches]
        exact = plain_scores(copy.deepcopy(network).double(), doubles)
        print(
            "from float64      " + ", ".join(f"{name} {distance(found, exact):.1e}" for name, found in scores.items())
        )
    return 0 if typical <= AGREEMENT and fine else 1


if __name__ == "__main__":
    sys.exit(main())
