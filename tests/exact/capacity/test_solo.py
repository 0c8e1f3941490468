"""What one GPU carries of each workload alone, by all cuts, and what a request/s then counts."""

from types import SimpleNamespace

import numpy as np
import pytest
from problems.drawn_cuts import CUTS, drawn_cuts, told

from sliceplan.solver.exact.capacity import solo as module
from sliceplan.solver.exact.capacity.solo import solo_capacity, weights_of


@pytest.mark.parametrize("available", [0, 1, None])
@pytest.mark.parametrize("seed", range(6))
def test_the_best_cut_of_the_best_type_that_there_is_counts(seed, available, monkeypatch):
    """Property: or it has a GPU under MPS for itself; a type of which there is none carries nothing."""
    told(monkeypatch, module)
    problem = drawn_cuts(seed)
    of_type = {entry.gpu.name: entry.available for entry in problem.fleet}
    alone = SimpleNamespace(greatest_rps=np.array([11.0, 0.0, 30.0]))
    monkeypatch.setattr(module, "alone_on", lambda mps, limit_ms: alone if (mps, limit_ms) == ("M", "limits") else None)
    problem.fleet.append(SimpleNamespace(gpu=SimpleNamespace(name="none"), available=available))
    problem.mps, problem.limit_ms = {"none": "M"}, "limits"
    problem.fleet.remove(problem.fleet[2])
    expected = [
        max(
            11.0 * (w == 0) * bool(available),
            30.0 * (w == 2) * bool(available),
            *(float(np.dot(own, cut)) for gpu, cuts in CUTS.items() if of_type[gpu] for cut in cuts),
        )
        for w, own in enumerate(problem.capacity_rps)
    ]
    assert solo_capacity(problem).tolist() == expected


def test_requests_count_alike_or_as_parts_of_what_a_gpu_carries():
    assert weights_of("equal", np.array([2.0, 8.0])).tolist() == [1.0, 1.0]
    assert weights_of("solo", np.array([2.0, 8.0])).tolist() == [0.5, 0.125]
