"""The steps from any state to any other reach it, and leave alone what stays."""

from agent_states import node_pairs
from hypothesis import given, settings

from sliceplan.agent.devices.simulated import SimulatedNode
from sliceplan.agent.dry_run import dry_run, resets_needed
from sliceplan.agent.node import GpuState, Instance
from sliceplan.agent.steps import CreateInstance, DestroyInstance, StopMps, steps_between


@settings(max_examples=300, deadline=None)
@given(node_pairs())
def test_steps_reach_exactly_the_desired_state(pair):
    """Property: from any legal state to any other, no step is refused and the state read back is the desired one."""
    tried = dry_run(*pair)
    assert tried.reached, (pair, tried)


@settings(max_examples=200, deadline=None)
@given(node_pairs())
def test_an_instance_that_stays_keeps_its_uuid(pair):
    """Property: instances with the same profile and start before and after are not made anew."""
    current, desired = pair
    node = SimulatedNode.in_state(current)
    before = {index: node.uuids(index) for index in current}
    for step in steps_between(current, desired, resets_needed(current)):
        node.apply(step)
    for index, state in current.items():
        for instance in state.instances & desired[index].instances:
            assert node.uuids(index)[instance.start] == before[index][instance.start]


def test_equal_states_take_no_step():
    state = {0: GpuState("A100-80GB", True, frozenset({Instance(4, "3g.40gb", 2)}))}
    assert steps_between(state, state) == []


def test_a_change_of_processes_touches_only_the_mps_daemon():
    before = {0: GpuState("A100-80GB", True, frozenset({Instance(4, "3g.40gb", 2)}))}
    after = {0: GpuState("A100-80GB", True, frozenset({Instance(4, "3g.40gb", 1)}))}
    assert steps_between(before, after) == [StopMps(0, "3g.40gb", 4)]


def test_what_goes_makes_room_before_what_comes():
    before = {0: GpuState("A100-80GB", True, frozenset({Instance(0, "7g.80gb")}))}
    after = {0: GpuState("A100-80GB", True, frozenset({Instance(4, "3g.40gb")}))}
    steps = steps_between(before, after)
    assert steps.index(DestroyInstance(0, "7g.80gb", 0)) < steps.index(CreateInstance(0, "3g.40gb", 4))


def test_a_state_that_cannot_be_is_said_to_be_so():
    twice = frozenset({Instance(0, "7g.80gb"), Instance(4, "3g.40gb")})
    tried = dry_run({0: GpuState("A100-80GB", True, twice)}, {0: GpuState("A100-80GB", True)})
    assert "the current state cannot be" in tried.refused
