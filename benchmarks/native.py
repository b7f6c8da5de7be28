r"""The native engine, dense and sparse: images/s of training steps and goal tests beside the other engines'.

Everything runs in this process on one thread, in turn, and the best of several rounds counts: a neighbour on the
machine can only slow a round down. Masks are SNIP's. Run as ``python benchmarks/native.py``; ``--networks resnet-8
--batch-sizes 2 64 --sparsities 0.9`` for a part of it. ``--memory`` prints, instead, the peak resident memory of
processes that train one replica each, dense and at every sparsity. ``--trained STEPS`` prints the rates of networks
before and after so many steps of trials of a search: of a trained one, many channels are dead.

Memory: the C is checked with the sanitizers, pieces of its one block of memory set apart by forbidden ground, by

    CFLAGS="-fsanitize=address,undefined -fno-sanitize=alignment -fno-sanitize-recover=undefined -O1 -g" \
        python setup.py build_ext --inplace --force
    LD_PRELOAD=$(gcc -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0 \
        python -m pytest -n0 tests/engines/test_native.py

(unaligned vectors are meant), after which ``python setup.py build_ext --inplace --force`` builds it anew.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from parsity.data import CATALOGUE, Dataset, load, locate
from parsity.engines import Engine, Replica, Snapshot, available_engines
from parsity.models import make_network
from parsity.optimisation import make_rule
from parsity.pruning import SNIP, flatten, select
from parsity.training import derived_seed, workload

DATA = {"simple-cnn": ("mnist", (1, 28, 28)), "resnet-8": ("cifar10", (3, 32, 32))}
RULE = make_rule("momentum", "constant", {"learning_rate": 1e-3, "momentum": 0.9})


def dataset_for(network: str) -> Dataset:
    """Return the network's data set, or random images of the same shape if it is not on this machine."""
    name, shape = DATA[network]
    place = locate(CATALOGUE[name])
    if place is not None and not place.missing(CATALOGUE[name]):
        return load(name)
    print(f"{name} is not in the cache: random images of the same shape stand in for it", file=sys.stderr)
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (10_000, *shape), generator=generator).to(torch.uint8)
    return Dataset.from_tensors(images, torch.randint(0, 10, (10_000,), generator=generator))


def arithmetic_limit() -> float:
    """Return the FLOP/s of a large convolution, the most this core was seen to do."""
    images, weights = torch.randn(32, 128, 28, 28), torch.randn(256, 128, 5, 5)
    images = images.contiguous(memory_format=torch.channels_last)
    work = 2 * 32 * 256 * 24 * 24 * 128 * 25
    return work / min(seconds(lambda: F.conv2d(images, weights)) for _ in range(5))


def flops(network: str) -> float:
    """Return the floating-point operations of one image's forward pass, counted as multiplications and additions."""
    return 7.47e6 if network == "simple-cnn" else 24.5e6


def seconds(work: Callable[[], object]) -> float:
    """Return how long the processor took, which neighbours on the machine hardly change: all runs on one thread."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def fastest(replicas: dict[str, Replica], work: Callable[[Replica], object], images: int, rounds: int) -> list[float]:
    """Return each replica's best images/s, all measured in turn."""
    best = dict.fromkeys(replicas, float("inf"))
    for _ in range(rounds):
        for name, replica in replicas.items():
            best[name] = min(best[name], seconds(lambda replica=replica: work(replica)))  # type: ignore[misc]
    return [images / taken for taken in best.values()]


def train(name: str, batch_size: int, sparsity: float) -> None:
    """Take three steps and print this process's peak resident memory in MiB."""
    torch.set_num_threads(1)
    dataset, network = dataset_for(name), make_network(name, seed=0)
    weights = torch.cat([parameter.detach().flatten() for parameter in network.parameters()])
    # Random survivors, for a criterion's own passes would be the peak.
    kept = torch.rand(len(weights), generator=torch.Generator().manual_seed(0)) >= sparsity
    engine = available_engines()["native"](network, dataset)
    order = torch.randint(len(dataset.images), (3 * batch_size,), generator=torch.Generator().manual_seed(1))
    replica_of(engine, weights, kept if sparsity else None).advance(order.split(batch_size), RULE, 0)  # type: ignore[no-untyped-call]
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def peak(name: str, batch_size: int, sparsity: float) -> float:
    """Return the peak of `train` in a process of its own."""
    code = f"import native; native.train({name!r}, {batch_size}, {sparsity})"
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=Path(__file__).parent
    )
    return float(done.stdout)


def scores_of(network: nn.Module, dataset: Dataset) -> Tensor:
    """Return SNIP's scores on 1,000 images."""
    sample = torch.arange(1000).split(100)
    return SNIP().scores(network, [(dataset.normalise(dataset.images[i]), dataset.labels[i]) for i in sample])


def dead_share(network: nn.Module, dataset: Dataset, weights: Tensor) -> float:
    """Return which share of the last convolution's channels passes nothing on, of 16 images at a time."""
    convolution = [module for module in network.modules() if isinstance(module, nn.Conv2d)][-1]
    shares = []
    hook = convolution.register_forward_hook(
        lambda _module, _given, out: shares.append((out.amax((0, 2, 3)) <= 0).float().mean().item())
    )
    nn.utils.vector_to_parameters(weights, network.parameters())
    with torch.no_grad():
        for images in dataset.images[:160].split(16):
            network(dataset.normalise(images))
    hook.remove()
    return sum(shares) / len(shares)


