"""The statements of the paper, held against the user's studies."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from parsity.analysis.analysed import Worked
from parsity.analysis.claims.region import rate_range_shrinks, region_grows
from parsity.analysis.claims.scaling import (
    critical_batch,
    critical_batch_of_mnist,
    momentum_beats_sgd,
    ratio_falls,
    ratio_of_sparse,
    universal_scaling,
)
from parsity.analysis.claims.search import best_interior, best_rate_grows
from parsity.analysis.claims.smoothness import c1_rises, lipschitz_rises
from parsity.analysis.claims.verdicts import Case, Claim, Verdict, claim

__all__ = ["Case", "Claim", "Verdict", "evaluate"]

CLAIMS: dict[str, tuple[str, Callable[[Sequence[Worked]], list[Case]]]] = {
    "universal-scaling": (
        "For every workload and sparsity, steps fall linearly with the batch, then less and less, then not at all.",
        universal_scaling,
    ),
    "cost-of-sparsity": ("90 % sparse needs 1.5 to 4.5 times the steps of dense.", ratio_of_sparse),
    "ratio-falls": ("With momentum, the ratio of sparse to dense falls as the batch grows.", ratio_falls),
    "critical-batch": ("The critical batch of sparse is at least that of dense.", critical_batch),
    "critical-batch-mnist": (
        "MNIST, Simple-CNN, momentum: the critical batch is about 2^9 dense and 2^11 at 90 %.",
        critical_batch_of_mnist,
    ),
    "momentum": ("At large batches momentum needs fewer steps than sgd, at every sparsity.", momentum_beats_sgd),
    "best-interior": ("The best metaparameters lie inside the search space.", best_interior),
    "best-rate-grows": ("The best learning rate grows with the batch.", best_rate_grows),
    "region-grows": ("The region of successful metaparameters grows with the batch.", region_grows),
    "rate-range-shrinks": ("The range of feasible learning rates shrinks with sparsity.", rate_range_shrinks),
    "lipschitz-rises": ("The local Lipschitz constant of the gradient rises with sparsity.", lipschitz_rises),
    "c1-rises": ("c1 of sparse is more than c1 of dense.", c1_rises),
}


def evaluate(studies: Sequence[Worked]) -> tuple[Claim, ...]:
    """Every claim, in the order of the list."""
    return tuple(claim(key, statement, cases(studies)) for key, (statement, cases) in CLAIMS.items())
