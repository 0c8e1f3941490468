"""The steps from any state to any other reach it, and leave alone what stays."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from support.agent_states import node_pairs

from sliceplan.agent.devices.simulated.node import AT_ONCE_S, SimulatedNode
from sliceplan.agent.model.differences import differences
from sliceplan.agent.model.live import settled
from sliceplan.agent.model.node import GpuState, Instance, Service
from sliceplan.agent.model.steps import (
    CheckHealth,
    CreateComputeInstance,
    CreateInstance,
    DestroyComputeInstance,
    DestroyInstance,
    ResetGpu,
    ServiceStep,
    SetMigMode,
    StartMps,
    StartService,
    StopMps,
    StopService,
    steps_between,
)
from sliceplan.agent.transition.dry_run import dry_run, resets_needed


def whole(*services, gpu="A100-80GB"):
    """A GPU with services and MIG off."""
    return {0: GpuState(gpu, False, services=frozenset(services))}


def cut(*instances, services=()):
    """An A100 with MIG instances."""
    return {0: GpuState("A100-80GB", True, frozenset(instances), frozenset(services))}


def live(state):
    return SimulatedNode.in_state(state).state()


def steps(before, after):
    return steps_between(live(before), after, resets_needed(after))


@settings(max_examples=300, deadline=None)
@given(node_pairs())
def test_steps_reach_exactly_the_desired_state(pair):
    """Property: from any legal state to any other, no step is refused and the state read back is the desired one."""
    current, desired = pair
    tried = dry_run(live(current), desired)
    assert tried.reached, (pair, tried)


@settings(max_examples=200, deadline=None)
@given(node_pairs())
def test_what_stays_is_not_touched(pair):
    """Property: what is the same before and after keeps its UUID or its process ids; no step names a kept service."""
    current, desired = pair
    node = SimulatedNode.in_state(current)
    before = node.state()
    planned = steps_between(before, desired, resets_needed(desired))
    for step in planned:
        node.apply(step, AT_ONCE_S)
    touched = {(step.gpu_index, step.service) for step in planned if isinstance(step, ServiceStep)}
    for index, state in current.items():
        after = {one.start: one.uuid for one in node.state()[index].instances}
        same = {(i.start, i.profile) for i in state.instances & desired[index].instances}
        for instance in before[index].instances:
            if (instance.start, instance.profile) in same:
                assert after[instance.start] == instance.uuid
        pids = {one.service: one.pids for one in node.state()[index].services}
        for running in before[index].services:
            if running.service in desired[index].services and (index, running.service) not in touched:
                assert pids[running.service] == running.pids


@settings(max_examples=200, deadline=None)
@given(node_pairs())
def test_a_service_restarts_only_if_its_settings_its_device_or_its_daemon_change(pair):
    """Property: a service that is the same before and after stops only where its slot or its daemon does not stay."""
    current, desired = pair
    planned = steps(current, desired)
    stopped = {(step.gpu_index, step.service) for step in planned if isinstance(step, StopService)}
    for index, state in current.items():
        for service in state.services & desired[index].services:
            slot_stays = service.start is None or state.instances & desired[index].instances & {
                one for one in state.instances if one.start == service.start
            }
            daemon_stays = (service.start in state.mps_starts) == (service.start in desired[index].mps_starts)
            assert ((index, service) in stopped) == (not (slot_stays and daemon_stays))


@settings(max_examples=100, deadline=None)
@given(node_pairs())
def test_a_state_reached_takes_no_further_step(pair):
    """Property: no step leads from a state to itself, and what settles of it is that state."""
    _, desired = pair
    assert steps_between(live(desired), desired) == []
    assert settled(live(desired)) == desired
    assert differences(live(desired), desired) == []


def test_a_change_of_processes_leaves_the_instance_alone():
    before = cut(Instance(4, "3g.40gb"), services=[Service("a", 4, processes=2)])
    after = cut(Instance(4, "3g.40gb"), services=[Service("a", 4, processes=1)])
    assert steps(before, after) == [
        StopService(0, Service("a", 4, processes=2)),
        StopMps(0, 4),
        StartService(0, Service("a", 4)),
        CheckHealth(0, Service("a", 4)),
    ]


def test_what_goes_makes_room_before_what_comes():
    assert steps(cut(Instance(0, "7g.80gb")), cut(Instance(4, "3g.40gb"))) == [
        DestroyComputeInstance(0, "7g.80gb", 0),
        DestroyInstance(0, "7g.80gb", 0),
        CreateInstance(0, "3g.40gb", 4),
        CreateComputeInstance(0, "3g.40gb", 4),
    ]


def test_a_change_of_percentage_restarts_that_service_alone():
    other, share = Service("bert", sm_percent=50.0), Service("vgg", sm_percent=25.0)
    changed = replace(share, sm_percent=37.5)
    assert steps(whole(other, share), whole(other, changed)) == [
        StopService(0, share),
        StartService(0, changed),
        CheckHealth(0, changed),
    ]


def test_services_replace_each_other_behind_the_same_daemon():
    gone, new = Service("bert", sm_percent=50.0), Service("vgg", sm_percent=25.0)
    planned = steps(whole(gone), whole(new))
    assert planned == [StopService(0, gone), StartService(0, new), CheckHealth(0, new)]


def test_the_daemon_quits_before_mig_is_switched_on():
    share = Service("bert", sm_percent=50.0)
    assert steps(whole(share), cut(Instance(0, "7g.80gb"))) == [
        StopService(0, share),
        StopMps(0, None),
        SetMigMode(0, True),
        ResetGpu(0),
        CreateInstance(0, "7g.80gb", 0),
        CreateComputeInstance(0, "7g.80gb", 0),
    ]


def test_the_daemon_starts_after_mig_is_switched_off():
    share = Service("bert", sm_percent=50.0)
    assert steps(cut(Instance(0, "7g.80gb")), whole(share)) == [
        DestroyComputeInstance(0, "7g.80gb", 0),
        DestroyInstance(0, "7g.80gb", 0),
        SetMigMode(0, False),
        ResetGpu(0),
        StartMps(0, None),
        StartService(0, share),
        CheckHealth(0, share),
    ]


def test_gpus_whose_mode_changes_come_first():
    before = {i: GpuState("H100-80GB-SXM", i == 0) for i in (0, 1)}
    after = {i: GpuState("H100-80GB-SXM", True, frozenset({Instance(0, "7g.80gb")})) for i in (0, 1)}
    assert [step.gpu_index for step in steps(before, after)] == [1, 1, 1, 0, 0]


def test_processes_may_move_from_one_service_to_another_where_both_together_pass_the_limit():
    one, two = Service("a", processes=8, sm_percent=50.0), Service("b", processes=40, sm_percent=50.0)
    after = whole(replace(one, processes=40), replace(two, processes=8))
    assert dry_run(live(whole(one, two)), after).reached


def test_gpus_that_are_not_wanted_are_left_alone():
    before = whole(Service("bert")) | {1: GpuState("A100-80GB", True, frozenset({Instance(0, "7g.80gb")}))}
    assert steps(before, whole(Service("bert"))) == []


@pytest.mark.parametrize(
    ("done", "expected"),
    [
        ([CreateInstance(0, "3g.40gb", 4)], [CreateComputeInstance(0, "3g.40gb", 4)]),
        ([CreateInstance(0, "2g.20gb", 4)], [DestroyInstance(0, "2g.20gb", 4), CreateInstance(0, "3g.40gb", 4)]),
    ],
)
def test_a_gpu_instance_left_without_its_compute_instance_is_finished_or_destroyed(done, expected):
    node = SimulatedNode.in_state(cut())
    for step in done:
        node.apply(step, AT_ONCE_S)
    assert steps_between(node.state(), cut(Instance(4, "3g.40gb")))[: len(expected)] == expected


def test_a_mode_that_waits_for_a_reset_is_taken_back_without_one():
    node = SimulatedNode.in_state(whole())
    node.apply(SetMigMode(0, True), AT_ONCE_S)
    assert steps_between(node.state(), whole(), [0]) == [SetMigMode(0, False)]
    assert steps_between(node.state(), cut(), [0]) == [ResetGpu(0)]


def test_a_daemon_that_died_restarts_with_its_services():
    share = Service("bert", sm_percent=50.0)
    before = live(whole(share))
    before = {0: replace(before[0], daemons=())}
    assert steps_between(before, whole(share)) == [
        StopService(0, share),
        StartMps(0, None),
        StartService(0, share),
        CheckHealth(0, share),
    ]


def test_a_service_whose_instance_lost_its_compute_instance_restarts_on_a_new_one():
    one = Service("a", 4)
    state = cut(Instance(4, "3g.40gb"), services=[one])
    (gpu,) = live(state).values()
    bare = {0: replace(gpu, instances=(replace(gpu.instances[0], uuid=None, ci_ids=()),))}
    assert steps_between(bare, state) == [
        StopService(0, one),
        CreateComputeInstance(0, "3g.40gb", 4),
        StartService(0, one),
        CheckHealth(0, one),
    ]


def test_what_is_left_over_or_missing_is_a_difference():
    share = Service("bert", sm_percent=50.0)
    assert differences(live(whole(share)), whole()) == [
        "GPU 0: the MPS daemon of the whole GPU is left over",
        "GPU 0: bert at 50 % is left over",
    ]
    missing = differences(live(whole()), whole(share))
    assert missing == ["GPU 0: the MPS daemon of the whole GPU is missing", "GPU 0: bert at 50 % is missing"]
    assert differences({}, whole()) == ["GPU 0: is missing"]
    node = SimulatedNode.in_state(cut())
    node.apply(CreateInstance(0, "3g.40gb", 4), AT_ONCE_S)
    assert differences(node.state(), cut(Instance(4, "3g.40gb"))) == ["GPU 0: 3g.40gb at 4 has no compute instance"]


def test_a_service_that_is_not_healthy_restarts():
    state = whole(Service("bert"))
    (gpu,) = live(state).values()
    sick = {0: replace(gpu, services=(replace(gpu.services[0], healthy=False),))}
    one = Service("bert")
    assert steps_between(sick, state) == [StopService(0, one), StartService(0, one), CheckHealth(0, one)]
    assert differences(sick, state) == ["GPU 0: bert is not healthy"]
