"""The steps from any state to any other reach it, and leave alone what stays."""

from agent_states import node_pairs
from hypothesis import given, settings

from sliceplan.agent.devices.simulated import SimulatedNode
from sliceplan.agent.dry_run import dry_run, resets_needed
from sliceplan.agent.node import GpuState, Instance, Share
from sliceplan.agent.steps import (
    CreateInstance,
    DestroyComputeInstance,
    DestroyInstance,
    ResetGpu,
    RestartService,
    ServiceStep,
    SetMigMode,
    StartGpuMps,
    StartService,
    StopGpuMps,
    StopMps,
    StopService,
    steps_between,
)


def shared(*shares):
    """An A100 that services share by MPS."""
    return {0: GpuState("A100-80GB", False, shares=frozenset(shares))}


def cut(*instances):
    """An A100 with MIG instances."""
    return {0: GpuState("A100-80GB", True, frozenset(instances))}


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


@settings(max_examples=200, deadline=None)
@given(node_pairs())
def test_a_share_that_stays_is_not_touched_and_its_daemon_keeps_running(pair):
    """Property: no step names a share that is the same before and after; a daemon with clients is never replaced."""
    current, desired = pair
    steps = steps_between(current, desired, resets_needed(current))
    touched = {(step.gpu_index, step.share) for step in steps if isinstance(step, ServiceStep)}
    daemons = {step.gpu_index for step in steps if isinstance(step, StartGpuMps | StopGpuMps)}
    for index, state in current.items():
        assert not touched & {(index, share) for share in state.shares & desired[index].shares}
        assert (index in daemons) == (bool(state.shares) != bool(desired[index].shares))


@settings(max_examples=200, deadline=None)
@given(node_pairs())
def test_the_daemon_of_a_whole_gpu_runs_exactly_while_services_share_it(pair):
    """Property: after the steps, the GPUs with a daemon are those with shares."""
    current, desired = pair
    node = SimulatedNode.in_state(current)
    for step in steps_between(current, desired, resets_needed(current)):
        node.apply(step)
    assert node.mps_gpus() == {index for index, state in desired.items() if state.shares}


def test_a_change_of_percentage_restarts_that_service_alone():
    other, share = Share("bert", 50.0), Share("vgg", 25.0)
    changed = Share("vgg", 37.5)
    assert steps_between(shared(other, share), shared(other, changed)) == [RestartService(0, changed)]


def test_services_replace_each_other_behind_the_same_daemon():
    gone, new = Share("bert", 50.0), Share("vgg", 25.0)
    assert steps_between(shared(gone), shared(new)) == [StopService(0, gone), StartService(0, new)]


def test_the_daemon_quits_before_mig_is_switched_on():
    share = Share("bert", 50.0)
    assert steps_between(shared(share), cut(Instance(0, "7g.80gb")), [0]) == [
        StopService(0, share),
        StopGpuMps(0),
        SetMigMode(0, True),
        ResetGpu(0),
        CreateInstance(0, "7g.80gb", 0),
    ]


def test_the_daemon_starts_after_mig_is_switched_off():
    share = Share("bert", 50.0)
    assert steps_between(cut(Instance(0, "7g.80gb")), shared(share), [0]) == [
        DestroyComputeInstance(0, "7g.80gb", 0),
        DestroyInstance(0, "7g.80gb", 0),
        SetMigMode(0, False),
        ResetGpu(0),
        StartGpuMps(0),
        StartService(0, share),
    ]


def test_services_that_give_up_processes_go_first():
    before = shared(Share("a", 50.0, 8), Share("b", 50.0, 40))
    after = shared(Share("a", 50.0, 40), Share("b", 50.0, 8))
    assert [step.share.workload for step in steps_between(before, after)] == ["b", "a"]
    assert dry_run(before, after).reached


def test_a_plan_without_the_gpu_frees_it_of_its_services():
    share = Share("bert", 50.0)
    assert steps_between(shared(share), {}) == [StopService(0, share), StopGpuMps(0)]


def test_a_daemon_or_a_share_left_over_is_a_difference(monkeypatch):
    share = Share("bert", 50.0)
    monkeypatch.setattr("sliceplan.agent.dry_run.steps_between", lambda *_: [StopService(0, share)])
    assert dry_run(shared(share), {}).differences == ("GPU 0: an MPS daemon is left over",)
    monkeypatch.setattr("sliceplan.agent.dry_run.steps_between", lambda *_: [])
    assert "GPU 0: bert at 50 % is left over" in dry_run(shared(share), {}).differences
    assert dry_run({0: GpuState("A100-80GB", False)}, shared(share)).differences == ("GPU 0: bert at 50 % is missing",)
