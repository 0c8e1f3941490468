"""Most capacity of GPUs under MPS: no limit below what trying everything finds, no plan above it."""

import random
import time
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from oracles.cut_beside_shared_oracle import A30
from oracles.mps_oracle import LOOSE, STRICT, Oracle, Task
from oracles.shared_capacity_oracle import contents, most_capacity
from problems.cut_beside_shared_draws import beside_cuts
from problems.mps_draws import drawn, small_gpus

from sliceplan.solver.api import solve
from sliceplan.solver.check import check
from sliceplan.solver.exact.shared_capacity import answer
from sliceplan.solver.exact.shared_capacity.content_limit import content_limit
from sliceplan.solver.exact.shared_capacity.figures import Figures
from sliceplan.solver.exact.shared_capacity.gpu_contents import Counted
from sliceplan.solver.model.plan import Status
from sliceplan.solver.performance.resolve import resolve

from .paid import all_paid

SAME = 1e-6


@pytest.fixture(autouse=True)
def _small_gpus():
    with small_gpus():
        yield


def counted(seed, **settings):
    """Returns a drawn problem on one or two GPUs of each small type under MPS with the objective capacity."""
    problem, profiles = drawn(seed)
    draw = random.Random(f"shared {seed}")
    fleet = tuple(
        one.model_copy(update={"sharing": ("mps",), "count": draw.choice((1, 1, 2))}) for one in problem.fleet
    )
    asked = {"objective": "capacity", "mps_rules": "free", "shadow_percent": 0.0, "time_limit_s": 600.0}
    settings = problem.settings.model_copy(update=asked | settings)
    workloads = tuple(
        one.model_copy(update={"rate_rps": one.rate_rps * draw.choice((0.2, 0.5))}) for one in problem.workloads
    )
    return problem.model_copy(update={"fleet": fleet, "settings": settings, "workloads": workloads}), profiles


def beside_cut_or_whole(seed, **settings):
    """Returns a drawn problem on one or two A30s that are cut beside GPUs under MPS, or whole, with that objective."""
    problem, profiles = beside_cuts(seed)
    draw = random.Random(f"mixed {seed}")
    fleet = tuple(
        one.model_copy(
            update={
                "count": draw.choice((1, 1, 2)),
                "sharing": one.sharing if one.gpu == A30 else draw.choice((("mps",), ("mps", "exclusive"))),
            }
        )
        for one in problem.fleet
    )
    asked = {"objective": "capacity", "time_limit_s": 600.0}
    settings = problem.settings.model_copy(update=asked | settings)
    workloads = tuple(
        one.model_copy(update={"rate_rps": one.rate_rps * draw.choice((0.2, 0.5))}) for one in problem.workloads
    )
    return problem.model_copy(update={"fleet": fleet, "settings": settings, "workloads": workloads}), profiles


def judged(seed, least_percent=0.0, problem=counted, **settings):
    """Returns how a plan of a drawn problem compares with all that there is."""
    problem, profiles = problem(seed, **settings)
    ones = np.ones(len(problem.workloads))
    strict = most_capacity(problem, profiles, ones, STRICT)
    loose = most_capacity(problem, profiles, ones, LOOSE)
    plan = solve(problem, profiles=profiles)
    assert check(problem, plan, profiles) == []
    shares = [part.sm_percent for gpu in plan.gpus for part in gpu.partitions if gpu.sharing == "mps"]
    assert all(percent >= least_percent for percent in shares), seed
    if plan.status is Status.INFEASIBLE:
        assert strict is None, seed
        return "infeasible"
    limit = plan.capacity.limit
    assert strict is None or limit is None or limit >= strict * (1 - SAME), seed
    if not plan.gpus:
        return "no plan"
    assert loose is not None
    assert plan.capacity.value <= loose * (1 + SAME), seed
    if strict is None or plan.capacity.value < 0.95 * strict:
        return "less"
    return "most" if plan.capacity.value >= strict * (1 - SAME) else "near"


# Small enough for the oracle; among them problems without a plan.
SEEDS = (0, 1, 2, 6, 7, 8, 18, 21, 32, 34, 37)


