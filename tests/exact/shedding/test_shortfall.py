"""What is said of too few GPUs: whom, why, and how many would do, each by what was found and proven."""

from math import inf
from types import SimpleNamespace

import pytest
from problems.instances import problem_of

from sliceplan.solver.exact.shedding import shortfall as module
from sliceplan.solver.exact.shedding.shortfall import shortfall
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve

FLEET = [
    {"gpu": "A100-80GB", "count": 1200},
    {"gpu": "H100-80GB-SXM", "count": 2},
    {"gpu": "A30-24GB", "price_per_hour": 1.0},
]


def resolved_of(**settings):
    services = [{"model": "resnet50", "rate_rps": 100, "slo_ms": 200, "value": value} for value in (1, 5, 9)]
    return resolve(problem_of(services, fleet=FLEET, **settings), shipped_profiles())


@pytest.fixture
def found(monkeypatch):
    """Returns a function that tells what is said where so many services are served, of so many at most."""

    def said(served, most, *, proven=True, **settings):
        asked, told = {}, []

        def chosen(resolved, *, known, enough, on_answer, time_limit_s):
            asked.update(
                enough=enough,
                values=[one.value for one in resolved.problem.workloads],
                known=list(known),
                left=time_limit_s,
            )
            answer = SimpleNamespace(served=served, most=most)
            on_answer(answer)
            return answer

        monkeypatch.setattr(module, "most_valuable", chosen)
        monkeypatch.setattr(module, "_enough", lambda _, known, limit_s: f"{len(list(known))} known, {limit_s:g} s")
        answer = shortfall(
            resolved_of(**settings), known=iter("ab"), proven=proven, on_answer=told.append, time_limit_s=10.0
        )
        return answer, told, asked

    return said


THERE_ARE = "1,200 x A100-80GB, 2 x H100-80GB-SXM"


def test_whoever_is_not_served_has_no_place_where_that_is_proven(found):
    answer, told, asked = found((0, 2), 2)
    assert [one.workload for one in answer] == ["w1"]
    (reason,) = {one.reason for one in answer}
    assert reason == (f"too few GPUs: beside the services that fit on {THERE_ARE} it has no place; 2 known, 3 s")
    # Before, what all share; then each answer as it comes.
    assert [one.workload for one in told[0]] == ["w0", "w1", "w2"]
    assert {one.reason for one in told[0]} == {
        f"too few GPUs: {THERE_ARE} for all services; no time was left to say for which"
    }
    assert told[1:] == [answer]
    # Nobody counts more than another, and both searches may use what is known.
    assert (asked["values"], asked["known"], asked["enough"] <= 1) == ([1.0] * 3, ["a", "b"], True)
    assert 9 < asked["left"] <= 10


@pytest.mark.parametrize(
    ("most", "proven", "words"),
    [
        (3, True, ("too few GPUs: ", "no place was found for it;")),
        (2, False, ("", "no place was found for it, which proves nothing;")),
    ],
)
def test_a_place_that_was_only_not_found_is_not_denied(found, most, proven, words):
    answer, told, _ = found((0, 2), most, proven=proven)
    start, end = words
    assert answer[0].reason.startswith(f"{start}beside the services that fit on {THERE_ARE} {end}")
    assert told[0][0].reason.startswith("too few GPUs" if proven else "no plan was found, which proves nothing")


def test_where_all_are_served_after_all_it_is_the_solvers_tolerance(found):
    answer, _, _ = found((0, 1, 2), 3)
    assert [one.workload for one in answer] == ["w0", "w1", "w2"]
    assert answer[0].reason == f"too few GPUs by less than the solver's tolerance: {THERE_ARE}; 2 known, 3 s"


def test_what_is_kept_free_is_named_beside_the_counts(found):
    answer, _, _ = found((0,), 1, spare_gpu_loss=True)
    assert f"{THERE_ARE} with what is to be kept free (spare_services, spare_gpu_loss) it has" in answer[0].reason


def gpus(*names):
    return [SimpleNamespace(gpu=name) for name in names]


