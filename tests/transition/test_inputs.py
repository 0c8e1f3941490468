"""What `--spare` says, and which plans are none to come from or go to."""

import pytest
from problems.small_plans import gpu_of, partition_of, plan_of

from sliceplan.solver.model.errors import InputError
from sliceplan.solver.transition.inputs import MOST_SPARE, parse_spare, refuse_unusable, refuse_used
from sliceplan.solver.transition.tenancies import IdleGpus

A100 = "A100-80GB"


def test_idle_gpus_are_counted_by_type_or_named_by_node_and_index():
    texts = (f"{A100}=2", "T4=1", f"{A100}=n1/3", f"{A100}=rack/n1/0", "T4=n1/3")
    places = ((A100, "n1", 3), (A100, "rack/n1", 0), ("T4", "n1", 3))
    assert parse_spare(texts) == IdleGpus({A100: 2, "T4": 1}, places)
    assert parse_spare([]) == IdleGpus()
    assert parse_spare([f"T4={MOST_SPARE}"]).counts == {"T4": MOST_SPARE}


@pytest.mark.parametrize(
    ("texts", "messages"),
    [
        (["no-such=1"], ["no-such=1 names no GPU of the catalogue"]),
        ([f"T4={MOST_SPARE + 1}"], ["expected TYPE=N, N up to"]),
        (["T4=²"], ["expected TYPE=N, N up to"]),
        (["T4="], ["expected TYPE=N, N up to"]),
        (["T4=-1", "T4=n/x"], ["expected TYPE=N, N up to", "expected TYPE=N, N up to"]),
        (["T4=1", "T4=2"], ["stands there twice"]),
        (["T4=n/1", "T4=n/1", f"{A100}=n/1"], ["stands there twice"]),
    ],
)
def test_whatever_is_none_of_these_is_named_and_all_of_it(texts, messages):
    with pytest.raises(InputError) as error:
        parse_spare(texts)
    assert len(error.value.findings) == len(messages)
    for finding, message in zip(error.value.findings, messages, strict=True):
        assert message in str(finding)


def test_a_named_gpu_that_is_in_use_is_not_idle():
    old = plan_of(
        gpu_of(f"{A100}/0", partition_of(None, "a", 1), node="n1", index=0),
        gpu_of(f"{A100}/1", partition_of(None, "b", 1)),
    )
    refuse_used(IdleGpus({A100: 1}, ((A100, "n1", 1), (A100, "n2", 0))), old, "old.json")
    with pytest.raises(InputError, match=f"is {A100}/0 of old.json, which is in use") as error:
        refuse_used(IdleGpus({}, ((A100, "n1", 0), (A100, "n1", 1))), old, "old.json")
    assert len(error.value.findings) == 1


def test_plans_without_gpus_and_those_that_hold_too_much_are_refused_together():
    good = plan_of(gpu_of(f"{A100}/0", partition_of(60, "a", 1), partition_of(40, "b", 1)))
    refuse_unusable({"old.json": good, "new.json": good})
    full = plan_of(gpu_of(f"{A100}/0", partition_of(60, "a", 1), partition_of(60, "b", 1)))
    shared, other = good.gpus[0].partitions
    both = {"serves": (*shared.serves, *other.serves)}
    rounds = plan_of(gpu_of(f"{A100}/0", shared.model_copy(update={**both, "duty_cycle_ms": 10.0})))
    refuse_unusable({"rounds.json": rounds})
    two = plan_of(gpu_of(f"{A100}/0", shared.model_copy(update=both)))
    with pytest.raises(InputError) as error:
        refuse_unusable({"empty.json": plan_of(), "full.json": full, "two.json": two, "good.json": good})
    said = [str(finding) for finding in error.value.findings]
    assert any("empty.json" in one and "there is nothing to come from or go to" in one for one in said)
    assert any("full.json" in one and "gpus[0].partitions" in one for one in said)
    assert any("two.json" in one and "without a duty cycle a partition serves one" in one for one in said)
    assert not any("good.json" in one for one in said)