def print_trained(name: str, arguments: argparse.Namespace) -> None:
    """Print the native engine's rates at the start of some trials and `--trained` steps later."""
    dataset, (data, _) = dataset_for(name), DATA[name]
    search = workload(f"{data}-momentum")
    print(f"\n{name}: trials of {search.name}, native engine, images/s at B = 64")
    print("dead: channels of the last convolution that have no gradient from 16 images")
    print(
        f"{'trial':>8}{'S':>8}{'dead at 0':>12}{'images/s':>12}{f'dead at {arguments.trained:,}':>16}{'images/s':>12}"
    )
    for trial in arguments.trials:
        network = make_network(name, seed=derived_seed(0, "weights", trial))
        engine, weights = available_engines()["native"](network, dataset), flatten(network)
        scores = scores_of(network, dataset)
        rule = make_rule(search.optimiser, search.schedule, search.space.trial(trial))
        generator = torch.Generator().manual_seed(trial)
        order = torch.randint(len(dataset.images), (64 * arguments.trained,), generator=generator).split(64)
        few = order[: max(1, arguments.images // 64)]
        replicas, shares = {}, {}
        for sparsity in (0.0, *arguments.sparsities):
            mask = select(scores, sparsity) if sparsity else None
            begun = weights if mask is None else weights * mask
            replica = replica_of(engine, weights, mask)
            replica.advance(order, rule, 0)
            ended = replica.snapshot().weights
            for when, vector in (("begun", begun), ("ended", ended)):
                replicas[f"{sparsity} {when}"] = replica_of(engine, vector, mask)
                shares[f"{sparsity} {when}"] = dead_share(network, dataset, vector)
        rates = fastest(replicas, lambda r, b=few: r.advance(b, RULE, 0), 64 * len(few), arguments.rounds)  # type: ignore[misc]
        rate = dict(zip(replicas, rates, strict=True))
        for sparsity in (0.0, *arguments.sparsities):
            begun_key, ended_key = f"{sparsity} begun", f"{sparsity} ended"
            print(
                f"{trial:>8}{sparsity:>8}{shares[begun_key]:>12.0%}{rate[begun_key]:>12,.0f}"
                f"{shares[ended_key]:>16.0%}{rate[ended_key]:>12,.0f}"
            )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--networks", nargs="+", default=list(DATA), choices=list(DATA))
    parser.add_argument("--batch-sizes", nargs="+", type=int, default=[2, 16, 64, 128, 512, 1024, 4096, 8192])
    parser.add_argument("--sparsities", nargs="+", type=float, default=[0.5, 0.7, 0.9])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--memory", action="store_true", help="peak resident memory instead of rates")
    parser.add_argument("--trained", type=int, metavar="STEPS", help="instead, networks after so many steps at B = 64")
    parser.add_argument("--trials", nargs="+", type=int, default=[8, 11], help="whose rates --trained takes (8 11)")
    parser.add_argument("--images", type=int, default=1024, help="images of a measurement, at least (default: 1024)")
    arguments = parser.parse_args()
    if arguments.memory:
        for name in arguments.networks:
            for size in arguments.batch_sizes:
                peaks = [f"S={s}: {peak(name, size, s):.0f} MiB" for s in (0.0, *arguments.sparsities)]
                print(f"{name}, B={size}: " + ", ".join(peaks), flush=True)
        return
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    if arguments.trained:
        for name in arguments.networks:
            print_trained(name, arguments)
        return
    limit = arithmetic_limit()
    print(
        f"one thread; a large convolution does {limit / 1e9:.0f} GFLOP/s; images/s, best of {arguments.rounds} rounds"
    )
    for name in arguments.networks:
        dataset = dataset_for(name)
        network = make_network(name, seed=0)
        forward = limit / flops(name)
        print(f"\n{name}: at that rate, every product formed, {forward:,.0f} forward, {forward / 3:,.0f} trained")
        weights = flatten(network)
        scores = scores_of(network, dataset)
        engines = {key: engine(network, dataset) for key, engine in available_engines().items()}
        replicas = {key: replica_of(engine, weights, None) for key, engine in reversed(engines.items())}
        for sparsity in arguments.sparsities:
            replicas[f"S={sparsity}"] = replica_of(engines["native"], weights, select(scores, sparsity))
        print(f"{'B':>8}  " + "".join(f"{key:>10}" for key in replicas) + "   native/plain; sparse/native")
        for size in [*arguments.batch_sizes, "test"]:
            count = max(1, arguments.images // size) if isinstance(size, int) else 1
            images = size * count if isinstance(size, int) else arguments.images
            order = torch.randint(len(dataset.images), (images,), generator=torch.Generator().manual_seed(1))
            if isinstance(size, int):
                batches = order.split(size)
                rates = fastest(replicas, lambda r, b=batches: r.advance(b, RULE, 0), images, arguments.rounds)  # type: ignore[misc]
            else:
                rates = fastest(replicas, lambda r, o=order: r.margins(o), images, arguments.rounds)  # type: ignore[misc]
            of = dict(zip(replicas, rates, strict=True))
            ratios = [of["native"] / of["plain"], *(of[f"S={s}"] / of["native"] for s in arguments.sparsities)]
            print(
                f"{size:>8}  "
                + "".join(f"{rate:>10,.0f}" for rate in rates)
                + "   "
                + "  ".join(f"{r:.2f}" for r in ratios)
            )


def replica_of(engine: Engine, weights: Tensor, mask: Tensor | None) -> Replica:
    """Return a replica at the initial weights."""
    return engine.replica(Snapshot(weights.clone(), (torch.zeros_like(weights),), ()), mask=mask)


if __name__ == "__main__":
    main()
