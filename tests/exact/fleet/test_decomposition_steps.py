"""The steps of the price decomposition, each told what the others find: which answer is kept, and who goes on."""

import math
import time
from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.exact.fleet import decomposition
from sliceplan.solver.exact.fleet.decomposition import solve_by_prices
from sliceplan.solver.exact.mig.cutting_stock import CuttingStockAnswer
from sliceplan.solver.model.stop_reason import StopReason

PRICE_OF = {"a": 3.0, "b": 2.0}


def told(cost, bound=None, stopped=StopReason.GAP_LEFT, solver="whole"):
    """Returns an answer with GPUs of so much cost, of one at 3 and others at 2; None: without a plan."""
    patterns = None
    if cost is not None:
        threes = int(cost) % 2
        patterns = ((SimpleNamespace(gpu="a"), threes), (SimpleNamespace(gpu="b"), (int(cost) - 3 * threes) // 2))
    return CuttingStockAnswer(stopped, solver, bound, patterns, None if cost is None else f"{cost}", None)


def resolved_of(gap=0.0):
    fleet = {gpu: SimpleNamespace(price_per_hour=usd) for gpu, usd in PRICE_OF.items()}
    return SimpleNamespace(gap=gap, fleet_by_name=fleet)


@pytest.mark.parametrize(
    ("known", "found", "gap", "cost", "bound", "stopped"),
    [
        # The cheaper plan and the greater bound.
        (9, told(8, 7.0), 0.0, 8, 7.0, "gap_left"),
        (9, told(8, 5.0), 0.0, 8, 6.0, "gap_left"),
        (9, told(10, 7.0), 0.0, 9, 7.0, "gap_left"),
        (9, told(9, 9.0), 0.0, 9, 9.0, "proved"),
        (9, told(8, 8.0), 0.0, 8, 8.0, "proved"),
        (9, told(8, 7.0), 0.2, 8, 7.0, "gap_reached"),
        (9, told(8, 6.5), 0.2, 8, 6.5, "gap_left"),
        (None, told(8, None), 0.0, 8, 6.0, "gap_left"),
        (9, told(None, None, StopReason.TIME_LIMIT), 0.0, 9, 6.0, "time_limit"),
        (9, told(8, 7.0, StopReason.TIME_LIMIT), 0.0, 8, 7.0, "time_limit"),
        (None, told(None, 7.0, StopReason.TIME_LIMIT), 0.0, None, 7.0, "time_limit"),
        # A plan that is there outweighs what a solver says.
        (9, told(None, None, StopReason.INFEASIBLE), 0.0, 9, 6.0, "gap_left"),
    ],
)
def test_of_prices_and_the_whole_program_the_cheaper_plan_and_the_greater_bound_are_kept(
    monkeypatch, known, found, gap, cost, bound, stopped
):
    asked = {}
    monkeypatch.setattr(decomposition, "solve_cutting_stock", lambda _, **options: asked.update(options) or found)
    before = told(known, 6.0, solver="prices")
    answer, method = decomposition._with_whole_program(resolved_of(gap), before, 6.0, 9.0)
    assert asked == {"time_limit_s": 9.0, "known_bound": 6.0, "known_plan": before, "gap": gap}
    assert decomposition.cost_of(resolved_of(), answer) == cost
    assert answer.partitions == (None if cost is None else f"{cost}")
    assert (answer.cost_bound, answer.stopped) == (bound, stopped)
    assert method == (decomposition.WHOLE if bound > 6 else decomposition.PRICES)


def test_what_an_answer_costs_is_that_of_its_gpus():
    assert [decomposition.cost_of(resolved_of(), told(cost)) for cost in (None, 3, 7, 8)] == [None, 3, 7, 8]


class Found(decomposition._Search):
    """A search of which best plan, bound and settings are told; what it hands on is written down."""

    def __init__(self, *, best=None, bound=10.0, gap=0.0, any_plan=False, small=False, cheapest=2.0):
        self.heard = []
        self.best = None if best is None else SimpleNamespace(cost=best)
        self.bound, self._small, self._any_plan = bound, small, any_plan
        self._resolved = SimpleNamespace(gap=gap)
        self._supply = SimpleNamespace(cost=np.array([3.0, cheapest]), gpu_type=np.array([0, 1]))

    def _hand_on(self, chosen):
        self.heard.append(chosen.cost)


@pytest.mark.parametrize(
    ("best", "gap", "any_plan", "small", "done"),
    [
        (None, 1.0, True, False, False),
        # Nearly a GPU above the bound is near enough, but few services look for fewest slices all the same.
        (10.0, 0.0, False, False, True),
        (10.0 + decomposition.NEAR_ENOUGH * 2.0, 0.0, False, False, True),
        (10.0 + decomposition.NEAR_ENOUGH * 2.0 + 1e-6, 0.0, False, False, False),
        (10.0, 0.0, False, True, False),
        # So is the gap that is asked for, and any plan where any will do.
        (12.0, 0.2, False, True, True),
        (12.1, 0.2, False, True, False),
        (10.0, 0.2, False, True, True),
        (99.0, 0.0, True, True, True),
    ],
)
def test_programs_over_covers_are_for_plans_that_may_be_made_better(best, gap, any_plan, small, done):
    assert Found(best=best, gap=gap, any_plan=any_plan, small=small).is_done() is done


@pytest.mark.parametrize(
    ("best", "cost", "as_cheap", "taken"),
    [
        (None, 12.0, False, True),
        (12.0, 11.0, False, True),
        (12.0, 12.0, False, False),
        (12.0, 12.0, True, True),
        (12.0, 12.0 * (1 + 1e-12), True, True),
        (12.0, 12.1, True, False),
        (12.0, None, True, False),
    ],
)
def test_a_plan_is_kept_that_is_cheaper_or_as_cheap_where_that_is_asked_for(best, cost, as_cheap, taken):
    search = Found(best=best)
    search._take(None if cost is None else SimpleNamespace(cost=cost), as_cheap=as_cheap)
    assert search.heard == ([cost] if taken else [])
    assert (search.best and search.best.cost) == (cost if taken else best)


@pytest.mark.parametrize(
    ("types", "gap", "any_plan", "rounded", "counted", "after", "best", "bound"),
    [
        # With one GPU type whole GPUs are filled at once; with several their numbers come first.
        (1, 0.0, False, None, (None, 12), ["whole 11"], 11.0, 10.0),
        (1, 0.0, True, None, (None, 12), ["whole 11"], 11.0, 10.0),
        (2, 0.0, True, None, (None, 12), ["whole 11"], 11.0, 10.0),
        (2, 0.0, False, None, (None, 12), ["rounded", "counted", "whole 12"], 12.0, 12.0),
        (2, 0.0, False, 14.0, (12.0, 12), ["rounded", "counted"], 12.0, 12.0),
        (2, 0.0, False, 14.0, (None, 14), ["rounded", "counted"], 14.0, 14.0),
        (2, 0.0, False, None, (13.0, 12), ["rounded", "counted"], 13.0, 12.0),
        (2, 0.5, False, 14.0, (12.0, 12), ["rounded"], 14.0, 10.0),
        (2, 0.1, False, 14.0, (12.0, 12), ["rounded", "counted"], 12.0, 12.0),
        # Less than the prices prove is proven by nothing else.
        (2, 0.0, False, None, (None, 4), ["rounded", "counted", "whole 11"], 11.0, 11.0),
    ],
)
def test_whole_gpus_of_one_type_are_filled_and_of_several_counted_first(
    monkeypatch, types, gap, any_plan, rounded, counted, after, best, bound
):
    heard = []

    def plan(cost):
        return None if cost is None else SimpleNamespace(cost=cost)

    def whole(*_, at_least, **__):
        heard.append(f"whole {at_least}")
        return plan(float(at_least))

    def counts(*_, below, near, fill, **__):
        heard.append("counted")
        assert (near, fill) == ("near", search._filled)
        assert below == min(20 + 1, 11 + decomposition.FAR * 2)
        return SimpleNamespace(least_steps=counted[1], plan=plan(counted[0]))

    monkeypatch.setattr(decomposition, "whole_plan", whole)
    monkeypatch.setattr(decomposition, "counted_plan", counts)
    monkeypatch.setattr(decomposition, "fractional_gpus", lambda *_: SimpleNamespace(rounded="rounded", of_type="near"))
    monkeypatch.setattr(decomposition, "rounded_plan", lambda *_: heard.append("rounded") or plan(rounded))
    search = Found(gap=gap, any_plan=any_plan)
    search._supply.gpu_type = np.arange(2) % types
    search._chosen, search.demands, search._most_steps = lambda chosen: chosen, None, 20
    search._steps, search._deadline = SimpleNamespace(step=1.0), math.inf
    search._priced = SimpleNamespace(listed=None)
    search._proven = SimpleNamespace(least_steps=11, prices=SimpleNamespace(gpu_cost=np.array([3, 2])))
    search.fill_whole_gpus()
    assert heard == after
    assert (search.best.cost, search.bound) == (best, bound)
    # What is good enough already needs no others, nor is there anything to look for without such a proof.
    for missing in ({"_proven": None}, {"best": SimpleNamespace(cost=10.0)}):
        heard.clear()
        for name, value in missing.items():
            setattr(search, name, value)
        search.bound = 10.0
        search.fill_whole_gpus()
        assert heard == []


@pytest.mark.parametrize(
    ("best", "bound", "any_plan", "late", "limited", "left_s", "target", "short", "ended"),
    [
        (None, 10.0, False, False, False, 50.0, 10.0, False, False),
        (12.0, 10.0, False, False, False, 50.0, 10.0, False, False),
        (12.0, 10.0, True, False, False, 50.0, math.inf, False, False),
        # A proven plan has a moment left for fewer slices.
        (10.0, 10.0, False, False, False, 50.0, 10.0, True, False),
        # Time ended it: of the prices, of the programs, or of all.
        (12.0, 10.0, False, True, False, 50.0, 10.0, False, True),
        (12.0, 10.0, False, False, True, 50.0, 10.0, False, True),
        (12.0, 10.0, False, False, False, 0.0, 10.0, False, True),
    ],
)
def test_programs_go_on_from_the_best_plan_to_the_bound(
    monkeypatch, best, bound, any_plan, late, limited, left_s, target, short, ended
):
    asked = {}
    better = SimpleNamespace(cost=9.0)

    def covers(near, _supply, choose, **options):
        assert (near, choose) == ("near", search._choose)
        asked.update(options)
        return SimpleNamespace(covers=better, limited=limited)

    monkeypatch.setattr(decomposition, "best_covers", covers)
    search = Found(best=best, bound=bound, any_plan=any_plan, small=True, gap=0.05)
    search._near, search._late = lambda: "near", late
    now = time.monotonic()
    search._deadline = now + left_s
    known = search.best
    assert search.run_programs() is ended
    assert search.best is better
    assert asked["known"] is known
    assert (asked["target"], asked["gap"], asked["fewest_slices"]) == (target, 0.05, True)
    assert asked["on_better"] == search._hand_on
    if short:
        assert asked["deadline"] == pytest.approx(now + decomposition.SLICES_S, abs=0.5)
    else:
        assert asked["deadline"] == search._deadline


class Steps(decomposition._Search):
    """A search whose steps end as told."""

    told: dict

    def __init__(self, *_):
        self.heard, self.bound, self.demands = [], 6.0, SimpleNamespace(least=range(Steps.told["services"]))
        self.best = Steps.told["best"]
        Steps.told["heard"] = self.heard

    left_s = property(lambda _: Steps.told["left_s"])

    def find_prices(self):
        return Steps.told["priced"]

    def keep_covers(self):
        self.heard.append("keep")

    def fill_whole_gpus(self):
        self.heard.append("fill")

    def is_done(self):
        return Steps.told["done"]

    def run_programs(self):
        self.heard.append("programs")
        return True

    def answer(self, *, limited):
        return told(9 if self.best else None, 6.0, Steps.told["stopped"], f"limited {limited}")

    def decomposed(self, answer, method=decomposition.PRICES):
        return answer, method


@pytest.mark.parametrize(
    ("changed", "heard", "solver"),
    [
        ({}, ["keep", "fill", "programs", "whole"], "whole"),
        ({"done": True}, ["keep", "fill"], "limited False"),
        ({"stopped": StopReason.PROVED}, ["keep", "fill", "programs"], "limited True"),
        ({"stopped": StopReason.GAP_REACHED}, ["keep", "fill", "programs"], "limited True"),
        ({"stopped": StopReason.TIME_LIMIT}, ["keep", "fill", "programs", "whole"], "whole"),
        ({"any_plan": True, "best": True}, ["keep", "fill", "programs"], "limited True"),
        ({"any_plan": True}, ["keep", "fill", "programs", "whole"], "whole"),
        ({"best": True}, ["keep", "fill", "programs", "whole"], "whole"),
        ({"left_s": 0.05}, ["keep", "fill", "programs"], "limited True"),
        ({"services": decomposition.MOST_FOR_WHOLE}, ["keep", "fill", "programs", "whole"], "whole"),
        ({"services": decomposition.MOST_FOR_WHOLE + 1}, ["keep", "fill", "programs"], "limited True"),
        ({"priced": False}, [], "slice prices: the bound passes the cost of all GPUs"),
    ],
)
def test_the_whole_program_is_for_small_problems_with_a_gap_and_time_left(monkeypatch, changed, heard, solver):
    usual = {
        "services": 4, "best": None, "left_s": 5.0, "priced": True, "done": False, "stopped": StopReason.GAP_LEFT,
    }  # fmt: skip
    monkeypatch.setattr(Steps, "told", {**usual, **changed}, raising=False)

    def program(_resolved, answer, bound, left_s):
        Steps.told["heard"].append("whole")
        assert (answer.solver, bound, left_s) == ("limited True", 6.0, 5.0)
        return told(8), decomposition.WHOLE

    monkeypatch.setattr(decomposition, "_Search", Steps)
    monkeypatch.setattr(decomposition, "_with_whole_program", program)
    answer, method = solve_by_prices(None, any_plan=changed.get("any_plan", False), time_limit_s=9.0)
    assert Steps.told["heard"] == heard
    assert answer.solver == solver
    assert method == (decomposition.WHOLE if "whole" in heard else decomposition.PRICES)
    if not changed.get("priced", True):
        assert (answer.stopped, answer.cost_bound, answer.patterns) == ("infeasible", None, None)


@pytest.mark.parametrize(
    ("bound", "steps", "may_be", "proven"),
    [
        (6.2, None, True, 7.0),
        (6.2, 9, True, 9.0),
        (6.2, 5, True, 7.0),
        # 20 may be paid at most.
        (20.0, None, True, 20.0),
        (20.0 * (1 + 1e-7), None, True, 21.0),
        (20.1, None, False, None),
    ],
)
def test_the_bound_is_that_of_the_prices_in_whole_gpus_or_of_exact_ones(monkeypatch, bound, steps, may_be, proven):
    priced = SimpleNamespace(bound=bound)
    monkeypatch.setattr(decomposition, "most_to_pay", lambda _: 20.0)
    monkeypatch.setattr(decomposition, "known_prices", lambda *_: "known")
    exact = None if steps is None else SimpleNamespace(least_steps=steps)
    monkeypatch.setattr(decomposition, "proven_at", lambda *_: exact)

    def best(_demands, _supply, *, start, enough, deadline):
        assert (start, enough) == ("known", 20.0)
        assert deadline == pytest.approx(time.monotonic() + 0.6 * 100, abs=5)
        return priced

    monkeypatch.setattr(decomposition, "best_prices", best)
    search = Found(bound=0.0)
    search.demands = search._start = search._sizes = None
    search._deadline = time.monotonic() + 100
    search._steps = SimpleNamespace(step=1.0, next_cost=lambda usd: float(math.ceil(usd)))
    search.answer = lambda *, limited: limited
    search.decomposed = lambda answer: answer
    search._on_answer = search.heard.append
    assert search.find_prices() is may_be
    if may_be:
        assert search.bound == proven
        assert search.heard == [True], "it says that time ended it, as nothing else is known"
        assert search._most_steps == 21
        assert not search._late


@pytest.mark.parametrize(
    ("whole", "services", "found"), [("plan", 3, "whole"), ("plan", 4, "whole"), (None, 4, None), (None, 3, "covers")]
)
def test_given_gpus_are_filled_by_exchanges_or_for_few_services_by_a_program(monkeypatch, whole, services, found):
    asked = []
    monkeypatch.setattr(decomposition, "MOST_FOR_SLICES", 3)
    monkeypatch.setattr(decomposition, "whole_plan", lambda *_, **options: asked.append(options) or whole)
    covers = SimpleNamespace(covers="listed")
    monkeypatch.setattr(decomposition, "covers_for_programs", lambda *_: covers)
    near = SimpleNamespace(classes=SimpleNamespace(members=np.ones(5)))
    monkeypatch.setattr(decomposition, "undecided_classes", lambda *_, **__: near)
    monkeypatch.setattr(decomposition, "replace", lambda one, available: (one, available))

    def choose(given, supply, **options):
        assert (given, supply) == (near, (search._supply, 7))
        assert (options["any_plan"], options["most_classes"], options["least_cost"]) == (True, 5, 0.0)
        assert options["time_limit_s"] == decomposition.FILL_S
        return SimpleNamespace(covers="covers")

    monkeypatch.setattr(decomposition, "choose_covers", choose)
    search = Found()
    search.demands, search._deadline, search._steps = SimpleNamespace(least=range(services)), math.inf, None
    search._chosen = lambda plan: plan and "whole"
    proven = SimpleNamespace(prices=SimpleNamespace(in_steps="price"))
    assert search._filled(SimpleNamespace(available=7), proven, 12) == found
    assert asked == [{"at_least": 12, "wider": False, "deadline": math.inf}]
