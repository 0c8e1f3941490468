"""The most requests/s of counted fleets: against enumeration, and what prices prove of it."""

import random
from collections import Counter
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from oracles.capacity_oracle import most_capacity
from oracles.mig_oracle import LOOSE, TooManyError
from ortools.math_opt.python import mathopt
from problems.mig_draws import small_problem

from sliceplan.solver.exact.capacity import most_requests as most_requests_module
from sliceplan.solver.exact.capacity.cover_limit import cover_limit
from sliceplan.solver.exact.capacity.first_plan import first_plan
from sliceplan.solver.exact.capacity.most_requests import (
    MostRequests,
    _instances,
    _instances_of_each,
    _most_partitions,
    most_requests,
)
from sliceplan.solver.exact.capacity.price_limit import price_limit
from sliceplan.solver.exact.capacity.relaxation import relaxation
from sliceplan.solver.exact.capacity.solo import solo_capacity
from sliceplan.solver.model.stop_reason import StopReason
from sliceplan.solver.performance.resolve import resolve

SAME = 1e-8


def limit_at(counts, resolved, weights, relaxed):
    """Returns what the prices of the linear program prove of these GPUs."""
    return price_limit(resolved, np.array(weights), relaxed.price, relaxed.rate_price).at(counts)


def counted(seed):
    """Returns a small problem with one or two GPUs of each type, weights that are drawn, and the profiles."""
    draw = random.Random(f"counted {seed}")
    problem, profiles = small_problem(seed)
    fleet = tuple(
        entry.model_copy(update={"count": draw.choice((0, 1, 1, 2)) if entry.gpu == "A30-24GB" else 1})
        for entry in problem.fleet
    )
    weights = [draw.choice((1.0, 1.0, 0.5, 10 ** draw.uniform(-3, 3))) for _ in problem.workloads]
    return problem.model_copy(update={"fleet": fleet}), profiles, weights


def judged(seed):
    """Returns how the answer to a drawn problem ended, having compared it with all that there is."""
    problem, profiles, weights = counted(seed)
    strict = most_capacity(problem, profiles, weights)
    loose = most_capacity(problem, profiles, weights, LOOSE)
    resolved = resolve(problem, profiles)
    answer = most_requests(resolved, np.array(weights), time_limit_s=30)
    relaxed = relaxation(resolved, np.array(weights))
    counts = {entry.gpu: entry.available for entry in problem.fleet}
    if strict is not None:
        assert limit_at(counts, resolved, weights, relaxed) >= float(strict) * (1 - SAME)
        first = first_plan(resolved, np.array(weights), relaxed, time_limit_s=5)
        assert first is None or first.capacity(resolved, np.array(weights)) <= float(loose) * (1 + SAME)
        known = 0.0 if first is None else first.capacity(resolved, np.array(weights))
        sharper = cover_limit(resolved, np.array(weights), relaxed, known, time_limit_s=5)
        assert sharper.at(counts) >= float(strict) * (1 - SAME)
        assert sharper.at(counts) <= limit_at(counts, resolved, weights, relaxed) * (1 + SAME)
    if answer.stopped is StopReason.INFEASIBLE:
        assert strict is None
        return "infeasible"
    found = Fraction(answer.capacity(resolved, np.array(weights)))
    assert loose is not None
    assert found <= loose * (1 + Fraction(SAME))
    if strict is not None:
        assert answer.limit >= float(strict) * (1 - SAME)
        assert found >= strict * (1 - Fraction(SAME))
        if answer.stopped is not StopReason.TIME_LIMIT:
            assert answer.limit <= float(found) * (1 + SAME)
    return "most"


def test_small_fleets_carry_as_much_as_enumeration_finds():
    ends = Counter()
    for seed in range(24):
        try:
            ends[judged(seed)] += 1
        except TooManyError:
            ends["too many"] += 1
    assert ends["most"] >= 8, ends
    assert ends["infeasible"] >= 1, ends


def test_one_more_gpu_adds_no_more_than_its_price():
    tried = 0
    for seed in range(12):
        problem, profiles, weights = counted(seed)
        resolved = resolve(problem, profiles)
        relaxed = relaxation(resolved, np.array(weights))
        if relaxed is None:
            continue
        prices = price_limit(resolved, np.array(weights), relaxed.price, relaxed.rate_price)
        for i, entry in enumerate(problem.fleet):
            fleet = list(problem.fleet)
            fleet[i] = entry.model_copy(update={"count": entry.available + 1})
            more = problem.model_copy(update={"fleet": tuple(fleet)})
            try:
                most = most_capacity(more, profiles, weights)
            except TooManyError:
                continue
            sharper = cover_limit(resolved, np.array(weights), relaxed, 0.0, time_limit_s=5)
            for proven in (prices, sharper):
                limit = proven.at({one.gpu: one.available for one in more.fleet})
                assert most is None or most <= Fraction(limit) * (1 + Fraction(SAME))
            tried += most is not None
    assert tried >= 2


