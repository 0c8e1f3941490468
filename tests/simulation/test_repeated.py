"""Simulations repeated by workers, kept, and put together."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from problems.simulated_plans import two_services

from sliceplan.solver.api import SimulationSettings, simulate
from sliceplan.solver.formats.kept_lines import kept_lines
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.simulation_report import SimulationReport
from sliceplan.solver.simulation.arrivals.trace import Trace
from sliceplan.solver.simulation.repeated import Repeated, repetitions, together
from sliceplan.solver.workers.executors import Workers

FEW = SimulationSettings(requests=2_000, seed=7, load=0.8)


@pytest.fixture(scope="module")
def asked():
    problem, plan = two_services()
    return Repeated(problem, plan, FEW, 4).checked()


@pytest.fixture(scope="module")
def reports(asked):
    with ThreadPoolExecutor(2) as executor:
        return dict(repetitions(asked, Workers(executor, 2)))


def test_each_repetition_is_the_simulation_with_its_own_seed(asked, reports):
    assert sorted(reports) == [0, 1, 2, 3]
    alone = simulate(asked.problem, asked.plan, replace(FEW, seed=9))
    assert reports[2].model_copy(update={"runtime_s": 0.0}) == alone.model_copy(update={"runtime_s": 0.0})


def test_together_they_count_all_requests_and_their_intervals_are_of_how_they_differ(asked, reports):
    ones = [reports[i] for i in range(4)]
    found = together(asked, ones)
    assert (found.seed, found.stopped) == (7, "done")
    assert found.requests == sum(one.requests for one in ones)
    for i, service in enumerate(found.services):
        own = [one.services[i] for one in ones]
        late = sum((1 - one.in_time) * (one.requests - one.waiting) for one in own)
        assert (1 - service.in_time) * (service.requests - service.waiting) == pytest.approx(late, abs=1e-6)
        p99 = [one.percentiles[3].latency_ms for one in own]
        assert service.percentiles[3].latency_ms == pytest.approx(np.mean(p99))
        half = 3.182446 * np.std(p99, ddof=1) / 2  # Student's t for 3 degrees of freedom
        assert service.percentiles[3].high_ms == pytest.approx(np.mean(p99) + half, rel=1e-5)
        assert sum(bin_.share for bin_ in service.histogram) == pytest.approx(1)
        assert sum(service.batch_sizes.values()) == pytest.approx(1)
    few = together(asked, ones[:2])
    assert few.stopped == "interrupted"
    assert together(replace(asked, number=1), ones[:1]).stopped == "done"


def test_kept_repetitions_are_not_simulated_again_and_more_may_follow(asked, reports, tmp_path):
    path = tmp_path / "kept.jsonl"
    kind = ("simulation", asked.named(), SimulationReport, "seed", "something else")
    with kept_lines(path, *kind) as kept:
        kept.add(8, reports[1])
    more = replace(asked, number=3)
    assert more.named() == asked.named()
    with kept_lines(path, *kind) as kept, ThreadPoolExecutor(1) as executor:
        assert list(kept.answers) == [8]
        left = dict(repetitions(more, Workers(executor, 1), [seed - 7 for seed in kept.answers]))
    assert sorted(left) == [0, 2]
    other = replace(asked, settings=replace(FEW, load=0.9))
    assert other.named() != asked.named()


def test_what_cannot_be_repeated_is_refused(asked):
    with pytest.raises(InputError, match="expected 1 to 100,000"):
        replace(asked, number=0).checked()
    trace = Trace(np.array([0.0, 1.0]), "here")
    with pytest.raises(InputError, match="is simulated as it came, once"):
        replace(asked, settings=replace(FEW, arrivals=trace)).checked()
    unstable = replace(asked, settings=replace(FEW, load=3.0), number=2)
    with ThreadPoolExecutor(1) as executor:
        found = together(unstable, [one for _, one in sorted(repetitions(unstable, Workers(executor, 1)))])
    assert found.holds == "no"