def test_no_limit_is_below_a_plan_that_is_possible_and_no_plan_above(monkeypatch):
    """Property: of small drawn problems, by every content of every GPU."""
    monkeypatch.setattr(answer, "ROUNDS", 3)
    monkeypatch.setattr(answer, "CELLS", 30)
    monkeypatch.setattr(answer, "MOST_CELLS", 60)
    ends = Counter(judged(seed) for seed in SEEDS)
    assert ends["infeasible"] >= 3, ends
    assert ends["most"] + ends["near"] + ends["less"] >= 5, ends


def test_so_it_is_where_the_hardware_gives_no_shares_of_one_unit(monkeypatch):
    monkeypatch.setattr(answer, "ROUNDS", 3)
    monkeypatch.setattr(answer, "CELLS", 30)
    monkeypatch.setattr(answer, "MOST_CELLS", 60)
    with small_gpus(least_sms=3):
        ends = Counter(judged(seed, least_percent=100 * 2 / 40 - 1e-9) for seed in SEEDS)
    assert ends["most"] + ends["near"] + ends["less"] >= 4, ends


PERCENTILE = {"latency": "percentile", "quantile": 0.95}
# Again some without a plan.
IN_TIME = (2, 3, 6, 12, 13, 18, 22, 28, 31)


@pytest.mark.parametrize("dispatch", ["weighted_round_robin", "random"])
def test_so_it_is_of_percentiles_of_requests_that_wait(monkeypatch, dispatch):
    """Property: by the oracle that looks up what each resident is promised one number at a time."""
    monkeypatch.setattr(answer, "ROUNDS", 3)
    monkeypatch.setattr(answer, "CELLS", 30)
    monkeypatch.setattr(answer, "MOST_CELLS", 60)
    ends = Counter(judged(seed, dispatch=dispatch, **PERCENTILE) for seed in IN_TIME)
    assert ends["infeasible"] >= 1, ends
    assert ends["most"] + ends["near"] + ends["less"] >= 6, ends


def test_a_router_that_knows_every_state_has_plans_of_turns_and_limits_no_lower(monkeypatch):
    """Property: whatever carries the rates in weighted turns does there."""
    monkeypatch.setattr(answer, "ROUNDS", 3)
    monkeypatch.setattr(answer, "CELLS", 30)
    monkeypatch.setattr(answer, "MOST_CELLS", 60)
    found = 0
    for seed in IN_TIME:
        problem, profiles = counted(seed, dispatch="least_expected", **PERCENTILE)
        in_turns, _ = counted(seed, dispatch="weighted_round_robin", **PERCENTILE)
        most = most_capacity(in_turns, profiles, np.ones(len(problem.workloads)), STRICT)
        plan = solve(problem, profiles=profiles)
        assert check(problem, plan, profiles) == []
        if most is None:
            continue
        found += bool(plan.gpus)
        assert plan.status is not Status.INFEASIBLE, seed
        assert plan.capacity.limit >= most * (1 - SAME), seed
    assert found >= 6


def test_so_it_is_where_gpus_are_cut_or_whole_beside_others_under_mps(monkeypatch):
    """Property: A30s in every cut, and GPUs that may be whole or shared, by every content of every GPU."""
    monkeypatch.setattr(answer, "ROUNDS", 3)
    monkeypatch.setattr(answer, "CELLS", 30)
    monkeypatch.setattr(answer, "MOST_CELLS", 60)
    ends = Counter(judged(seed, problem=beside_cut_or_whole) for seed in (2, 4, 8, 9, 11, 14, 16, 18, 24, 26, 30, 44))
    assert ends["infeasible"] >= 3, ends
    assert ends["most"] >= 7, ends


def asked_of(oracle, problem):
    """Returns what each service asks of a resident, and how many it may have."""
    # Who may have one resident only carries all of its rate there.
    tasks = [
        Task(w, None, oracle.required[w] if one.max_replicas == 1 else 1e-12) for w, one in enumerate(problem.workloads)
    ]
    return tasks, [one.max_replicas or 99 for one in problem.workloads]