def test_a_gpu_of_its_own_carries_what_its_best_cut_does():
    problem, profiles, _ = counted(3)
    resolved = resolve(problem, profiles)
    assert solo_capacity(resolved) == pytest.approx(
        [
            max(
                float(most_capacity(alone(problem, w, entry), profiles, [1.0]) or 0)
                for entry in problem.fleet
                if entry.available
            )
            for w in range(len(problem.workloads))
        ]
    )


def alone(problem, w, entry):
    """Returns the problem of one workload with next to no rate on one GPU."""
    one = problem.workloads[w].model_copy(update={"rate_rps": 1e-9, "max_replicas": None, "min_replicas": 1})
    return problem.model_copy(update={"workloads": (one,), "fleet": (entry.model_copy(update={"count": 1}),)})


def drawn_up(*workloads):
    """Returns workloads, each as capacity per size, rate, and the least and most replicas."""
    return SimpleNamespace(
        sizes=[None, None],
        capacity_rps=np.array([one[0] for one in workloads], dtype=float),
        required_rps=np.array([one[1] for one in workloads], dtype=float),
        problem=SimpleNamespace(
            workloads=[SimpleNamespace(min_replicas=least, max_replicas=most) for _, _, least, most in workloads]
        ),
    )


def test_only_who_counts_most_on_a_size_may_have_more_of_it_than_the_rate_takes(monkeypatch):
    """The others are as well served by what their rates take, so that a best plan gives them no more."""
    monkeypatch.setattr(most_requests_module, "_instances", lambda _: np.array([7.0, 8.0]))
    resolved = drawn_up(
        ([10, 20], 45, 1, None),  # counts most on both sizes
        ([50, 90], 60, 2, 3),  # limited: its best plan may have all that it may
        ([4, 0], 9, 4, None),  # three for its rate, four at least; never one of a size that it cannot use
        ([5, 10], 12, 1, None),
    )
    for unit in (1.0, 1e-6):  # whatever a request/s counts in
        assert _most_partitions(resolved, np.full(4, unit)).tolist() == [[7, 8], [3, 3], [4, 8], [3, 2]]
    # By weight another counts most on the smaller size.
    assert _most_partitions(resolved, np.array([1.0, 1.0, 3.0, 1.0])).tolist() == [[5, 8], [3, 3], [7, 8], [3, 2]]
    # Where all are limited nobody has more than it may, and nobody more than there are.
    alone = drawn_up(([10, 20], 45, 1, 9))
    assert _most_partitions(alone, np.ones(1)).tolist() == [[7, 8]]
    assert _most_partitions(drawn_up(([10, 20], 45, 1, 2)), np.ones(1)).tolist() == [[2, 2]]


def test_as_many_instances_as_the_gpus_can_be_cut_into(monkeypatch):
    cuts = {"two": [[3, 0], [1, 1]], "unlimited": [[9, 9]], "uncut": []}
    monkeypatch.setattr(most_requests_module, "patterns_of", lambda _, entry: cuts[entry.name])
    monkeypatch.setattr(most_requests_module, "counts_of", lambda _, pattern: np.array(pattern))
    fleet = [SimpleNamespace(name=name, available=n) for name, n in (("two", 2), ("unlimited", None), ("uncut", 5))]
    assert _instances(SimpleNamespace(sizes=[None, None], fleet=fleet)).tolist() == [6, 2]


