"""Services that take turns on a partition: the partition is made, each is told its round, and nobody keeps it here."""

import json

import pytest
from problems.small_plans import gpu_of, in_turn, partition_of, plan_of

from sliceplan.agent.devices.simulated.node import SimulatedNode
from sliceplan.agent.model.node import GpuState, Instance, Round, Service, Slot, unused
from sliceplan.agent.model.plan_files import node_share
from sliceplan.agent.model.service_environment import service_environment
from sliceplan.agent.model.step_text import settings_text
from sliceplan.agent.services.records import ServiceRecord, record_of
from sliceplan.agent.showing.script import node_script
from sliceplan.agent.showing.terminal import transition_text
from sliceplan.agent.transition.applied import Applied
from sliceplan.agent.transition.preflight import plan_transition
from sliceplan.agent.transition.records import record_from, record_json
from sliceplan.solver.model.errors import InputError

A100 = "A100-80GB"
AB = in_turn(partition_of("3g.40gb@4", "a", 25), partition_of("3g.40gb@4", "b", 25), turns="any")
CD = in_turn(partition_of(60, "c", 40), partition_of(60, "d", 40), round_ms=25.0)


def on(index, *partitions):
    return gpu_of(f"{A100}/{index}", *partitions, node="n1", index=index)


PLAN = plan_of(on(0, AB), on(1, CD, partition_of(40, "c", 3)))
IN_AB, IN_CD = Round(40, "any", ("a", "b")), Round(25, "fixed", ("c", "d"))


def test_all_of_a_round_are_services_of_its_partition():
    state = node_share(PLAN, "n1", "p.json")
    both = frozenset({Service("a", 4, round=IN_AB), Service("b", 4, round=IN_AB)})
    assert state[0] == GpuState(A100, True, frozenset({Instance(4, "3g.40gb")}), both)
    rounds = {(one.workload, one.replica): (one.round, one.sm_percent) for one in state[1].services}
    assert rounds.pop(("d", 1))[0] == IN_CD
    assert sorted(rounds, key=lambda one: one[1]) == [("c", 1), ("c", 2)]
    assert {one for one, _ in rounds.values()} == {None, IN_CD}


def test_the_steps_reach_it_and_a_changed_round_starts_its_services_anew():
    state = node_share(PLAN, "n1", "p.json")
    node = SimulatedNode.in_state({index: unused(gpu) for index, gpu in state.items()})
    transition = plan_transition(node.state(), state)
    assert transition.impossible == ()
    there = SimulatedNode.in_state(state).state()
    slower = in_turn(partition_of("3g.40gb@4", "a", 20), partition_of("3g.40gb@4", "b", 20), round_ms=50.0, turns="any")
    longer = plan_of(on(0, slower), on(1, *PLAN.gpus[1].partitions))
    steps = plan_transition(there, node_share(longer, "n1", "p.json")).steps
    kinds = ["StopService"] * 2 + ["StartService"] * 2 + ["CheckHealth"] * 2
    assert [type(step).__name__ for step in steps] == kinds


def test_a_server_is_told_its_round_with_and_without_a_daemon():
    told = {"SLICEPLAN_DUTY_CYCLE_MS": "25", "SLICEPLAN_TURNS": "fixed", "SLICEPLAN_ROUND": "c,d"}
    alone = service_environment(Service("c", round=IN_CD), None, "GPU-1")
    assert alone == {"CUDA_VISIBLE_DEVICES": "GPU-1", **told}
    shared = service_environment(Service("c", sm_percent=60.0, round=IN_CD), "/run/x", "GPU-1")
    assert {**shared, **told} == shared
    assert "SLICEPLAN_ROUND" not in service_environment(Service("c"), None, "GPU-1")


def test_who_is_asked_reads_what_nobody_here_keeps():
    state = node_share(PLAN, "n1", "p.json")
    node = SimulatedNode.in_state({index: unused(gpu) for index, gpu in state.items()})
    text = "\n".join(transition_text("n1", plan_transition(node.state(), state)))
    assert "Nothing here keeps their turns" in text
    assert "start a at 4: 1 process, in a round of 40 ms: a and b in any order" in text
    assert "SLICEPLAN_ROUND=c,d" in text
    assert "# Services that take turns have their partition together." in node_script(PLAN, "n1", "p.json")
    assert settings_text(Service("c", round=IN_CD)) == "c: 1 process, in a round of 25 ms: c then d"


@pytest.mark.parametrize("service", [Service("a", 4, round=IN_AB), Service("a", 4)])
def test_a_round_is_remembered_in_the_files_of_the_agent(service):
    state = {0: GpuState(A100, True, frozenset({Instance(4, "3g.40gb")}), frozenset({service}))}
    kept = record_json(Applied("now", state, None, ""))
    assert record_from(Applied, kept, "applied.json").state == state
    record = record_of(Slot(0, 4), service, "MIG-1", "boot", [])
    assert ServiceRecord.model_validate_json(record.model_dump_json()).service == service


def test_files_of_an_agent_that_knew_no_rounds_are_read_as_before():
    service = Service("a", 4)
    state = {0: GpuState(A100, True, frozenset(), frozenset({service}))}
    data = json.loads(record_json(Applied("now", state, None, "")))
    del data["state"]["0"]["services"][0]["round"]
    assert record_from(Applied, json.dumps(data), "applied.json").state == state


@pytest.mark.parametrize("round_ms", [1e-3, 1.0, 39.0, 41.0, 1e300])
def test_a_round_that_its_turns_contradict_is_refused(round_ms):
    plan = plan_of(on(0, AB.model_copy(update={"duty_cycle_ms": round_ms})))
    with pytest.raises(InputError, match=r"capacity_rps is 25; a batch of 1 every .* ms gives"):
        node_share(plan, "n1", "p.json")


def test_a_round_in_which_a_workload_comes_twice_is_refused():
    twice = AB.model_copy(update={"serves": AB.serves[:1] * 2})
    with pytest.raises(InputError, match="a workload has one turn a round"):
        node_share(plan_of(on(0, twice)), "n1", "p.json")
