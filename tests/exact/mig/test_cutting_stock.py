"""The whole program against enumeration; of the plans of the least cost that which takes the fewest slices."""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from oracles import cores_oracle
from oracles.mig_oracle import LOOSE, least_cost
from ortools.math_opt.python import mathopt
from problems.cpu_draws import drawn_problem, small_cpus
from problems.instances import problem_of, random_problem, second_type
from problems.mig_draws import small_problem
from scipy.optimize import LinearConstraint, milp

from sliceplan.solver.exact.backends.highs import run_highs
from sliceplan.solver.exact.mig.cutting_stock import CuttingStockProgram, slices_of, solve_cutting_stock
from sliceplan.solver.exact.mig.patterns import counts_of, patterns_of
from sliceplan.solver.exact.mig.spare_rules import SpareRules
from sliceplan.solver.exact.mps.program import MpsAnswer, MpsPart
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.profile import Profile
from sliceplan.solver.performance import fleet_types
from sliceplan.solver.performance.operating_points import WHOLE_GPU
from sliceplan.solver.performance.resolve import resolve

PROFILES = [*shipped_profiles(), *second_type()]

SEEDS = (0, 4, 10, 13, 20, 25, 33, 34, 53, 55)


@cache
def drawn(seed):
    """Returns a drawn problem, its least cost, and that with a rounding part of each rate missing; None: no plan."""
    problem, profiles = small_problem(seed)
    return resolve(problem, profiles), least_cost(problem, profiles), least_cost(problem, profiles, LOOSE)


def cost_of(resolved, patterns):
    return sum(Fraction(f"{resolved.fleet_by_name[cut.gpu].price_per_hour:.12g}") * times for cut, times in patterns)


def holds(resolved, answer, *, counts=True):
    """Tells whether cuts and partitions keep all that is asked for, with loops over what the problem says."""
    for w, workload in enumerate(resolved.problem.workloads):
        own = answer.partitions[w]
        assert (own >= 0).all()
        assert own @ resolved.capacity_rps[w] >= resolved.required_rps[w] * (1 - 1e-9)
        assert workload.min_replicas <= own.sum() <= (workload.max_replicas or own.sum())
        assert not own[resolved.capacity_rps[w] == 0].any()
    cut = sum(times * counts_of(resolved, pattern) for pattern, times in answer.patterns)
    assert (answer.partitions.sum(axis=0) <= cut).all()
    for entry in resolved.fleet if counts else ():
        used = sum(times for pattern, times in answer.patterns if pattern.gpu == entry.gpu.name)
        assert entry.available is None or used <= entry.available
    return True


@pytest.mark.parametrize("seed", SEEDS)
def test_drawn_problems_cost_what_enumeration_says(seed):
    """Property: a plan holds and costs no less than any; the bound is no more than the least cost."""
    resolved, strict, loose = drawn(seed)
    answer = solve_cutting_stock(resolved, time_limit_s=10)
    if answer.patterns is None:
        assert strict is None
        assert (answer.stopped, answer.cost_bound) == ("infeasible", None)
        return
    assert holds(resolved, answer)
    cost = cost_of(resolved, answer.patterns)
    assert cost >= loose * (1 - Fraction(1, 10**9))
    assert strict is None or answer.cost_bound <= float(strict) * (1 + 1e-9)
    assert answer.stopped == "proved"
    assert float(cost) == pytest.approx(answer.cost_bound, rel=1e-9)
    # With the plan and the bound known it is no other.
    known = solve_cutting_stock(resolved, time_limit_s=10, known_plan=answer, known_bound=answer.cost_bound)
    assert known.stopped == "proved"
    assert cost_of(resolved, known.patterns) == cost
    far = solve_cutting_stock(resolved, time_limit_s=10, known_bound=2 * answer.cost_bound)
    assert far.patterns is None or cost_of(resolved, far.patterns) >= Fraction(19, 10) * cost


@pytest.mark.parametrize("seed", SEEDS)
def test_a_plan_is_values_that_keep_every_constraint_and_says_itself_again(seed):
    resolved, strict, _ = drawn(seed)
    answer = solve_cutting_stock(resolved, time_limit_s=10, counts=False)
    program = CuttingStockProgram(resolved, counts=False)
    values = program.values(answer)
    if answer.patterns is None:
        assert strict is None
        assert values is None
        return
    assert holds(resolved, answer, counts=False)
    assert set(values) == set(program.model.variables())
    for row in program.model.linear_constraints():
        total = sum(term.coefficient * values[term.variable] for term in row.terms())
        assert row.lower_bound - 1e-9 <= total <= row.upper_bound + 1e-9, row.name
    assert all(variable.lower_bound <= value <= variable.upper_bound for variable, value in values.items())
    assert sorted(program.cut(values), key=repr) == sorted(answer.patterns, key=repr)
    assert (program.partitions(values) == answer.partitions).all()


