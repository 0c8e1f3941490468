"""Which choices of services are tried where partitions carry together what is no sum."""

from types import SimpleNamespace

import pytest

from sliceplan.solver.exact.shedding import valuable_sets
from sliceplan.solver.exact.shedding.most_valuable import MostValuable
from sliceplan.solver.exact.shedding.valuable_sets import TRIES, _choices, most_valuable_sets


@pytest.mark.parametrize(
    ("worth", "served", "known", "tried"),
    [
        ((3, 1, 2), [0, 1, 2], 6, []),
        ((3, 1, 2), [0, 1, 2], 5, [[0, 1, 2]]),
        ((3, 1, 2), [0, 1, 2], 3, [[0, 1, 2], [0, 2], [0, 1]]),
        ((3, 1, 2), [0, 1, 2], 2, [[0, 1, 2], [0, 2], [0, 1], [1, 2]]),
        ((3, 1, 2), [0, 2], 0, [[0, 2], [0], [2]]),
        ((3, 1, 2), [1], 0, [[1]]),
        ((3, 1, 2), [], 0, []),
    ],
)
def test_the_choice_and_those_with_a_service_less_that_are_worth_more_than_what_is_known(worth, served, known, tried):
    assert list(_choices(worth, served, known)) == tried


def test_of_many_services_only_those_of_least_value_are_left_out():
    worth = [float(w) for w in range(40, 0, -1)]
    tried = list(_choices(worth, list(range(40)), 0.0))
    assert len(tried) == 1 + TRIES
    left_out = [set(range(40)) - set(one) for one in tried[1:]]
    assert left_out == [{39 - i} for i in range(TRIES)]


@pytest.mark.parametrize(("seconds", "mps", "served"), [(60.0, {}, [0, 1]), (0.0, {}, [0]), (60.0, {"g": None}, [0])])
def test_choices_are_tried_while_there_is_time_and_no_gpus_are_under_mps(monkeypatch, seconds, mps, served):
    """Three are served at the loosest points and one in turns; sets are found for two of the three."""
    answers = iter((MostValuable([0, 1, 2], 3.0), MostValuable([0], 3.0)))
    monkeypatch.setattr(valuable_sets, "most_valuable", lambda *_, **__: next(answers))
    monkeypatch.setattr(valuable_sets, "loosest", lambda resolved: resolved)
    monkeypatch.setattr(valuable_sets, "unservable_by_sums", lambda _: [])
    monkeypatch.setattr(
        valuable_sets,
        "_served_by_sets",
        lambda _, served, most, __: MostValuable(served, most) if served == [0, 1] else None,
    )
    workloads = [SimpleNamespace(worth=1.0, name=f"w{i}") for i in range(3)]
    resolved = SimpleNamespace(problem=SimpleNamespace(workloads=workloads), mps=mps, restricted_to=lambda _: None)
    found = most_valuable_sets(resolved, on_answer=lambda _: None, time_limit_s=seconds)
    assert (found.served, found.most) == (served, 3.0)


@pytest.mark.parametrize(("lost", "known"), [([], ["gpus"]), (["w1"], [])])
def test_who_is_served_by_no_weighted_turns_is_left_out_of_what_they_serve(monkeypatch, lost, known):
    """Then known GPUs, which serve everybody, are of no use. The limit is always that of the looser problem."""
    asked, told = [], []
    kept = [w for w in range(3) if f"w{w}" not in lost]

    def most_valuable(resolved, *, on_answer, known=(), **_):
        asked.append((resolved, list(known)))
        found = MostValuable([0], 3.0) if resolved == "loose" else MostValuable([0, 1], 9.0)
        on_answer(found)
        return found

    monkeypatch.setattr(valuable_sets, "most_valuable", most_valuable)
    monkeypatch.setattr(valuable_sets, "loosest", lambda _: "loose")
    monkeypatch.setattr(valuable_sets, "unservable_by_sums", lambda _: [SimpleNamespace(workload=one) for one in lost])
    workloads = [SimpleNamespace(worth=1.0, name=f"w{i}") for i in range(3)]
    resolved = SimpleNamespace(problem=SimpleNamespace(workloads=workloads), mps={}, restricted_to=lambda rows: rows)
    found = most_valuable_sets(resolved, known=["gpus"], on_answer=told.append, time_limit_s=60.0)
    assert asked == [("loose", []), (kept, known)]
    assert (found.served, found.most) == (kept[:2], 3.0)
    assert [(one.served, one.most) for one in told] == [([], 3.0), (kept[:2], 3.0)]


def test_where_turns_serve_nobody_sets_alone_are_tried(monkeypatch):
    found = SimpleNamespace(has_plan=True, gpus="gpus", points="points")
    asked = []
    monkeypatch.setattr(valuable_sets, "most_valuable", lambda *_, **__: MostValuable([0], 1.0))
    monkeypatch.setattr(valuable_sets, "loosest", lambda _: "loose")
    monkeypatch.setattr(valuable_sets, "unservable_by_sums", lambda _: [SimpleNamespace(workload="w0")])
    monkeypatch.setattr(
        valuable_sets, "solve_for_sets", lambda part, **options: asked.append((part, options["any_plan"])) or found
    )
    resolved = SimpleNamespace(
        problem=SimpleNamespace(workloads=[SimpleNamespace(worth=1.0, name="w0")]),
        mps={},
        restricted_to=lambda rows: rows,
    )
    best = most_valuable_sets(resolved, on_answer=lambda _: None, time_limit_s=60.0)
    assert (best.served, best.most, best.gpus, best.points) == ([0], 1.0, "gpus", "points")
    assert asked == [([0], True)]
    found.has_plan = False
    assert most_valuable_sets(resolved, on_answer=lambda _: None, time_limit_s=60.0).served == []
