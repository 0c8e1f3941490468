"""How much is wanted of a node, and how much of it is there."""

from types import SimpleNamespace

import pytest
from support.agent_core_states import live_cpu

from sliceplan.agent.devices.simulated.node import SimulatedNode
from sliceplan.agent.model.core_services import CoreService, CpuState
from sliceplan.agent.model.node import GpuState, Instance, Round, Service
from sliceplan.agent.showing import terminal
from sliceplan.agent.showing.commands import MPS_NOTES, TURN_NOTES
from sliceplan.agent.showing.core_commands import CORE_NOTES
from sliceplan.agent.showing.terminal import _summary, transition_data, transition_text
from sliceplan.agent.transition.preflight import plan_transition


def state(instances, services):
    return GpuState("A100-80GB", True, frozenset(instances), frozenset(services))


@pytest.mark.parametrize(
    ("live", "lines"),
    [
        ({}, ["Node n: 2 MIG instances and 3 services on 2 GPUs."]),
        # What is on a GPU that is not wanted, or on another one than it should be, is not there.
        ({0: state("x", "c"), 7: state("i", "ab")}, ["Node n: 2 MIG instances and 3 services on 2 GPUs."]),
        (
            {1: state("j", "xc")},
            ["Node n: 2 MIG instances and 3 services on 2 GPUs.", "There already: 1 MIG instance and 1 service."],
        ),
        (
            {0: state("", "ab"), 1: state("", "c")},
            ["Node n: 2 MIG instances and 3 services on 2 GPUs.", "There already: 3 services."],
        ),
        (
            {0: state("i", "")},
            ["Node n: 2 MIG instances and 3 services on 2 GPUs.", "There already: 1 MIG instance and 0 services."],
        ),
    ],
)
def test_what_is_there_already_is_what_is_wanted_on_the_same_gpu(monkeypatch, live, lines):
    monkeypatch.setattr(terminal, "settled", lambda live, _: live)
    wanted = {0: state("i", "ab"), 1: state("j", "c")}
    assert list(_summary("n", SimpleNamespace(new=wanted, live=live))) == lines


def text_of(live, wanted):
    transition = plan_transition(SimulatedNode.in_state(live).state(), wanted)
    return list(transition_text("n1", transition)), transition_data("n1", transition)


def test_what_is_risky_comes_before_the_steps_and_what_is_in_no_plan_is_named():
    off = GpuState("A100-80GB", False)
    wanted = {0: GpuState("A100-80GB", True, frozenset({Instance(0, "1g.10gb")}), frozenset({Service("a", 0)}))}
    lines, data = text_of({0: off, 1: off, 2: off}, wanted)
    assert lines[:7] == [
        "Node n1: 1 MIG instance and 1 service on 1 GPU.",
        "! MIG mode changes on GPU 0: stop everything that runs there first.",
        "! Reset of GPU 0: every process there must have ended.",
        "GPU 1, 2: in no plan, left alone.",
        "",
        "!  1. GPU 0: switch MIG on; the GPU must be idle",
        "       nvidia-smi -i 0 -mig 1",
    ]
    assert lines[-4:] == [
        "",
        "`gi`, `uuid` and `gpu_uuid` read ids on the node; they are in what",
        "`sliceplan export --format commands` writes.",
        "Tried on a simulated node: the steps reach exactly the planned state.",
    ]
    assert (data["version"], data["interrupted_gpus"], data["reached"]) == (1, [0], True)


def test_a_node_that_has_its_plan_has_nothing_risky_and_nothing_to_do():
    off = {0: GpuState("A100-80GB", False)}
    lines, _ = text_of(off, off)
    assert lines == [
        "Node n1: 0 services on 1 GPU.",
        "",
        "The node has the planned state already; there is nothing to do.",
    ]


@pytest.mark.parametrize(
    ("services", "notes"),
    [
        ((Service("a"),), ()),
        ((Service("a"), Service("b", sm_percent=50.0)), MPS_NOTES),
        ((Service("a"), Service("b", round=Round(40.0, "any", ("b",)))), TURN_NOTES),
    ],
)
def test_one_service_with_a_cap_or_a_turn_is_enough_for_what_a_person_must_know(services, notes):
    lines, _ = text_of({0: GpuState("T4", False)}, {0: GpuState("T4", False, services=frozenset(services))})
    assert [line for line in lines if line in (*MPS_NOTES, *TURN_NOTES, *CORE_NOTES)] == list(notes)


@pytest.mark.parametrize(("services", "notes"), [((), ()), ((CoreService("a", 0, 4),), CORE_NOTES)])
def test_a_cpu_without_services_needs_no_note(services, notes):
    live = {"cpu0": live_cpu("EPYC-9R14", ())}
    transition = plan_transition(live, {"cpu0": CpuState("EPYC-9R14", frozenset(services))})
    lines = list(transition_text("n1", transition))
    assert [line for line in lines if line in CORE_NOTES] == list(notes)


@pytest.mark.parametrize(
    "wanted", [{0: GpuState("T4", False)}, {0: GpuState("T4", False, services=frozenset({Service("b")}))}]
)
def test_where_ids_are_read_is_said_where_a_step_is_of_a_gpu_beside_those_of_cores(wanted):
    live = {**SimulatedNode.unused({0: "T4"}).state(), "cpu0": live_cpu("EPYC-9R14", ())}
    core = {"cpu0": CpuState("EPYC-9R14", frozenset({CoreService("a", 0, 4)}))}
    lines = list(transition_text("n1", plan_transition(live, wanted | core)))
    assert ("`gi`, `uuid` and `gpu_uuid` read ids on the node; they are in what" in lines) == bool(wanted[0].services)