@pytest.mark.parametrize(("counts", "most", "least"), [((1, None), 1, 2), ((2, 0), 2, 3), ((None, 1), 3, 1)])
def test_counts_and_limits_of_replicas_hold_and_counts_may_be_left_out(counts, most, least):
    """More is asked for than few GPUs carry; without counts there is a plan, with them there is none or it holds."""
    workloads = [
        {"model": "resnet50", "rate_rps": 300, "slo_ms": 200, "min_replicas": least},
        {"model": "bert", "rate_rps": 20, "slo_ms": 400, "max_replicas": most},
    ]
    fleet = [
        {"gpu": gpu, "price_per_hour": usd, "sharing": ["mig"], **({} if count is None else {"count": count})}
        for gpu, usd, count in zip(("A100-80GB", "H100-80GB-SXM"), (2.35, 3.2), counts, strict=True)
    ]
    resolved = resolve(problem_of(workloads, fleet=fleet), PROFILES)
    answer, free = (solve_cutting_stock(resolved, time_limit_s=10, counts=counted) for counted in (True, False))
    assert holds(resolved, free, counts=False)
    assert free.partitions[0].sum() >= least
    assert answer.patterns is None or holds(resolved, answer)
    none = resolve(problem_of(workloads, fleet=[{**entry, "count": 0} for entry in fleet]), PROFILES)
    assert solve_cutting_stock(none, time_limit_s=10).stopped == "infeasible"
    again = solve_cutting_stock(none, time_limit_s=10, counts=False)
    assert (again.stopped, again.cost_bound) == ("proved", free.cost_bound)


def test_as_many_services_are_served_as_fit_where_some_may_be_left_out():
    """Who is left out has no partitions, also of those that it would have at least."""
    workloads = [{"model": "resnet50", "rate_rps": 300, "slo_ms": 200, "min_replicas": 3} for _ in range(4)]
    resolved = resolve(problem_of(workloads, fleet=[{"gpu": "A100-80GB", "count": 1, "sharing": ["mig"]}]), PROFILES)
    program = CuttingStockProgram(resolved, counts=True, all_served=False)
    program.model.maximize(mathopt.LinearSum(program.is_served))
    result = run_highs(program.model, 10.0, absolute_gap=0.5)
    values = result.variable_values()
    served = [round(values[one]) for one in program.is_served]
    partitions = program.partitions(values)
    assert sum(served) == 2, "three partitions each, of seven"
    for w, is_served in enumerate(served):
        if is_served:
            assert partitions[w].sum() >= 3
            assert partitions[w] @ resolved.capacity_rps[w] >= resolved.required_rps[w]


def assert_keeps_every_row(program, values):
    assert set(values) == set(program.model.variables())
    for row in program.model.linear_constraints():
        total = sum(term.coefficient * values[term.variable] for term in row.terms())
        assert row.lower_bound - 1e-9 <= total <= row.upper_bound + 1e-9, row.name


@pytest.mark.parametrize("are_listed", [True, False])
def test_cpus_beside_gpus_cost_what_enumeration_says_however_they_are_divided(monkeypatch, are_listed):
    """Property: where divisions are too many to list, too, a plan is values of the variables again."""
    if not are_listed:
        monkeypatch.setattr(fleet_types, "listed_divisions", lambda *_: None)
    judged = 0
    with small_cpus() as trees:
        for seed in (1, 2, 3, 5, 8, 11):
            problem = drawn_problem(seed)
            least = cores_oracle.least_cost(problem, trees)
            resolved = resolve(problem, [])
            answer = solve_cutting_stock(resolved, time_limit_s=10)
            if least == np.inf:
                assert answer.stopped == "infeasible"
                continue
            assert (answer.stopped, answer.cost_bound) == ("proved", pytest.approx(least))
            assert float(cost_of(resolved, answer.patterns)) == pytest.approx(least)
            assert holds(resolved, answer)
            program = CuttingStockProgram(resolved, counts=True)
            values = program.values(answer)
            assert_keeps_every_row(program, values)
            again = program.cut(values)
            assert cost_of(resolved, again) == cost_of(resolved, answer.patterns)
            judged += 1
    assert judged >= 3


