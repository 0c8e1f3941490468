"""What differs between problems, differences applied, and two edits merged."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems.instances import problem_of, problems

from sliceplan.solver.differences.change import Change
from sliceplan.solver.differences.merging import merged
from sliceplan.solver.differences.problems import applied, changes
from sliceplan.solver.differences.wording import describe_changes, describe_contests
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.problem import Problem


def edited(problem, **fields):
    return Problem.model_validate({**problem.model_dump(mode="json"), **fields})


def workloads_of(problem, *, drop=(), add=(), **rates):
    """Returns the workloads as plain data without some, with others, and with other rates by name."""
    kept = [workload.model_dump(mode="json") for workload in problem.workloads if workload.name not in drop]
    for workload in kept:
        workload["rate_rps"] = rates.get(workload["name"], workload["rate_rps"])
    return [*kept, *add]


BASE = problem_of(
    [{"model": "bert", "rate_rps": 100, "slo_ms": 300}, {"model": "vgg16", "rate_rps": 50, "slo_ms": 200}]
)
NEW = {"name": "new", "model": "bert", "rate_rps": 5, "slo_ms": 90}


@st.composite
def shuffled(draw):
    """Draws problems whose workloads come in any order, so that names are shared but places differ."""
    problem = draw(problems())
    return edited(problem, workloads=draw(st.permutations(problem.model_dump(mode="json")["workloads"])))


@given(old=shuffled(), new=shuffled())
def test_changes_applied_to_the_old_problem_give_the_new_one(old, new):
    """Property: applied(a, changes(a, b)) = b, for any two problems; and no changes mean equal problems."""
    found = changes(old, new)
    assert applied(old, found) == new
    assert (found == ()) == (old == new)


@given(base=shuffled(), mine=shuffled())
def test_merging_with_one_who_changed_nothing_gives_the_other(base, mine):
    """Property: merged(b, m, b) = merged(b, b, m) = merged(b, m, m) = m, without a contest."""
    for outcome in (merged(base, mine, base), merged(base, base, mine), merged(base, mine, mine)):
        assert outcome.problem == mine
        assert not outcome.contests


def test_every_kind_of_change_is_found_with_old_and_new_value():
    new = edited(
        BASE,
        fleet=[{"gpu": "A100-80GB", "count": 4}, {"gpu": "T4", "sharing": ["mps"]}],
        workloads=workloads_of(BASE, drop=["w1"], add=[NEW], w0=120.0),
        settings={**BASE.settings.model_dump(), "headroom": 0.1},
    )
    found = changes(BASE, new)
    assert Change("changed", ("fleet", "A100-80GB", "count"), None, 4) in found
    assert Change("changed", ("workloads", "w0", "rate_rps"), 100.0, 120.0) in found
    assert Change("changed", ("settings", "headroom"), 0.0, 0.1) in found
    assert [(change.kind, change.path) for change in found] == [
        ("changed", ("fleet", "A100-80GB", "count")),
        ("added", ("fleet", "T4")),
        ("removed", ("workloads", "w1")),
        ("changed", ("workloads", "w0", "rate_rps")),
        ("added", ("workloads", "new")),
        ("changed", ("settings", "headroom")),
    ]
    assert describe_changes(found).splitlines() == [
        "~ fleet.A100-80GB: count unset -> 4",
        "+ fleet.T4: gpu=T4 sharing=mps",
        "- workloads.w1",
        "~ workloads.w0: rate_rps 100 -> 120",
        "+ workloads.new: name=new model=bert rate_rps=5 slo_ms=90 min_replicas=1",
        "~ settings.headroom: 0 -> 0.1",
    ]


def test_another_order_alone_is_a_change_of_the_order():
    new = edited(BASE, workloads=[*reversed(BASE.model_dump(mode="json")["workloads"])])
    assert changes(BASE, new) == (Change("reordered", ("workloads",), ["w0", "w1"], ["w1", "w0"]),)
    assert describe_changes(changes(BASE, new)) == "~ workloads: another order"
    assert describe_changes(()) == "nothing"


def test_changes_of_different_places_are_merged():
    mine = edited(BASE, workloads=workloads_of(BASE, add=[NEW], w0=120.0))
    theirs = edited(BASE, workloads=workloads_of(BASE, drop=["w1"]), settings={"headroom": 0.2})
    outcome = merged(BASE, mine, theirs)
    assert not outcome.contests
    assert [(one.name, one.rate_rps) for one in outcome.problem.workloads] == [("w0", 120), ("new", 5)]
    assert outcome.problem.settings.headroom == 0.2


def test_contested_places_keep_theirs_and_are_named():
    mine = edited(BASE, workloads=workloads_of(BASE, drop=["w1"], w0=120.0))
    theirs = edited(BASE, workloads=workloads_of(BASE, w0=130.0, w1=60.0))
    outcome = merged(BASE, mine, theirs)
    assert outcome.problem == theirs
    assert merged(BASE, theirs, mine).problem == mine
    assert describe_contests(outcome.contests).splitlines() == [
        "! workloads.w1: theirs rate_rps 50 -> 60, yours removed it",
        "! workloads.w0.rate_rps: theirs rate_rps 100 -> 130, yours rate_rps 100 -> 120",
    ]


def test_a_merge_that_is_no_problem_is_refused_with_the_field():
    base = edited(BASE, workloads=[{**NEW, "min_replicas": 2, "max_replicas": 4}])
    mine = edited(BASE, workloads=[{**NEW, "min_replicas": 3, "max_replicas": 4}])
    theirs = edited(BASE, workloads=[{**NEW, "min_replicas": 2, "max_replicas": 2}])
    with pytest.raises(InputError, match=r"workloads\[0\].*max_replicas is 2, below min_replicas, which is 3"):
        merged(base, mine, theirs)


def test_long_lists_are_cut_with_the_count():
    many = [{**NEW, "name": f"n{i}"} for i in range(20)]
    lines = describe_changes(changes(BASE, edited(BASE, workloads=workloads_of(BASE, add=many))), most=5).splitlines()
    assert len(lines) == 6
    assert lines[-1] == "… and 15 more"
