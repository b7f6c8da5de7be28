"""The local Lipschitz constant against what the authors' program computed."""

import pytest
import torch

from parsity.data import Dataset
from parsity.engines import Snapshot, available_engines, make_engine
from parsity.smoothness import Place, lipschitz_point

ENGINES = [name for name in available_engines() if name != "plain"]


@pytest.mark.parametrize("engine", ENGINES)
def test_ratio_at_each_gamma_is_the_authors(engine, reference):
    before, after = (reference.flat(f"lipschitz/{which}", training=True) for which in ("w_prev", "w_cur"))
    data = Dataset.from_tensors(reference.images, reference.labels, name=reference.name)
    replica = make_engine(engine, reference.network(), data).replica(
        Snapshot(before, (), ()), mask=reference.flat("mask/0.9").bool()
    )
    place = Place(replica=replica, snapshot=Snapshot(before, (), ()), step=19, images=torch.arange(2000))
    gammas = [number / 10 for number in range(1, 11)]
    found = lipschitz_point(place, Snapshot(after, (), ()), gammas=gammas)
    assert list(found.ratios) == gammas
    assert list(found.ratios.values()) == pytest.approx(reference.training["lipschitz/by_gamma"].tolist(), rel=1e-3)
    assert found.distance == pytest.approx(float(reference.training["lipschitz/direction_norm"]), rel=1e-5)
    assert found.lipschitz == max(found.ratios.values())
