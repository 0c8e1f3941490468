"""No forged, replayed or malformed plan is taken; each is refused in words. What a board cannot hold is named."""

import pytest
from attacks.forged_plans import Gate, attack, dumped, release

from sliceplan.agent.trust.acceptance import accept
from sliceplan.agent.trust.strict_json import MOST_VALUES
from sliceplan.solver.model.errors import InputError

PLACES = {
    "instance": ("gpus[0].partitions[0]", lambda plan: plan["gpus"][0]["partitions"][0]["serves"][0]),
    "share": ("gpus[1].partitions[0]", lambda plan: plan["gpus"][1]["partitions"][0]["serves"][0]),
    "whole": ("gpus[2].partitions[0]", lambda plan: plan["gpus"][2]["partitions"][0]["serves"][0]),
}


@pytest.fixture(scope="module")
def gate():
    return Gate()


def refused(gate, edit):
    """Returns what is said of a plan that somebody with the trusted key has changed."""
    data = release()
    edit(data["plan"])
    with pytest.raises(InputError) as caught:
        accept(gate.sealed(dumped(data)), "signed.json", node="n1", keys=gate.trusted, newest=gate.newest)
    return str(caught.value)


def test_no_forged_replayed_or_malformed_plan_is_taken():
    """A tenth of them; the program forged_plans.py tries 10,000 and looks at the time, too."""
    tried, _ = attack(600)
    assert min(tried[kind] for kind in ("forged", "replayed", "malformed")) == 200
    assert len(tried) == 3 + 17


@pytest.mark.parametrize(
    ("place", "processes", "message"),
    [
        ("instance", 10**15, "has 1000000000000000 processes; 3g.40gb of A100-80GB takes at most 20 MPS clients"),
        ("instance", 21, "has 21 processes; 3g.40gb of A100-80GB takes at most 20 MPS clients"),
        ("share", 47, "gpus[1] has 49 processes; A100-80GB takes at most 48 MPS clients"),
        ("whole", 49, "gpus[2] has 49 processes; A100-80GB takes at most 48 MPS clients"),
    ],
)
def test_more_processes_than_a_slot_has_clients_are_refused(gate, place, processes, message):
    assert message in refused(gate, lambda plan: PLACES[place][1](plan).update(processes=processes, memory_mib=None))


def test_as_many_processes_as_a_slot_has_clients_are_taken(gate):
    data = release()
    for place, processes in (("instance", 20), ("whole", 48)):
        PLACES[place][1](data["plan"])["processes"] = processes
    assert gate.takes(gate.sealed(dumped(data)))


@pytest.mark.parametrize(
    ("place", "field", "value", "message"),
    [
        ("instance", "batch", 2**20 + 1, "partitions[0].serves[0].batch is 1.04858e+06; expected at most 1.04858e+06"),
        ("whole", "latency_ms", 9e7, "serves[0].latency_ms is 9e+07; expected at most 8.64e+07"),
        ("share", "capacity_rps", 1e13, "serves[0].capacity_rps is 1e+13; expected at most 1e+12"),
        ("share", "rate_rps", 1e13, "serves[0].rate_rps is 1e+13; expected at most 1e+12"),
        ("share", "memory_mib", 40_000.0, "gpus[1] takes 96000 MiB of memory; A100-80GB has 81162.2 MiB"),
        ("instance", "memory_mib", 30_000.0, "takes 60000 MiB of memory; 3g.40gb of A100-80GB has "),
    ],
)
def test_what_is_beyond_the_board_is_named(gate, place, field, value, message):
    assert message in refused(gate, lambda plan: PLACES[place][1](plan).update({field: value}))


def test_an_index_that_no_node_has_is_named(gate):
    assert "gpus[1].index is 255; no node has more than 255 GPUs" in refused(
        gate, lambda plan: plan["gpus"][1].update(index=255)
    )


def test_many_instances_that_overlap_are_each_named_once_and_cut(gate):
    """Every pair was a finding: 500 instances made 17,000, and 10,000 would have taken minutes."""
    text = refused(gate, lambda plan: plan["gpus"][0].update(partitions=plan["gpus"][0]["partitions"][:1] * 2000))
    assert "partitions[1] (3g.40gb at 0) overlaps partitions[0] (3g.40gb at 0)" in text
    assert "and 1952 more findings of this kind" in text
    assert len(text.splitlines()) == 51


def test_a_text_of_a_megabyte_is_not_shown(gate):
    assert len(refused(gate, lambda plan: plan["gpus"][0].update(gpu="x" * 10**6))) < 1000
    assert len(refused(gate, lambda plan: plan["gpus"][0].update(node="x" * 10**6))) < 1000


def test_a_release_of_too_many_values_is_refused_before_they_are_built(gate):
    text = refused(gate, lambda plan: plan.update(warnings=[0] * MOST_VALUES))
    assert f"has more than {MOST_VALUES} values" in text