def test_partitions_that_are_kept_free_lie_beside_those_in_use_on_gpus_of_their_type():
    """Of two types whose partitions have the same names; any one GPU may be lost, any one service need half more."""
    workloads = [
        {"model": model, "rate_rps": rate, "slo_ms": 200} for model, rate in (("resnet50", 900), ("vgg19", 200))
    ]
    fleet = [{"gpu": "A100-80GB", "price_per_hour": 2.0, "count": 1}, {"gpu": "H100-80GB-SXM", "price_per_hour": 2.1}]
    resolved = resolve(problem_of(workloads, fleet=[{**entry, "sharing": ["mig"]} for entry in fleet]), PROFILES)
    rules = SpareRules(1, 0.5, True)
    answer = solve_cutting_stock(resolved, spare=rules, time_limit_s=10)
    plain = solve_cutting_stock(resolved, time_limit_s=10)
    assert plain.spares is None
    assert answer.stopped == "proved"
    assert answer.cost_bound > plain.cost_bound
    assert holds(resolved, answer)
    cut = sum(times * counts_of(resolved, pattern) for pattern, times in answer.patterns)
    free = answer.spares.free
    assert (answer.partitions.sum(axis=0) + free <= cut).all()
    assert (free >= answer.spares.extra.max(axis=0)).all()
    more = ((answer.partitions + answer.spares.extra) * resolved.capacity_rps).sum(axis=1)
    assert (more >= 1.5 * resolved.required_rps * (1 - 1e-9)).all()
    for pattern, _ in answer.patterns:
        assert (free >= counts_of(resolved, pattern)).all()
    program = CuttingStockProgram(resolved, counts=True, spare=rules)
    values = program.values(answer)
    assert_keeps_every_row(program, values)
    assert (program.spares(values).free == free).all()
    # Known without what is free it is values of the others alone.
    assert len(program.values(plain)) < len(values)


class Elsewhere:
    """GPUs under MPS of a type at 1 USD: each carries a third of the first service as a replica, and the second one."""

    def __init__(self, resolved, replicas):
        self.gpu = resolved.fleet[1].gpu.name
        self.counts_replicas = replicas

    def __call__(self, model, is_served):
        gpus = model.add_integer_variable(lb=0, name="z")
        third = model.add_integer_variable(lb=0, ub=3, name="d")
        second = model.add_integer_variable(lb=0, ub=1, name="y")
        model.add_linear_constraint(third + second <= gpus)
        model.add_linear_constraint(second >= is_served[1])
        return MpsPart(
            gpus=[(self.gpu, gpus)],
            carried={0: [third / 3]},
            replicas={0: [third]} if self.counts_replicas else None,
            settled={1},
            slices=[15.0 * gpus],
            decode=lambda values: MpsAnswer((), {0: [0] * round(values[third]), 1: [1] * round(values[second])}),
        )


@pytest.mark.parametrize(
    ("limits", "a100", "count", "counts_replicas", "residents", "usd"),
    [
        # The first service is cheaper on three GPUs under MPS than on an A100; the second has no other place.
        ({}, 9.0, None, True, 3, 4.0),
        ({}, 2.5, None, True, 0, 3.5),
        ({}, 9.0, 3, True, 0, 10.0),  # of which there are too few
        ({"max_replicas": 2}, 9.0, None, True, 0, 10.0),
        ({"max_replicas": 2}, 9.0, None, False, 3, 4.0),  # replicas are not counted
        ({"min_replicas": 3}, 9.0, None, True, 3, 4.0),
        ({"min_replicas": 4}, 0.5, None, True, 0, 1.5),
        ({"min_replicas": 4}, 9.0, None, False, 3, 4.0),
    ],
)
def test_gpus_under_mps_carry_parts_of_rates_beside_partitions(limits, a100, count, counts_replicas, residents, usd):
    services = [
        {"model": "resnet50", "rate_rps": 300, "slo_ms": 200, **limits},
        {"model": "vgg19", "rate_rps": 200, "slo_ms": 200, "gpus": ["T4"]},
    ]
    t4 = {"gpu": "T4", "price_per_hour": 1.0, "sharing": ["mps"], **({} if count is None else {"count": count})}
    fleet = [{"gpu": "A100-80GB", "price_per_hour": a100, "sharing": ["mig"]}, t4]
    resolved = resolve(problem_of(services, fleet=fleet), PROFILES)
    assert not resolved.capacity_rps[1].any(), "it may be on no partition"
    answer = solve_cutting_stock(resolved, shared=Elsewhere(resolved, counts_replicas), time_limit_s=10)
    assert (answer.stopped, answer.cost_bound) == ("proved", pytest.approx(usd))
    assert {w: len(own) for w, own in answer.shared.residents.items()} == {0: residents, 1: 1}
    assert answer.partitions[1].sum() == 0
    assert (answer.partitions[0].sum() > 0) == (residents == 0)


