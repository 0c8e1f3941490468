"""Every way in which a GPU can differ from what is wanted of it has a sentence of its own."""

from dataclasses import replace

import pytest

from sliceplan.agent.devices.simulated.node import SimulatedNode
from sliceplan.agent.model.core_services import CoreService, CpuState
from sliceplan.agent.model.differences import differences
from sliceplan.agent.model.live import LiveCpu, MpsDaemon, RunningOnCores
from sliceplan.agent.model.node import GpuState, Instance, Service

HOPPER = "H100-80GB-SXM"
SMALL, LARGE = Instance(0, "1g.10gb"), Instance(4, "3g.40gb")
A, B = Service("a", 4, sm_percent=50.0, processes=2), Service("b", 0)
WANTED = GpuState(HOPPER, True, frozenset({SMALL, LARGE}), frozenset({A, B}))


def found(wanted=WANTED, **fields):
    """Returns how a node in the state WANTED, with other fields, differs from a state."""
    live = SimulatedNode.in_state({0: WANTED}).state()
    return differences({0: replace(live[0], **fields)}, {0: wanted})


def test_what_is_as_wanted_differs_in_nothing_and_other_gpus_are_not_looked_at():
    assert found() == []
    live = SimulatedNode.in_state({0: WANTED, 1: WANTED}).state()
    assert differences(live, {0: WANTED}) == []
    assert differences(live, {2: WANTED}) == ["GPU 2: is missing"]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"gpu": "A100-80GB"}, "is a A100-80GB, not a H100-80GB-SXM"),
        ({"mig_enabled": False, "mig_pending": False}, "MIG mode is off"),
        ({"mig_pending": False}, "MIG mode turns off with the next reset"),
        ({"daemons": ()}, "is missing"),
        ({"daemons": (MpsDaemon(0, 1), MpsDaemon(4, 2))}, "is left over"),
    ],
)
def test_what_a_gpu_is_otherwise_is_said(fields, said):
    (one,) = found(**fields)
    assert one.startswith("GPU 0: ")
    assert said in one


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"instances": frozenset({LARGE})}, ["1g.10gb at 0 is left over"]),
        ({"instances": frozenset({SMALL, LARGE, Instance(1, "1g.10gb")})}, ["1g.10gb at 1 is missing"]),
        ({"services": frozenset({A})}, ["b in 1g.10gb at 0 is left over", "b is left over", "b in"]),
        ({"services": frozenset({A, B, Service("c", 0)})}, ["c in 1g.10gb at 0 is missing", "c is missing", "c in"]),
    ],
)
def test_what_is_wanted_otherwise_is_said(change, said):
    (one,) = found(replace(WANTED, **change))
    assert any(words in one for words in said)


def test_an_instance_without_its_compute_instance_and_a_service_that_is_ill_are_not_as_wanted():
    live = SimulatedNode.in_state({0: WANTED}).state()[0]
    bare = tuple(replace(one, uuid=None, ci_ids=()) if one.start == 0 else one for one in live.instances)
    assert found(instances=bare) == ["GPU 0: 1g.10gb at 0 has no compute instance"]
    ill = tuple(replace(one, healthy=False) if one.service == A else one for one in live.services)
    (said,) = found(services=ill)
    assert said.endswith("is not healthy")
    assert "a" in said
    assert "50 %" in said


ON_CORES, ELSEWHERE = CoreService("a", 0, 4), CoreService("b", 4, 4)


@pytest.mark.parametrize(
    ("fields", "wanted", "said"),
    [
        ({}, ON_CORES, []),
        ({"healthy": True}, ON_CORES, []),
        ({"healthy": False}, ON_CORES, ["a on cores 0-3 is not healthy"]),
        ({"found_on": "0-7"}, ON_CORES, ["a on cores 0-3 is not confined to them: 0-7"]),
        ({"healthy": False}, ELSEWHERE, ["b on cores 4-7 is missing", "a on cores 0-3 is left over"]),
    ],
)
def test_what_a_cpu_runs_otherwise_is_said(monkeypatch, fields, wanted, said):
    monkeypatch.setattr("sliceplan.agent.model.differences.unlike", lambda *_: [])
    live = {"cpu0": LiveCpu((), (RunningOnCores("a-cpu0", ON_CORES, (1,), **fields),))}
    assert differences(live, {"cpu0": CpuState("EPYC-9R14", frozenset({wanted}))}) == [f"CPU 0: {one}" for one in said]


def test_a_service_that_is_ill_and_not_wanted_is_left_over_alone():
    live = SimulatedNode.in_state({0: WANTED}).state()[0]
    ill = tuple(replace(one, healthy=False) if one.service == B else one for one in live.services)
    (said,) = found(replace(WANTED, services=frozenset({A})), services=ill)
    assert said == "GPU 0: b in the instance at 0 is left over"
