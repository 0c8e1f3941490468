"""Contents that carry more: what they keep, and that no small change would carry more still."""

from collections import Counter

import numpy as np
import pytest
from problems.mps_draws import small_gpus

from sliceplan.solver.allocation.allocated import Resident
from sliceplan.solver.exact.shared_capacity.figures import Figures
from sliceplan.solver.exact.shared_capacity.grown import BATCHES, grown
from sliceplan.solver.exact.shared_capacity.of_fleet import more_of_all
from sliceplan.solver.exact.shared_capacity.shared_gpus import SharedGpus
from sliceplan.solver.performance.resolve import resolve

from .paid import all_paid
from .test_shared_capacity import counted

# Of which GPUs hold several residents.
SEEDS = (5, 19, 25, 26, 29, 40, 44, 45, 47, 53)


@pytest.fixture(autouse=True)
def _small_gpus():
    with small_gpus():
        yield


def drawn(seed, number):
    """Returns figures of the first GPU type of a drawn problem, and contents of a few residents, mostly of several."""
    problem, profiles = counted(seed)
    resolved = resolve(problem, profiles)
    figures = Figures.of(resolved, resolved.mps[problem.fleet[0].gpu], all_paid(len(resolved.required_rps)))
    draw, mps, choices = np.random.default_rng(seed), figures.mps, figures.choices
    found = []
    for turn in range(100):
        if not len(choices) or len(found) == number:
            break
        rows = draw.choice(len(choices), draw.integers(2, 4) if turn < 90 else 1)
        residents = [
            Resident(int(w), int(batch), mps.percent_of(int(units)))
            for w, batch, units in zip(choices.workload[rows], choices.batch[rows], choices.units[rows], strict=True)
        ]
        content = figures.content(residents) if sum(choices.units[rows]) <= mps.capacity_units else None
        if content is not None and len(content.gpu.residents) == len(residents):
            found.append(content)
    return figures, found, draw


def neighbours(figures, content):
    """Yields what one resident with more units, of another or of the rest, and another batch size would make."""
    mps, residents = figures.mps, list(content.gpu.residents)
    units = [round(one.percent / mps.unit_percent) for one in residents]
    for to, one in enumerate(residents):
        batches = mps.batches[one.workload].tolist()
        here = batches.index(one.batch)
        for number in (0, 1, 2, 5):
            for give in (None, *range(len(residents))):
                shares = list(units)
                shares[to] += number
                if give is not None:
                    shares[give] -= number
                if give == to or min(shares) < mps.least_units or sum(shares) > mps.capacity_units:
                    continue
                for batch in batches[max(here - BATCHES, 0) : here + BATCHES + 1]:
                    changed = [
                        Resident(other.workload, batch if i == to else other.batch, mps.percent_of(share))
                        for i, (other, share) in enumerate(zip(residents, shares, strict=True))
                    ]
                    yield figures.content(changed)


@pytest.mark.parametrize("part", [0.0, 0.7, 1.0])
def test_a_content_grows_until_no_small_change_carries_more_and_keeps_what_is_asked_of_it(part):
    """Property: the same workloads, each with as much as is asked of this GPU."""
    ends = Counter()
    for seed in SEEDS:
        figures, contents, draw = drawn(seed, 2)
        n = len(figures.once)
        weights = draw.uniform(0.2, 1.0, n)
        for content in contents:
            least = part * content.rates(n)
            found = grown(figures, content, weights, least)
            assert found.gpu.workloads == content.gpu.workloads
            assert figures.content(found.gpu.residents) == found
            assert sum(one.percent for one in found.gpu.residents) <= 100 * (1 + 1e-9)
            assert (found.rates(n) >= least).all(), seed
            worth = weights @ found.rates(n)
            assert worth >= weights @ content.rates(n)
            ends[worth > weights @ content.rates(n) * (1 + 1e-6)] += 1
            for other in neighbours(figures, found):
                is_same = other is not None and other.gpu.workloads == content.gpu.workloads
                if is_same and (other.rates(n) >= least).all():
                    assert weights @ other.rates(n) <= worth * (1 + 1e-8), seed
    assert ends[True] >= 4, ends


def test_a_content_of_which_all_is_asked_that_it_carries_stays_where_it_can_do_no_better():
    """No change at all keeps what is asked."""
    stayed = 0
    for seed in SEEDS:
        figures, contents, _ = drawn(seed, 2)
        n = len(figures.once)
        for content in contents:
            best = grown(figures, content, np.ones(n), np.zeros(n))
            asked = best.rates(n) * (1 + 1e-6)
            assert grown(figures, best, np.ones(n), asked) == best
            stayed += 1
    assert stayed >= 4


def test_a_plan_that_carries_more_keeps_the_rates_by_all_its_gpus_together():
    """Property: also where one GPU alone carries less than before."""
    less = more = 0
    for seed in SEEDS:
        figures, contents, draw = drawn(seed, 6)
        n = len(figures.once)
        for plan in (contents[:3], contents[3:]):
            carried = sum((one.rates(n) for one in plan), np.zeros(n))
            weights, required = draw.choice([0.01, 1.0], n), carried * draw.choice([0.3, 1.0], n)
            found = more_of_all([SharedGpus(figures)], plan, weights, required)
            together = sum((one.rates(n) for one in found), np.zeros(n))
            assert [one.gpu.workloads for one in found] == [one.gpu.workloads for one in plan]
            assert (together >= required * (1 - 1e-9)).all(), seed
            assert weights @ together >= weights @ carried * (1 - 1e-12), seed
            more += weights @ together > weights @ carried * (1 + 1e-6)
            less += any((a.rates(n) < b.rates(n) * (1 - 1e-6)).any() for a, b in zip(found, plan, strict=True))
    assert (more >= 4, less >= 1) == (True, True), (more, less)


def test_what_the_other_gpus_carry_need_not_stay():
    """Of two GPUs with the same content the first may lose all that the second carries of the rates."""
    less = 0
    for seed in SEEDS:
        figures, contents, draw = drawn(seed, 4)
        n = len(figures.once)
        for content in contents:
            weights, rates = draw.choice([0.01, 1.0], n), content.rates(n)
            first, second = more_of_all([SharedGpus(figures)], [content, content], weights, rates)
            assert first == grown(figures, content, weights, np.zeros(n))
            assert second == grown(figures, content, weights, np.maximum(rates - first.rates(n), 0.0) * (1 - 1e-12))
            less += (first.rates(n) < rates * (1 - 1e-6)).any()
    assert less >= 2