def test_enough_is_what_a_plan_without_counts_takes_or_the_cheapest_of_those_known(monkeypatch):
    price = {"A": 1.0, "B": 3.0}
    monkeypatch.setattr(module, "price_of", lambda _, own: sum(price[one.gpu] for one in own))
    seen = []

    def without_counts(endless, limit_s):
        seen.append(([entry.available for entry in endless.fleet], limit_s))
        return SimpleNamespace(patterns=patterns, shared=SimpleNamespace(columns=shared))

    monkeypatch.setattr(module, "_without_counts", without_counts)
    resolved = resolved_of()
    patterns, shared = [(one, 2) for one in gpus("A", "A")], [(one, 1500) for one in gpus("B")]
    assert module._enough(resolved, iter(()), 7.0) == "4 x A and 1,500 x B would do for all services"
    assert seen == [([None, None, None], 7.0)]
    patterns, shared = None, []
    known = [gpus("B", "A"), gpus("A", "A", "A"), gpus("B")]
    assert module._enough(resolved, iter(known), inf) == "3 x A would do for all services"
    # Without time the first is enough; without any nothing is known.
    assert module._enough(resolved, iter(known), -1.0) == "1 x B and 1 x A would do for all services"
    assert module._enough(resolved, iter(()), inf) == "how many GPUs would do was not found within the time limit"


@pytest.mark.parametrize(("proven", "words"), [(True, "allowed number"), (False, "number of replicas that was tried")])
def test_whom_the_rules_of_mps_keep_from_every_gpu_is_named_alone(monkeypatch, proven, words):
    """Services of a class without a recipe that no partition carries either; all the rest is not asked then."""
    resolved = SimpleNamespace(
        mps={"V": None},
        capacity_rps=SimpleNamespace(__getitem__=None),
        fleet=[],
        problem=SimpleNamespace(
            settings=SimpleNamespace(mps_rules="igniter", keeps_spares=False),
            workloads=[SimpleNamespace(name=f"w{i}") for i in range(4)],
        ),
    )
    carried = {0: True, 1: False, 2: False}
    resolved.capacity_rps = {w: SimpleNamespace(any=lambda some=some: some) for w, some in carried.items()}
    classes = [
        SimpleNamespace(recipes=(), members=(0,)),
        SimpleNamespace(recipes=(), members=(1, 3)),
        SimpleNamespace(recipes=((0,),), members=(2,)),
    ]
    monkeypatch.setattr(module, "mps_items", lambda *_, **__: SimpleNamespace(classes=classes))
    answer = shortfall(resolved, proven=proven, time_limit_s=1)
    assert [one.workload for one in answer] == ["w1", "w3"]
    assert answer[0].reason.startswith("under mps_rules igniter no ")
    assert words in answer[0].reason


@pytest.mark.parametrize(
    ("rules", "mps", "by"),
    [("rules", {}, "spares"), ("rules", {"A": 1}, "spares"), (None, {}, "prices"), (None, {"A": 1}, "sets")],
)
def test_how_many_would_do_is_asked_with_what_is_kept_free_and_else_of_prices_or_listed_sets(
    monkeypatch, rules, mps, by
):
    """Under MPS of the sets of residents that can be allocated."""
    columns = [SimpleNamespace(name="a", batches=(1,)), SimpleNamespace(name="b", batches=None)]
    asked = []

    def answer(name):
        return lambda *of, **options: asked.append((name, of[1:], options)) or SimpleNamespace(answer=name)

    patched = {
        "spare_rules": lambda _: rules,
        "solve_with_spares": answer("spares"),
        "solve_by_prices": answer("prices"),
        "solve_cutting_stock": lambda *_, **options: asked.append(("sets", (), options)) or "sets",
        "mps_items": lambda *_, parts: f"items {parts}",
        "item_tables": lambda _, shared: [shared],
        "enumerate_columns": lambda _: SimpleNamespace(columns=columns),
        "by_columns": lambda _, shared, own: (shared, [one.name for one in own]),
    }
    for name, value in patched.items():
        monkeypatch.setattr(module, name, value)
    endless = SimpleNamespace(problem=SimpleNamespace(settings=None), mps=mps)
    assert module._without_counts(endless, 7.0) == by
    ((name, of, options),) = asked
    assert (name, options["time_limit_s"]) == (by, 7.0)
    assert of == (("rules",) if by == "spares" else ())
    if by == "sets":
        assert (options["shared"], options["fewest_slices"]) == (("items False", ["a"]), False)


def test_without_mps_nobody_is_kept_away_by_its_rules(found, monkeypatch):
    monkeypatch.setattr(module, "_without_a_recipe", None)
    assert [one.workload for one in found((0, 2), 2)[0]] == ["w1"]
