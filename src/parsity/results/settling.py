"""What of an outcome may show in a table: nothing that depends on how a cell was split among processes.

A trial works check interval by check interval, and does not begin one that ends beyond patience x K*. So whoever knew
K* all along would have called a trial outpaced, whatever it saw later, where the check that follows lies beyond. An
infeasible outcome may lie between two checks, or in the very step after the last check that counts, and belongs to the
check at the end of its interval; any other is at a check.

K* and the interval (the winner's step less its last miss) come from the same results.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from parsity.results.cell import TrialResult
from parsity.results.outcomes import Complete, Outpaced


@dataclass(frozen=True)
class Finish:
    """What a cell's results say of one goal: its best step, and the checks' interval."""

    best: float = math.inf
    interval: int = 1

    @classmethod
    def of(cls, complete: Iterable[tuple[int, int]]) -> Finish:
        """From the (step, last miss) of complete trials."""
        step, miss = min(complete, default=(0, 0))
        return cls(step, step - miss) if step else cls()

    def next_check(self, step: int) -> int:
        """The check that ends the interval which begins at, or contains, ``step``."""
        return (step // self.interval + 1) * self.interval

    def too_late(self, status: str, step: int, patience: float) -> bool:
        """Whether one who knew the best step all along would not have seen this outcome."""
        return (self.next_check(step) if status == "infeasible" else step) > patience * self.best

    def surely_in_time(self, patience: float) -> float:
        """A step up to which nothing is too late, whatever it is; asking about each outcome costs more."""
        return patience * self.best - self.interval

    def could_change(self, step: int, patience: float) -> bool:
        """Whether a trial outpaced at ``step`` could, by going on, still show another outcome."""
        return self.next_check(step) <= patience * self.best


def settled(trials: Iterable[TrialResult], goals: Iterable[float], patience: float) -> tuple[TrialResult, ...]:
    """The trials by number, whoever ran which, with all that came too late called outpaced, for each goal on its own.

    A runner that learned late of a better bound may have gone further than another would have; what it saw there does
    not show. Test errors are those of the winners alone.
    """
    found = sorted(trials, key=lambda one: one.number)
    for goal in goals:
        outcomes = [trial.outcomes[goal] for trial in found]
        finish = Finish.of((one.step, one.last_miss) for one in outcomes if isinstance(one, Complete))
        won = False
        for index, (trial, outcome) in enumerate(zip(found, outcomes, strict=True)):
            wins = not won and isinstance(outcome, Complete) and outcome.step == finish.best
            won = won or wins
            if finish.too_late(outcome.status, outcome.step, patience):
                trial = replace(trial, outcomes={**trial.outcomes, goal: Outpaced(outcome.step)})
            if not wins:
                trial = replace(trial, test_errors={g: e for g, e in trial.test_errors.items() if g != goal})
            found[index] = trial
    return tuple(found)
