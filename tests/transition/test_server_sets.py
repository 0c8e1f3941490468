"""What several partitions of a service carry together is no promise of some of them: who is named on the way."""

from types import SimpleNamespace

import pytest
from problems.small_plans import gpu_of, partition_of, plan_of

from sliceplan.solver.model.plan import Promise
from sliceplan.solver.transition.planning import plan_transition
from sliceplan.solver.transition.replay import replay
from sliceplan.solver.transition.replay_capacity import _unnamed_sets
from sliceplan.solver.transition.risks import risks
from sliceplan.solver.transition.server_sets import changed_sets
from sliceplan.solver.wording.transition_counts import counts_in_words
from sliceplan.solver.wording.transition_text import summary_in_words

A100 = "A100-80GB"


def dealt(plan, dispatch):
    promise = Promise(latency="percentile", quantile=0.99, dispatch=dispatch, process_queues="shared")
    return plan.model_copy(update={"promise": promise})


def grown(dispatch):
    """One service on two partitions that becomes one on three, one that moves from a single one, and two that stay."""
    old = plan_of(
        gpu_of(f"{A100}/0", partition_of("3g.40gb@0", "pair", 10), partition_of("3g.40gb@4", "pair", 10)),
        gpu_of(f"{A100}/1", partition_of("3g.40gb@0", "alone", 10)),
        gpu_of(f"{A100}/2", partition_of("3g.40gb@0", "left", 10), partition_of("3g.40gb@4", "still", 10)),
    )
    new = plan_of(
        gpu_of(f"{A100}/0", partition_of("3g.40gb@0", "pair", 10), partition_of("3g.40gb@4", "pair", 10)),
        gpu_of(f"{A100}/1", partition_of("4g.40gb@0", "alone", 10), partition_of("3g.40gb@4", "pair", 10)),
        gpu_of(f"{A100}/2", partition_of("2g.20gb@0", "come", 10), partition_of("3g.40gb@4", "still", 10)),
    )
    return dealt(old, dispatch), dealt(new, dispatch)


@pytest.mark.parametrize("dispatch", ["least_expected", "central"])
def test_a_service_of_several_partitions_at_any_moment_is_named_where_one_comes_or_goes(dispatch):
    old, new = grown(dispatch)
    found = plan_transition(old, new)
    transition = found.transition
    assert transition.by_set == ("alone", "pair")
    assert replay(old, found.assigned, transition) == []
    words = " ".join(summary_in_words(transition))
    assert "Every service keeps" not in words
    assert "Not promised: that alone, pair keep their rates" in words
    assert "2 services without a promise meanwhile" in counts_in_words(transition)
    assert [risk.workloads for risk in risks(transition, old, found.assigned) if risk.what == "not promised"] == [
        ("alone", "pair")
    ]
    for name in transition.by_set:
        unnamed = transition.model_copy(update={"by_set": tuple({"alone", "pair"} - {name})})
        assert any(name in message and "together" in message for message in replay(old, found.assigned, unnamed))


@pytest.mark.parametrize("dispatch", ["weighted_round_robin", "random", None])
def test_what_adds_up_is_promised_on_the_way(dispatch):
    old, new = grown(dispatch)
    found = plan_transition(old, new)
    assert found.transition.by_set == ()
    assert replay(old, found.assigned, found.transition) == []
    assert not any("Not promised" in text for text in summary_in_words(found.transition))


def test_nobody_is_named_where_nothing_is_touched():
    old, _ = grown("central")
    assert plan_transition(old, old).transition.by_set == ()


@pytest.mark.parametrize(("before", "after"), [("central", None), ("random", "least_expected")])
def test_whoever_was_or_will_be_promised_as_a_set_is_named(before, after):
    old, new = dealt(grown(None)[0], before), dealt(grown(None)[1], after)
    found = plan_transition(old, new)
    assert found.transition.by_set == ("alone", "pair")
    assert replay(old, found.assigned, found.transition) == []
    nobody = found.transition.model_copy(update={"by_set": ()})
    redirected = [one.id for one in nobody.steps if one.kind == "redirect" and one.workloads[0] in ("alone", "pair")]
    assert [one.split(",")[0] for one in replay(old, found.assigned, nobody)] == [
        f"{nobody.steps[at].workloads[0]} is promised for all its partitions together" for at in redirected
    ]


def test_from_one_partition_to_another_both_receive_requests_for_a_while():
    old = dealt(
        plan_of(
            gpu_of(f"{A100}/0", partition_of("3g.40gb@0", "a", 0.5)), gpu_of(f"{A100}/1", partition_of(None, "b", 0.5))
        ),
        "central",
    )
    moves = [SimpleNamespace(capacity_rps={"a": 0.5}), SimpleNamespace(capacity_rps={"a": -0.5})]
    ends = [SimpleNamespace(capacity_rps={"b": -0.5}), SimpleNamespace(capacity_rps=None)]
    assert changed_sets(old, old, moves) == ("a",)
    assert changed_sets(old, old, ends) == ()
    # The replay counts as well.
    steps = [
        SimpleNamespace(id=i, kind="redirect", workloads=tuple(one.capacity_rps), **vars(one))
        for i, one in enumerate(moves)
    ]
    steps.append(SimpleNamespace(id=2, kind="drain", workloads=("a",), capacity_rps=None))
    said = list(_unnamed_sets(old, old, SimpleNamespace(steps=steps, by_set=())))
    assert said == [f"a is promised for all its partitions together, of which step {at} changes one" for at in (0, 1)]
    assert list(_unnamed_sets(old, old, SimpleNamespace(steps=steps[1:], by_set=()))) == []
