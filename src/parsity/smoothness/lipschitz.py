"""The local Lipschitz constant of the gradient between two steps of training (Eq. 11)."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from parsity.engines import Snapshot
from parsity.results import LipschitzPoint
from parsity.smoothness.passes import error_of, full_gradient
from parsity.smoothness.place import Place


def lipschitz_point(
    place: Place, after: Snapshot, *, gammas: Sequence[float], validation: Tensor | None = None
) -> LipschitzPoint:
    """|grad f(w + gamma d) - grad f(w)| / |gamma d| for each gamma, d leading from ``place`` to ``after``.

    Where training did not move at all, there are no ratios.
    """
    loss, base = place.loss_gradient
    replica, images, pause = place.go(), place.images, place.pause
    training_error = error_of(replica, images, pause)
    validation_error = error_of(replica, validation, pause) if validation is not None else None
    start = place.snapshot.weights.double()
    move = after.weights.double() - start
    ratios = {}
    for gamma in gammas:
        weights = (start + gamma * move).float()
        # Float32 weights lie beside the line by their rounding: the distance is to where they are.
        distance = float((weights.double() - start).norm())
        if distance > 0:
            replica.restore(Snapshot(weights, (), place.snapshot.buffers))
            ratios[gamma] = float((full_gradient(replica, images, pause)[1] - base).norm()) / distance
    return LipschitzPoint(
        step=place.step,
        ratios=ratios,
        distance=float(move.norm()),
        gradient_norm=float(base.norm()),
        training_loss=loss,
        training_error=training_error,
        validation_error=validation_error,
    )
