"""The goal test: is the error on the whole validation split at or below the goal? Answered without looking at it all.

With V validation images, a goal allows ``most_mistakes(goal, V)`` of them to be wrong. The test fails for certain as
soon as one mistake more has been seen, and passes as soon as the images left cannot bring it there: the same answer
as the full count, always. What is left to choose is the order, and there a trial's own past helps: the images it got
wrong last time, the worst first, are mostly wrong again, so a failing test ends after hardly more images than it needs
mistakes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import torch
from torch import Tensor

from parsity.training.goals import most_mistakes

Margins = Callable[[Tensor], Tensor]
"""By how much the label's logit exceeds the others, for images given by index; an image is right if above zero."""

SMALLEST_SLICE = 32
LARGEST_SLICE = 256


@dataclass(frozen=True)
class Verdict:
    """The answer for each goal asked about, and how many images it took."""

    met: dict[float, bool]
    looked: int


class GoalTest(ABC):
    """One trial's goal tests, one after the other. It remembers margins: those of its own trial, nobody else's."""

    name: ClassVar[str]

    def __init__(self, validation: Tensor) -> None:
        self._validation = validation
        self.memory = torch.zeros(len(validation))

    @abstractmethod
    def __call__(self, margins: Margins, goals: Sequence[float], step: int) -> Verdict:
        """Answer for every goal, and remember the margins seen."""

    def _look(self, margins: Margins, places: Tensor) -> int:
        """How many of the images at ``places`` of the validation split are wrong."""
        seen = margins(self._validation[places])
        # Not-a-number is wrong, and sorts as the worst.
        seen = torch.where(torch.isnan(seen), float("-inf"), seen)
        self.memory[places] = seen
        return len(places) - int((seen > 0).sum())


class CertifiedTest(GoalTest):
    """The exact answer, certified by counting: never another than looking at every image would give."""

    name: ClassVar[str] = "certified"

    def __call__(self, margins: Margins, goals: Sequence[float], step: int) -> Verdict:
        """Answer for every goal."""
        count = len(self._validation)
        # Lowest margin of its last look first; images never looked at stand between wrong and right ones.
        order = torch.argsort(self.memory, stable=True)
        undecided = {goal: most_mistakes(goal, count) for goal in goals}
        met: dict[float, bool] = {}
        looked = wrong = 0
        while undecided:
            # As many images as could at best settle the loosest goal with a refusal, within what suits the cache.
            wanted = max(undecided.values()) + 1 - wrong
            size = min(max(wanted, SMALLEST_SLICE), LARGEST_SLICE)
            wrong += self._look(margins, order[looked : looked + size])
            looked = min(looked + size, count)
            for goal, allowed in list(undecided.items()):
                if wrong > allowed or wrong + count - looked <= allowed:
                    met[goal] = wrong <= allowed
                    del undecided[goal]
        return Verdict(met, looked)


class ConfidentTest(GoalTest):
    """A random sample's answer, wrong with a probability of at most `FAILURE` per test and goal.

    Images are drawn without replacement, so the mistakes among n of V images follow the hypergeometric law; its exact
    tails bound the chance of each early stop, and the sum over all stops is at most `FAILURE`. For loose goals, such
    as 0.40, a hundred images often tell. Results say that this test was used.
    """

    name: ClassVar[str] = "confident"
    FAILURE: ClassVar[float] = 1e-9
    SLICE: ClassVar[int] = 64

    def __init__(self, validation: Tensor, seed: int) -> None:
        super().__init__(validation)
        self._seed = seed

    def __call__(self, margins: Margins, goals: Sequence[float], step: int) -> Verdict:
        """Answer for every goal."""
        count = len(self._validation)
        order = torch.randperm(count, generator=torch.Generator().manual_seed(self._seed + step))
        undecided = {
            goal: stopping_bounds(most_mistakes(goal, count), count, self.SLICE, self.FAILURE) for goal in goals
        }
        met: dict[float, bool] = {}
        looked = wrong = stop = 0
        while undecided:
            wrong += self._look(margins, order[looked : looked + self.SLICE])
            looked = min(looked + self.SLICE, count)
            for goal, bounds in list(undecided.items()):
                accept, refuse = bounds[stop]
                if wrong >= refuse or wrong <= accept:
                    met[goal] = wrong <= accept
                    del undecided[goal]
            stop += 1
        return Verdict(met, looked)


@lru_cache(maxsize=64)
def stopping_bounds(allowed: int, count: int, slice_size: int, failure: float) -> tuple[tuple[int, int], ...]:
    """For each stop, after n images: accept at this many mistakes or fewer, refuse at that many or more.

    Refusing is wrong only if at most ``allowed`` of all are mistakes; among n then hardly ever so many, and likeliest
    when exactly ``allowed`` are. Accepting is wrong only if more are; among n then hardly ever so few, and likeliest
    when ``allowed + 1`` are. Each stop may fail with an equal share of ``failure``; the last one counts and is exact.
    """
    import numpy as np
    from scipy.stats import hypergeom

    stops = list(range(slice_size, count, slice_size))
    share = failure / max(len(stops), 1)
    bounds = []
    for looked in stops:
        mistakes = np.arange(looked + 1)
        at_least = hypergeom.sf(mistakes - 1, count, allowed, looked)
        at_most = hypergeom.cdf(mistakes, count, allowed + 1, looked)
        refuse = int(np.argmax(at_least <= share)) if (at_least <= share).any() else looked + 1
        bounds.append((int((at_most <= share).sum()) - 1, refuse))
    return (*bounds, (allowed, allowed + 1))
