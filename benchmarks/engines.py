"""Images per second of whole training steps, by engine, batch size and sparsity (python benchmarks/engines.py).

One thread. Beside Parsity's engines stands a plain PyTorch loop: `nn.Module`, `optim.SGD(foreach=True)`, masks
multiplied in, images normalised beforehand. The engines take turns, round after round, and the best round of each
counts, so that all of them meet the same machine; compare ratios, not rates. The last column is the share of the
arithmetic limit: what a large convolution of oneDNN reaches here, divided by the operations of one training image of
the dense network. A sparse engine that does less than the dense operations may pass it.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from parsity import workload
from parsity.engines import Snapshot, available_engines, make_engine
from parsity.optimisation import make_rule
from parsity.pruning import flatten

WORKLOADS = {"simple-cnn": "mnist-momentum", "resnet-8": "cifar10-nesterov"}
GIVEN = {"learning_rate": 1e-4, "momentum": 0.9}


def operations(network: nn.Module, image: Tensor) -> float:
    """Operations of one training image: forward and both gradients, without that of the first layer's input."""
    found: list[float] = []

    def count(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        each = module.weight[0].numel() * 2 * output[0].numel()
        found.append(each * (2 if not found else 3))

    handles = [
        module.register_forward_hook(count) for module in network.modules() if isinstance(module, nn.Conv2d | nn.Linear)
    ]
    network(image)
    for handle in handles:
        handle.remove()
    return sum(found)


def limit() -> float:
    """Operations per second of a large convolution."""
    convolution = nn.Conv2d(128, 128, 3, padding=1).to(memory_format=torch.channels_last)
    images = torch.randn(16, 128, 32, 32).contiguous(memory_format=torch.channels_last)
    with torch.inference_mode():
        rate = best_rate(lambda: convolution(images), 1, 0.3)
    return rate * 16 * 128 * 32 * 32 * 128 * 9 * 2


def best_rate(work: Callable[[], object], count: int, seconds: float) -> float:
    """Images per second over a while."""
    started, done = time.perf_counter(), 0
    while done == 0 or time.perf_counter() - started < seconds:
        work()
        done += count
    return done / (time.perf_counter() - started)


def plain_loop(name: str, batch_size: int, mask: Tensor | None) -> Callable[[], object]:
    """The loop everybody writes."""
    work = workload(name)
    data, network = work.load_data(), work.make_network(0)
    parameters = list(network.parameters())
    flat = torch.ones(sum(p.numel() for p in parameters)) if mask is None else mask.float()
    masks = [m.view(p.shape) for m, p in zip(flat.split([p.numel() for p in parameters]), parameters, strict=True)]
    optimiser = torch.optim.SGD(parameters, lr=1e-4, momentum=0.9, foreach=True)
    images, labels = data.normalise(data.images[:20_000]), data.labels[:20_000]

    def step() -> None:
        batch = torch.randint(len(images), (batch_size,))
        optimiser.zero_grad()
        F.cross_entropy(network(images[batch]), labels[batch]).backward()
        for parameter, one in zip(parameters, masks, strict=True):
            parameter.grad.mul_(one)
        optimiser.step()

    return step


def engine_loop(engine_name: str, name: str, batch_size: int, mask: Tensor | None, steps: int) -> Callable[[], object]:
    """One of Parsity's engines, ``steps`` steps at a time."""
    work = workload(name)
    data, network = work.load_data(), work.make_network(0)
    weights = flatten(network)
    engine = make_engine(engine_name, network, data)
    replica = engine.replica(Snapshot(weights, (torch.zeros_like(weights),), ()), mask=mask)
    rule = make_rule("momentum", "constant", GIVEN)
    batches = [torch.randint(len(data.images), (batch_size,)) for _ in range(steps)]
    return lambda: replica.advance(batches, rule, 0)


def compare(network_name: str, batch_size: int, sparsity: float, rounds: int, seconds: float) -> None:
    """One line."""
    name = WORKLOADS[network_name]
    network = workload(name).make_network(0)
    count = flatten(network).numel()
    mask = torch.rand(count, generator=torch.Generator().manual_seed(0)) >= sparsity if sparsity else None
    steps = max(1, min(16, 512 // batch_size))
    ways = {"plain loop": (plain_loop(name, batch_size, mask), batch_size)}
    for engine in available_engines():
        if engine != "plain":
            ways[engine] = (engine_loop(engine, name, batch_size, mask, steps), batch_size * steps)
    best = dict.fromkeys(ways, 0.0)
    most = 0.0
    for way, _ in ways.values():
        way()
    for _ in range(rounds):
        most = max(most, limit())
        for label, (way, images) in ways.items():
            best[label] = max(best[label], best_rate(way, images, seconds))
    each = operations(network, workload(name).load_data().images[:1].float())
    fastest = max(rate for label, rate in best.items() if label != "plain loop")
    rates = "  ".join(f"{label} {rate:7,.0f}" for label, rate in best.items())
    print(
        f"{network_name:10} B={batch_size:<5} S={sparsity:<4} {rates}  images/s   "
        f"{fastest / best['plain loop']:5.2f} x plain   {fastest * each / most:6.1%} of the limit",
        flush=True,
    )


def one_process(seconds: float, result: object) -> None:
    """The native engine at B = 64 in a process of its own."""
    torch.set_num_threads(1)
    way = engine_loop("auto", "mnist-momentum", 64, None, 8)
    way()
    result.put(best_rate(way, 512, seconds))


def processes(seconds: float) -> None:
    """What two processes reach together, beside one alone."""
    context = multiprocessing.get_context("spawn")
    together: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(3):
        for number in (1, 2):
            queue = context.Queue()
            crew = [context.Process(target=one_process, args=(seconds, queue)) for _ in range(number)]
            for process in crew:
                process.start()
            together[number].append(sum(queue.get() for _ in crew))
            for process in crew:
                process.join()
    one, two = max(together[1]), max(together[2])
    print(
        f"processes  simple-cnn B=64: one {one:,.0f}, two together {two:,.0f} images/s: {two / one:.2f} x", flush=True
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", default=list(WORKLOADS))
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[2, 16, 128, 1024, 8192])
    parser.add_argument("--sparsities", type=float, nargs="+", default=[0.0, 0.9])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    for network in arguments.networks:
        for batch_size in arguments.batch_sizes:
            for sparsity in arguments.sparsities:
                compare(network, batch_size, sparsity, arguments.rounds, arguments.seconds)
    processes(3.0)


if __name__ == "__main__":
    main()
