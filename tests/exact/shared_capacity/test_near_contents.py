"""Contents near known ones: real ones, and worth more where prices say that others should be there."""

import numpy as np
import pytest
from problems.igniter_instances import freely_shared

from sliceplan.solver.allocation.allocated import Resident
from sliceplan.solver.exact.shared_capacity import near_contents as module
from sliceplan.solver.exact.shared_capacity.figures import Figures
from sliceplan.solver.exact.shared_capacity.near_contents import NearContents
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve

from .paid import all_paid

N = 8


def figures_of(seed, most):
    resolved = resolve(freely_shared(N, seed, (most,), 4), shipped_profiles())
    (figures,) = [Figures.of(resolved, mps, all_paid(N)) for mps in resolved.mps.values()]
    return figures


@pytest.mark.parametrize(("seed", "most"), [(1, 1), (2, 1), (3, None), (4, None)])
def test_better_contents_are_found_beside_poor_ones_and_all_are_what_they_say(seed, most):
    """Property: from single residents, again and again; nobody who is priced out is there."""
    figures = figures_of(seed, most)
    near = NearContents(figures)
    draw = np.random.default_rng(seed)
    price, charge = draw.uniform(0.5, 2.0, N), draw.uniform(-300, 300, N)
    charge[0] = np.inf
    choices = figures.choices
    # With half of the units at most, so that two may be there.
    some = (choices.units <= figures.mps.capacity_units // 2) & (choices.workload > 0)
    alone = [int(np.flatnonzero(some & (choices.workload == w))[-1]) for w in np.unique(choices.workload[some])]
    known = figures.contents(
        [
            [Resident(int(choices.workload[i]), int(choices.batch[i]), figures.mps.percent_of(int(choices.units[i])))]
            for i in alone
        ]
    )
    begun = most_worth = max(one.worth(all_paid(N), price, charge) for one in known)
    for _ in range(4):
        found = near.found(price, charge, known[:6])
        worth = [one.worth(all_paid(N), price, charge) for one in found]
        assert worth == sorted(worth, reverse=True)
        for one in found:
            assert figures.content(one.gpu.residents) == one
            there = one.gpu.workloads
            assert 0 not in there
            assert most is None or len(set(there)) == len(there)
        known = sorted([*known, *found], key=lambda one: -one.worth(all_paid(N), price, charge))
        assert known[0].worth(all_paid(N), price, charge) >= most_worth
        most_worth = known[0].worth(all_paid(N), price, charge)
    assert most_worth > 1.05 * begun


def test_without_known_contents_there_is_nothing_near():
    figures = figures_of(1, 1)
    assert NearContents(figures).found(np.ones(N), np.zeros(N), []) == []
    assert NearContents(figures).found(np.zeros(N), np.ones(N), []) == []


def test_what_residents_carry_near_contents_is_counted_once_for_each_total(monkeypatch):
    figures = figures_of(1, 1)
    monkeypatch.setattr(module, "AROUND", 0)
    near = NearContents(figures)
    content = figures.content([Resident(0, 1, 50.0)])
    near.found(np.ones(N), np.zeros(N), [content])
    asked = []
    carried = Figures.carried_among
    monkeypatch.setattr(Figures, "carried_among", lambda *of: asked.append(len(of[1])) or carried(*of))
    near.found(2 * np.ones(N), np.zeros(N), [content])
    # Only who carries anything alone.
    assert asked == [len(figures.choices)]
