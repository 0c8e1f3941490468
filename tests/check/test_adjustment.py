"""What a plan says that batches and shares chosen anew gain: each wrong statement is found."""

from types import SimpleNamespace

import pytest
from problems.igniter_instances import FLEET
from problems.instances import problem_of

from sliceplan.solver.check.adjustment import wrong_adjustment

SLO_MS = {"w0": 80.0, "w1": 120.0}


def found(latency="execution", *, bda=True, shared=True, solo=None, **stated):
    """Returns what is wrong with a plan of a share in time, at 40 ms of 80, and one that is late, at 61 ms of 120."""
    problem = problem_of(
        [{"model": "resnet50", "rate_rps": 10, "slo_ms": SLO_MS[name]} for name in ("w0", "w1")],
        fleet=FLEET,
        latency=latency,
        bda=bda,
    )
    serves = [
        SimpleNamespace(workload=problem.workloads[i].name, latency_ms=ms, carries_rps=rps)
        for i, (ms, rps) in enumerate(((40.0, 100.0), (61.0, 30.0)))
    ]
    gpu = SimpleNamespace(
        sharing="mps" if shared else "mig", partitions=[SimpleNamespace(serves=[one]) for one in serves]
    )
    other = SimpleNamespace(sharing="exclusive", partitions=gpu.partitions)
    said = SimpleNamespace(**stated) if stated else None
    capacity = None if solo is None else SimpleNamespace(solo_rps=solo)
    plan = SimpleNamespace(gpus=[other, gpu], batch_adjustment=said, capacity=capacity)
    return [one.message for one in wrong_adjustment(problem, plan)]


@pytest.mark.parametrize(("latency", "after"), [("execution", 100.0), ("percentile", 130.0), ("worst_case", 130.0)])
def test_what_shares_could_carry_is_of_those_in_time_by_execution_and_of_all_where_a_promise_says_it(latency, after):
    assert found(latency, before=50.0, after=after, changed=2) == []
    for wrong in (after - 30.0, after + 30.0, after * 1.001):
        (words,) = found(latency, before=50.0, after=wrong, changed=1)
        assert words == f"batch_adjustment.after is {wrong}, but its shares could carry {after:.6f} in time"


def test_requests_count_as_parts_of_what_a_service_carries_alone():
    assert found("percentile", solo={"w0": 200.0, "w1": 60.0}, before=0.9, after=1.0, changed=1) == []
    assert found("percentile", before=0.9, after=1.0, changed=1) != []
    weights = {"w0": 0.5, "w1": 0.25}
    assert found("percentile", solo=weights, before=300.0, after=320.0, changed=1) == []
    (words,) = found("percentile", solo=weights, before=300.0, after=321.0, changed=1)
    assert "could carry 320.000000 in time" in words
    # Where that is not said of one of them, or is nothing, the weights are what is wrong.
    for solo in ({"w0": 200.0}, {"w0": 200.0, "w1": 0.0}):
        assert found("percentile", solo=solo, before=9.0, after=1.0, changed=9) == []


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        ({"before": 100.0, "after": 100.0, "changed": 0}, []),
        ({"before": 100.00001, "after": 100.0, "changed": 2}, []),
        ({"before": 100.1, "after": 100.0, "changed": 2}, ["before is 100.100000, above the 100.000000 after"]),
        ({"before": 90.0, "after": 100.0, "changed": 3}, ["changed is 3; there are 2 shares under MPS"]),
        ({"before": 90.0, "after": 100.0, "changed": 0}, ["changed is 0, but before is 90.000000 and after 100.0"]),
    ],
)
def test_nothing_is_chosen_that_carries_less_and_no_more_is_changed_than_there_is(stated, words):
    messages = found(**stated)
    assert len(messages) == len(words)
    assert all(one in message for one, message in zip(words, messages, strict=True)), messages


def test_it_is_stated_where_it_is_asked_for_and_gpus_are_shared_and_nowhere_else():
    right = {"before": 90.0, "after": 100.0, "changed": 1}
    assert found() == ["batch_adjustment is null, but settings.bda is true, with 1 GPUs under MPS"]
    assert found(bda=False) == []
    assert found(shared=False) == []
    assert found(bda=False, **right) == ["batch_adjustment is given, but settings.bda is false, with 1 GPUs under MPS"]
    assert "batch_adjustment is given, but settings.bda is true, with 0 GPUs under MPS" in found(shared=False, **right)
