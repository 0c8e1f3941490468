"""What a plan wants of a GPU, and what no board can hold."""

import pytest
from problems.instances import ROOT

from sliceplan.agent.model.board import MOST_GPUS, beyond_the_board
from sliceplan.agent.model.core_services import CpuState
from sliceplan.agent.model.node import Round, gpu_states, planned_state
from sliceplan.solver.formats.plan_files import read_plan

(GPU, *_) = read_plan(ROOT / "plans" / "igniter.plan.json").gpus


def test_replicas_are_numbered_alike_whatever_the_order_and_whether_their_memory_is_known():
    first = GPU.partitions[0]
    parts = [
        first.model_copy(update={"serves": (first.serves[0].model_copy(update={"memory_mib": memory_mib}),)})
        for memory_mib in (None, 500.0, 200.0)
    ]
    wanted = [
        planned_state(GPU.model_copy(update={"partitions": tuple(order)})).services
        for order in (parts, parts[::-1], [parts[1], parts[2], parts[0]])
    ]
    assert wanted[0] == wanted[1] == wanted[2]
    assert {(one.replica, one.memory_mib) for one in wanted[0]} == {(1, None), (2, 200.0), (3, 500.0)}


@pytest.mark.parametrize(("index", "is_wrong"), [(None, False), (MOST_GPUS - 1, False), (MOST_GPUS, True)])
def test_a_node_has_no_more_gpus_than_an_agent_looks_for(index, is_wrong):
    said = list(beyond_the_board(GPU.model_copy(update={"index": index}), "gpus[0]"))
    assert any(path == "gpus[0].index" for path, _ in said) == is_wrong


def test_replicas_are_numbered_by_their_caps_and_rounds_where_nothing_else_differs():
    """A cap or a round that is not there comes first, and never stands in the way of the order."""
    (served,) = GPU.partitions[0].serves
    none = GPU.partitions[0].model_copy(update={"sm_percent": None})
    parts = [
        none.model_copy(update={"sm_percent": 20.0}),
        none,
        *(none.model_copy(update={"duty_cycle_ms": ms, "turns": turns}) for ms, turns in ((40.0, "any"), (30.0, None))),
    ]
    wanted = [
        planned_state(GPU.model_copy(update={"partitions": tuple(some)})).services for some in (parts, parts[::-1])
    ]
    assert wanted[0] == wanted[1]
    found = {one.replica: (one.sm_percent, one.round) for one in wanted[0]}
    names = (served.workload,)
    assert found == {
        1: (None, None),
        2: (None, Round(30.0, "fixed", names)),
        3: (None, Round(40.0, "any", names)),
        4: (20.0, None),
    }


@pytest.mark.parametrize("missing", ["mig_profile", "start"])
def test_a_partition_of_a_mig_gpu_has_a_profile_and_a_start(missing):
    fields = {"mig_profile": "3g.40gb", "start": 0, missing: None}
    gpu = GPU.model_copy(update={"sharing": "mig", "partitions": (GPU.partitions[0].model_copy(update=fields),)})
    with pytest.raises(ValueError, match="no MIG profile or no start"):
        planned_state(gpu)


def test_gpus_are_known_from_cpus_by_their_keys():
    gpu = planned_state(GPU)
    assert gpu_states({0: gpu, "cpu0": CpuState("EPYC-9R14")}) == {0: gpu}


@pytest.mark.parametrize(
    ("field", "most", "shown"),
    [("batch", 2**20, "1.04858e+06"), ("latency_ms", 86_400_000.0, "8.64e+07"), ("rate_rps", 1e12, "1e+12")],
)
def test_what_no_board_does_is_named_by_its_field(field, most, shown):
    for value, is_wrong in ((most, False), (most * 2, True)):
        partition = GPU.partitions[0]
        served = partition.serves[0].model_copy(update={field: value})
        gpu = GPU.model_copy(update={"partitions": (partition.model_copy(update={"serves": (served,)}),)})
        said = [one for one in beyond_the_board(gpu, "gpus[0]") if one[0].endswith(field)]
        expected = [(f"gpus[0].partitions[0].serves[0].{field}", f"is {value:g}; expected at most {shown}")]
        assert said == (expected if is_wrong else [])


@pytest.mark.parametrize(("processes", "is_wrong"), [(8, False), (9, True)])
def test_cores_run_as_many_processes_as_they_have_threads(processes, is_wrong):
    (served,) = GPU.partitions[0].serves
    own = served.model_copy(update={"processes": processes})
    partition = GPU.partitions[0].model_copy(update={"cores": 8, "start": 0, "sm_percent": None, "serves": (own,)})
    cpu = GPU.model_copy(update={"gpu": "EPYC-9R14", "sharing": "cores", "partitions": (partition,)})
    said = [message for path, message in beyond_the_board(cpu, "x") if path.endswith("processes")]
    assert said == ([f"is {processes}; 8 cores of EPYC-9R14 have 8 threads"] if is_wrong else [])


@pytest.mark.parametrize(
    ("profile", "processes", "mib", "words"),
    [
        ("1g.10gb", 6, 1621.0, None),
        ("1g.10gb", 7, 1.0, "has 7 processes; 1g.10gb of A100-80GB takes at most 6 MPS clients"),
        ("1g.10gb", 2, 4865.0, "takes 9730 MiB of memory; 1g.10gb of A100-80GB has 9728 MiB"),
        ("1g.10gb", 6, None, None),
        (None, 48, None, None),
        (None, 49, None, "has 49 processes; A100-80GB takes at most 48 MPS clients"),
        (None, 1, 99_999.0, "takes 99999 MiB of memory; A100-80GB has 81162.2 MiB"),
    ],
)
def test_processes_of_a_slot_share_its_clients_and_its_memory(profile, processes, mib, words):
    (served,) = GPU.partitions[0].serves
    own = served.model_copy(update={"processes": processes, "memory_mib": mib})
    fields = {"mig_profile": profile, "start": None if profile is None else 0, "sm_percent": None, "serves": (own,)}
    gpu = GPU.model_copy(
        update={
            "gpu": "A100-80GB",
            "sharing": "mig" if profile else "exclusive",
            "partitions": (GPU.partitions[0].model_copy(update=fields),),
        }
    )
    where = "x.partitions[0]" if profile else "x"
    assert list(beyond_the_board(gpu, "x")) == ([(where, words)] if words else [])