def test_slices_are_those_of_compute_and_memory_or_cores_and_of_a_gpu_without_mig_one():
    with small_cpus():
        cpu = {"cpu": "Small-4x1x1", "price_per_hour": 1.0}
        point = {"cores": 3, "batch": 1, "processes": 1, "latency_ms": 5.0, "throughput_rps": 10.0}
        known = {
            "model": "m",
            "cpu": "Small-4x1x1",
            "points": [point],
            "provenance": {"source": "-", "method": "drawn"},
        }
        gpus = [
            {"gpu": gpu, "price_per_hour": 1.0, "sharing": kinds}
            for gpu, kinds in (("A100-80GB", ["mig", "exclusive"]), ("T4", ["exclusive"]))
        ]
        problem = problem_of(
            [{"model": "resnet50", "rate_rps": 1, "slo_ms": 200}, {"model": "m", "rate_rps": 1, "slo_ms": 200}],
            fleet=[cpu, *gpus],
        )
        resolved = resolve(problem.model_copy(update={"profiles": (Profile.model_validate(known),)}), PROFILES)
        slices = {(size.gpu, size.name): slices_of(resolved, size) for size in resolved.sizes}
    assert slices["Small-4x1x1", "3 cores"] == 3
    assert {size: number for (gpu, size), number in slices.items() if gpu == "A100-80GB"} == {
        "1g.10gb": 2,
        "2g.20gb": 4,
        "3g.40gb": 7,
        "4g.40gb": 8,
        "7g.80gb": 15,
    }
    assert slices["T4", WHOLE_GPU] == 1


def test_stopped_at_once_what_is_found_holds_and_the_bound_is_no_more_than_the_least_cost():
    resolved = resolve(random_problem(8, 1), PROFILES)
    answer, proven = (solve_cutting_stock(resolved, time_limit_s=limit_s) for limit_s in (0.0, 10.0))
    assert proven.stopped == "proved"
    assert answer.patterns is None or holds(resolved, answer)
    assert answer.cost_bound is None or answer.cost_bound <= proven.cost_bound * (1 + 1e-9)


def fewest_slices(resolved, slices, most_cost):
    """Returns the fewest slices of partitions that carry all rates on GPUs of so much cost."""
    workloads, sizes = resolved.capacity_rps.shape
    cuts = [
        (entry.price_per_hour, counts_of(resolved, pattern))
        for entry in resolved.fleet
        for pattern in patterns_of(resolved, entry)
    ]
    nothing = np.zeros((workloads, len(cuts)))
    part = np.minimum(resolved.capacity_rps / resolved.required_rps[:, None], 1.0)
    rates = np.hstack([np.kron(np.eye(workloads), np.ones(sizes)) * part.ravel(), nothing])
    room = np.hstack([np.tile(np.eye(sizes), workloads), -np.array([counts for _, counts in cuts]).T])
    cost = np.concatenate([np.zeros(workloads * sizes), [usd for usd, _ in cuts]])
    found = milp(
        np.concatenate([np.tile(slices, workloads), np.zeros(len(cuts))]),
        integrality=np.ones(len(cost)),
        constraints=[
            LinearConstraint(rates, 1 - 1e-9, np.inf),
            LinearConstraint(room, -np.inf, 0),
            LinearConstraint(cost[None, :], -np.inf, most_cost + 1e-6),
        ],
    )
    return round(found.fun)


def test_a_proven_plan_takes_the_fewest_slices_of_all_that_cost_as_much():
    """Property: and where fewest slices are not asked for, it costs no less."""
    fewer = 0
    for seed in (2, 4, 6, 7, 10, 11):
        resolved = resolve(random_problem(3, seed), PROFILES)
        slices = np.array([slices_of(resolved, size) for size in resolved.sizes])
        answer, other = (solve_cutting_stock(resolved, time_limit_s=10, fewest_slices=asked) for asked in (True, False))
        assert answer.stopped == other.stopped == "proved"
        assert answer.cost_bound == other.cost_bound
        taken, others = ((one.partitions @ slices).sum() for one in (answer, other))
        assert taken == fewest_slices(resolved, slices, answer.cost_bound), seed
        fewer += taken < others
    assert fewer >= 3