@pytest.mark.parametrize("seed", [2, 6, 18, 32])
def test_no_content_is_worth_more_than_its_limit(seed):
    """Property: at drawn prices, also below 0 a resident, few cells and many."""
    problem, profiles = counted(seed)
    resolved = resolve(problem, profiles)
    draw = np.random.default_rng(seed)
    n, gpu = len(problem.workloads), problem.fleet[0].gpu
    oracle = Oracle(problem, profiles, STRICT)
    of_gpu = contents(oracle, *asked_of(oracle, problem), gpu)
    figures = Figures.of(resolved, resolved.mps[gpu], all_paid(n))
    for cells in (1, 30, 200):
        price = draw.uniform(0, 1, n)
        charge = draw.choice((-1, 0, 1), n) * draw.uniform(0, 200, n)
        most = max(float(price @ rates - charge @ residents) for rates, residents in of_gpu)
        found = content_limit(figures, price, charge, gap=0.0, cells=cells, deadline=time.monotonic() + 60)
        assert found.limit >= most * (1 - SAME), (seed, cells)


@pytest.mark.parametrize("seed", [2, 6, 18, 32])
def test_no_content_is_worth_more_than_its_limit_where_rates_are_paid_for_and_no_more(seed):
    """Property: of every set of residents, each worth what it carries, and its price up to the rate."""
    problem, profiles = counted(seed)
    resolved = resolve(problem, profiles)
    draw = np.random.default_rng(seed)
    n, gpu = len(problem.workloads), problem.fleet[0].gpu
    oracle = Oracle(problem, profiles, STRICT)
    sets = list(oracle.served(gpu, *asked_of(oracle, problem)))
    for cells in (1, 30, 200):
        weights, rates = draw.uniform(0, 1, n), draw.uniform(0, 1, n) * max(max(rps) for _, rps in sets)
        paid, charge = draw.uniform(0, 3, n), draw.choice((-1, 0, 1), n) * draw.uniform(0, 200, n)
        most = max(
            sum(weights[w] * h + paid[w] * min(h, rates[w]) - charge[w] for w, h in zip(members, rps, strict=True))
            for members, rps in sets
        )
        figures = Figures.of(resolved, resolved.mps[gpu], Counted(weights, rates))
        found = content_limit(figures, weights + paid, charge, gap=0.0, cells=cells, deadline=time.monotonic() + 60)
        assert found.limit >= most * (1 - SAME), (seed, cells)
        assert max((one.worth(figures.counted, weights + paid, charge) for one in found.contents), default=0.0) <= (
            max(most, 0.0) * (1 + 1e-4)
        )


def test_what_is_not_looked_for_under_mps_is_refused_by_name():
    problem, profiles = counted(2)
    for update, words in (
        ({"mps_rules": "igniter"}, "settings.mps_rules: free only"),
        ({"shadow_percent": 10.0}, "without standby processes only"),
    ):
        settings = problem.settings.model_copy(update=update)
        plan = solve(problem.model_copy(update={"settings": settings}), profiles=profiles)
        assert plan.status is Status.REFUSED
        assert words in plan.unserved[0].reason


@pytest.mark.parametrize("times", [1e-6, 1e-3, 1e3])
def test_a_limit_is_as_many_times_greater_as_the_prices(times):
    """Whatever unit prices have, nothing is worth more or less than it is."""
    problem, profiles = counted(6)
    resolved = resolve(problem, profiles)
    figures = Figures.of(resolved, resolved.mps[problem.fleet[0].gpu], all_paid(len(resolved.required_rps)))
    price = np.random.default_rng(6).uniform(0.2, 1, len(problem.workloads))
    nothing = np.zeros(len(price))
    limits = [
        content_limit(figures, price * unit, nothing, gap=0.0, cells=30, deadline=time.monotonic() + 60).limit
        for unit in (1.0, times)
    ]
    assert limits[1] == pytest.approx(limits[0] * times, rel=1e-6)


@pytest.mark.parametrize("seed", [1, 21, 32])
def test_no_content_has_more_residents_than_a_gpu_has_clients(seed):
    """At a price of a resident of 10 below nothing, the number of residents is what counts."""
    problem, profiles = counted(seed)
    resolved = resolve(problem, profiles)
    mps = resolved.mps[problem.fleet[0].gpu]
    n = len(problem.workloads)
    for clients in (1, 2):
        figures = Figures.of(resolved, replace(mps, clients=clients), all_paid(n))
        price, charge = np.full(n, 1e-6), np.full(n, -10.0)
        found = content_limit(figures, price, charge, gap=0.0, cells=60, deadline=time.monotonic() + 60)
        assert max(len(content.gpu.residents) for content in found.contents) == clients
        assert 10 * clients <= found.limit < 10 * clients + 1