class Ended(SimpleNamespace):
    """What a solver ends with: how, its limit, and values of variables; None: there is no solution."""

    @property
    def termination(self):
        return SimpleNamespace(objective_bounds=SimpleNamespace(dual_bound=self.limit))

    def has_primal_feasible_solution(self):
        return self.values is not None

    def variable_values(self):
        return self.values


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize(
    ("end", "found", "limit", "stopped"),
    [
        ("optimal", True, 0.5, StopReason.HEURISTIC_DONE),
        ("feasible", True, 0.5, StopReason.HEURISTIC_DONE),
        ("time_limit", True, 0.5, StopReason.TIME_LIMIT),
        ("time_limit", False, 0.5, StopReason.TIME_LIMIT),
        ("time_limit", False, np.inf, StopReason.TIME_LIMIT),
        ("infeasible", False, np.inf, StopReason.INFEASIBLE),
    ],
)
def test_what_the_program_ends_with_is_said_in_the_unit_of_what_is_counted(
    monkeypatch, unit, end, found, limit, stopped
):
    """The most valuable partition counts 40; the limit is rounded up a little."""
    model = mathopt.Model()
    served = {at: model.add_integer_variable(lb=0) for at in ((0, 0), (0, 1), (1, 1))}
    cuts = [("cut", model.add_integer_variable(lb=0)), ("other", model.add_integer_variable(lb=0))]
    asked = []

    def solve(own, limit_s, *, absolute_gap, gap, start):
        assert own is model
        assert limit_s <= 60.0
        asked.append((absolute_gap, gap, start))
        values = {cuts[0][1]: 2.0000001, cuts[1][1]: 1e-7} if found else None
        return Ended(end=end, limit=limit, values=values)

    program = SimpleNamespace(
        model=model,
        served=served,
        rates="rates",
        cut=lambda values: (("cut", round(values[cuts[0][1]])),),
        partitions=lambda values: "partitions" if values else None,
        spares=lambda values: "spares" if values else None,
        values=lambda answer: f"values of {answer.partitions}",
    )
    built = []
    patched = {
        "CuttingStockProgram": lambda _, counts, **of: built.append(of) or (program if counts else None),
        "_most_partitions": lambda *_: "most of the best",
        "_instances_of_each": lambda _: "most of all",
        "spare_rules": lambda settings: settings,
        "run_highs": solve,
        "solved_with_rates_met": lambda _, rates, solve: solve() if rates == "rates" else None,
        "end_of": lambda result: result.end,
        "solver_text": lambda _: "HiGHS",
    }
    for name, value in patched.items():
        monkeypatch.setattr(most_requests_module, name, value)
    problem = SimpleNamespace(settings=None)
    resolved = SimpleNamespace(capacity_rps=np.array([[10.0, 20.0], [0.0, 4.0]]), problem=problem)
    known = MostRequests(StopReason.TIME_LIMIT, "", None, (), "known")
    for start in (None, known):
        answer = most_requests(resolved, unit * np.array([2.0, 5.0]), known=start, time_limit_s=60.0, gap=0.25)
        assert (answer.stopped, answer.solver) == (stopped, "HiGHS")
        if limit == np.inf:
            assert answer.limit is None
        else:
            assert 20 * unit < answer.limit <= 20 * unit * (1 + 2e-9)
        assert answer.patterns == ((("cut", 2),) if found else ())
        assert (answer.partitions, answer.spares) == (("partitions", "spares") if found else (None, None))
    assert built == [{"spare": None, "most": "most of the best"}] * 2
    problem.settings = "rules"
    most_requests(resolved, np.ones(2), time_limit_s=60.0)
    # Whoever gives up a partition may have to keep another one free, so that no plan is the better for it.
    assert (built.pop(), asked.pop()) == ({"spare": "rules", "most": "most of all"}, (None, 0.0, None))
    assert asked == [(None, 0.25, None), (None, 0.25, "values of known")]
    objective = model.objective
    assert objective.is_maximize
    # As parts of the most valuable one; of the last call, where all count alike.
    assert [objective.get_linear_coefficient(one) for one in served.values()] == pytest.approx([0.5, 1.0, 0.2])


def test_what_a_plan_has_is_what_all_its_partitions_count():
    resolved = SimpleNamespace(capacity_rps=np.array([[10.0, 20.0], [0.0, 4.0]]))
    plan = MostRequests(StopReason.TIME_LIMIT, "", None, (), np.array([[1, 2], [0, 3]]))
    assert plan.capacity(resolved, np.array([2.0, 5.0])) == 2 * 50 + 5 * 12
    assert MostRequests(StopReason.TIME_LIMIT, "", None).capacity(resolved, np.array([2.0, 5.0])) is None


def test_without_a_best_plan_of_few_a_workload_has_as_many_as_it_may_and_there_are(monkeypatch):
    monkeypatch.setattr(most_requests_module, "_instances", lambda _: np.array([7.0, 2.0]))
    resolved = drawn_up(([10, 20], 45, 1, None), ([50, 90], 60, 2, 3))
    assert _instances_of_each(resolved).tolist() == [[7, 2], [3, 2]]
