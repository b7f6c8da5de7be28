"""The race against the paper's protocol: same trials, same K*. (python benchmarks/race.py [digits|mnist]).

The protocol trains each trial alone to the goal or to the step limit, with a plain `nn.Module`,
`optim.SGD(foreach=True)`, masks multiplied in, and the error of the whole validation split at every check. It would
take hours or days, so its seconds per step and per validation pass are measured on real steps (`--seconds` of each, on
three trials) and multiplied by the steps each trial takes. Those are known from races with more patience (`--know`,
infinite for digits); of a trial still unfinished there we know that it takes at least that many steps and at most the
step limit: both are printed. Both sides run on one thread in this process, one after the other, and seconds are those
of the processor, which neighbours on the machine hardly change.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path

import torch
from torch.nn import functional as F

from parsity import race, workload
from parsity.data import Batches, split
from parsity.racing import Cell, Scores
from parsity.results import Outpaced
from parsity.training import Workload, derived_seed

CACHE = Path.home() / ".cache" / "parsity" / "benchmark-scores"


def plain_seconds(work: Workload, batch_size: int, sparsity: float, number: int, budget: float) -> tuple[float, float]:
    """Seconds of a plain training step and of a plain validation pass, measured on real steps of one trial."""
    data = work.load_data()
    train, validation = split(len(data.images))
    cell = Cell(workload=work, batch_size=batch_size, sparsity=sparsity, scores=Scores(CACHE))
    network = work.make_network(derived_seed(0, "weights", number))
    masks = [torch.ones_like(p) for p in network.parameters()]
    if sparsity:
        masks = [mask.float() for mask in cell.mask(number).tensors().values()]
    images, labels = data.normalise(data.images), data.labels
    given = work.space.trial(number)
    optimiser = torch.optim.SGD(
        network.parameters(), lr=given["learning_rate"], momentum=given.get("momentum", 0), foreach=True
    )
    batches = Batches(len(train), batch_size, derived_seed(0, "order", number))
    for parameter, mask in zip(network.parameters(), masks, strict=True):
        parameter.data.mul_(mask)
    started, steps = time.process_time(), 0
    while steps < 3 or time.process_time() - started < budget:
        batch = train[batches.indices(steps)]
        optimiser.zero_grad()
        F.cross_entropy(network(images[batch]), labels[batch]).backward()
        for parameter, mask in zip(network.parameters(), masks, strict=True):
            parameter.grad.mul_(mask)
        optimiser.step()
        steps += 1
    per_step = (time.process_time() - started) / steps
    started, passes = time.process_time(), 0
    with torch.no_grad():
        while passes < 1 or time.process_time() - started < budget:
            sum(int((network(images[part]).argmax(1) != labels[part]).sum()) for part in validation.split(1000))
            passes += 1
    return per_step, (time.process_time() - started) / passes


def compare(name: str, batch_size: int, sparsity: float, trials: int, budget: float, know: float) -> None:
    """One line of the table."""
    work = workload(name)
    warm = Cell(workload=work, batch_size=batch_size, sparsity=sparsity, scores=Scores(CACHE))
    for number in range(1, trials + 1):
        warm.mask(number)  # both sides need the scores; they are not what is compared
    started = time.process_time()
    result = race(work, batch_size, sparsity, trials=trials, scores_folder=CACHE)
    raced = time.process_time() - started
    best = result.steps_to_result()
    (goal,) = work.goals
    known = result if know == 1 else race(work, batch_size, sparsity, trials=trials, patience=know, scores_folder=CACHE)
    assert known.steps_to_result() == best
    outcomes = [trial.outcomes[goal] for trial in known.trials]
    costs = [plain_seconds(work, batch_size, sparsity, number, budget) for number in (1, 2, 3)]
    per_step, per_test = (sorted(column)[1] for column in zip(*costs, strict=True))
    least = sum(o.step for o in outcomes)
    most = sum(work.step_limit if isinstance(o, Outpaced) else o.step for o in outcomes)
    validation = len(work.load_data().images) // 10
    ratios = []
    for steps in (least, most):
        checks = steps / work.check_interval
        seconds = steps * per_step + checks * per_test
        passes = steps * batch_size + checks * validation
        ratios.append((seconds, seconds / raced, passes / result.image_passes))
    (low, low_ratio, low_passes), (high, high_ratio, high_passes) = ratios
    print(
        f"{name} B={batch_size} S={sparsity} trials={trials} K*={best}: race {raced:.1f} s, "
        f"protocol {low:.0f} to {high:.0f} s: {low_ratio:.0f} to {high_ratio:.0f} times the seconds, "
        f"{low_passes:.0f} to {high_passes:.0f} times the image-passes",
        flush=True,
    )


def main() -> None:
    """Print one line per cell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", nargs="*", default=["digits", "mnist"])
    parser.add_argument("--trials", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--know", type=float, default=1.0, help="patience of the races that say how long trials take")
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[16, 256])
    parser.add_argument("--sparsities", type=float, nargs="+", default=[0.0, 0.9])
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for which in arguments.which:
        for batch_size in arguments.batch_sizes:
            for sparsity in arguments.sparsities:
                name = {"digits": "digits", "mnist": "mnist-momentum"}[which]
                know = math.inf if which == "digits" else arguments.know
                compare(name, batch_size, sparsity, arguments.trials, arguments.seconds, know)


if __name__ == "__main__":
    main()
