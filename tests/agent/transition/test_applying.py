"""A transition ends in the new state or in the old one, and says why; only a rollback that fails leaves another."""

import json
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from support.agent_states import random_live, random_pair
from support.system_calls import text_of, watched

from sliceplan.agent.devices.simulated.injection import FOREIGN_PID, Injection
from sliceplan.agent.devices.simulated.node import AT_ONCE_S, SimulatedNode
from sliceplan.agent.model.desired import PlanReference
from sliceplan.agent.model.device_error import DeviceError
from sliceplan.agent.model.differences import differences
from sliceplan.agent.model.live import instance_uuids
from sliceplan.agent.model.node import GpuState, Instance, Service, Slot
from sliceplan.agent.model.steps import CreateInstance, StopService
from sliceplan.agent.transition.applied import read_applied
from sliceplan.agent.transition.applying import apply_transition, discard, resume, undo
from sliceplan.agent.transition.checkpoint import read_checkpoint
from sliceplan.agent.transition.journal import Done, Failed, Intended, TurnedBack, read_journal, unfinished
from sliceplan.agent.transition.preflight import plan_transition
from sliceplan.agent.transition.session import Patience, Session
from sliceplan.agent.transition.state_folder import StateFolder
from sliceplan.agent.transition.step_executor import _refresh, step_text
from sliceplan.solver.model.errors import Finding, InputError

PLAN = PlanReference("plan.json", "1" * 64)
NEXT_PLAN = PlanReference("plan.json", "2" * 64)

REASONS = {
    "busy": "in use by another client by pid 31337",
    "insufficient_resources": "NVML_ERROR_INSUFFICIENT_RESOURCES, 23",
    "driver_error": "NVML_ERROR_UNKNOWN, 999",
    "timeout_before": "NVML_ERROR_TIMEOUT, 10",
    "timeout_after": "NVML_ERROR_TIMEOUT, 10",
    "wrong_uuid": "has the UUID",
    "half_done": "stopped in the middle (NVML_ERROR_UNKNOWN, 999)",
}


def cut(*instances, services=()):
    return {0: GpuState("A100-80GB", True, frozenset(instances), frozenset(services))}


TWO = cut(Instance(0, "3g.40gb"), Instance(4, "3g.40gb"), services=[Service("a", 0), Service("b", 4, processes=2)])
ONE = cut(Instance(4, "3g.40gb"), services=[Service("b", 4, processes=2)])
OTHER = cut(Instance(0, "4g.40gb"), Instance(4, "3g.40gb"), services=[Service("b", 4, processes=2)])


@pytest.fixture
def node():
    return SimulatedNode.in_state(TWO)


def bring(session, desired, plan=PLAN):
    transition = plan_transition(session.device.state(), desired, read_applied(session.folder))
    assert not transition.impossible
    return apply_transition(session, transition, plan)


@pytest.fixture
def folder_in_memory():
    """A state folder where syncing takes no time, if there is such a place."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as path:
        yield StateFolder(Path(path))


def test_1000_random_transitions_with_a_failure_each_are_applied_or_rolled_back(folder_in_memory, clock):
    """The failure hits a random step; what it was is in the reason, or in the journal if the step was done anyway."""
    random, folder = Random(20), folder_in_memory
    ends = {"applied": 0, "rolled back": 0}
    number = 0
    while number < 1000:
        current, desired = random_pair(random)
        node = SimulatedNode(random_live(random, current))
        transition = plan_transition(node.state(), desired)
        if not transition.steps:
            continue
        number += 1
        kind = list(REASONS)[number % len(REASONS)]
        before = node.state()
        node.inject(Injection(random.randint(1, len(transition.steps)), kind, times=random.choice([1, 1, 1, 2])))
        said = []
        session = Session(node, folder, say=said.append, sleep=clock.sleep, clock=clock.now)
        outcome = apply_transition(session, transition, PLAN)
        what = (number, kind, transition, outcome, said)
        ends[outcome.end] += 1
        goal = transition.new if outcome.end == "applied" else transition.old
        assert differences(node.state(), goal) == [], what
        after = instance_uuids(node.state())
        for slot, uuid in instance_uuids(before).items():
            instance = Instance(slot.start, before[slot.gpu_index].instance(slot.start).profile)
            if instance in desired[slot.gpu_index].instances:
                assert after[slot] == uuid, what
        if outcome.end == "rolled back":
            assert REASONS[kind] in outcome.reason, what
        elif kind != "wrong_uuid":
            assert any(REASONS[kind] in line for line in said), what
        assert unfinished(folder) is None
    assert min(ends.values()) > 100, ends


def test_every_step_is_in_the_journal_before_it_is_carried_out(node, session_of, folder, monkeypatch):
    """On the way there and on the way back, on the disk and not only in memory."""
    apply, seen = node.apply, []

    def watched(step, timeout_s):
        last = read_journal(folder)[-1]
        assert (type(last), last.step) == (Intended, step_text(step))
        seen.append(step)
        apply(step, timeout_s)

    monkeypatch.setattr(node, "apply", watched)
    node.inject(Injection(5, "driver_error"))
    transition = plan_transition(node.state(), OTHER)
    assert bring(session_of(node), OTHER).end == "rolled back"
    assert seen[:5] == list(transition.steps)
    assert len(seen) > 5


def test_a_uuid_that_changes_on_another_gpu_is_found_at_the_end(session_of, monkeypatch):
    """No step is about it, so no step's own read-back looks there; a service on it would have lost its device."""
    node = SimulatedNode.in_state({0: TWO[0], 1: TWO[0]})
    apply = node.apply

    def meddled(step, timeout_s):
        apply(step, timeout_s)
        if isinstance(step, CreateInstance):
            gpu = node.state()[1]
            other = replace(gpu.instances[0], uuid="MIG-of-somebody-else")
            node._put(1, replace(gpu, instances=(other, *gpu.instances[1:])))

    monkeypatch.setattr(node, "apply", meddled)
    before = node.state()[1].instances[0].uuid
    outcome = bring(session_of(node), {0: OTHER[0], 1: TWO[0]})
    assert outcome.end == "rolled back"
    assert f"GPU 1: the instance at 0 has the UUID MIG-of-somebody-else, not {before} as before" in outcome.reason


def test_a_gpu_that_changes_while_another_one_goes_back_is_found(session_of, monkeypatch):
    node = SimulatedNode.in_state({0: TWO[0], 1: TWO[0]})
    apply = node.apply

    def meddled(step, timeout_s):
        apply(step, timeout_s)
        if isinstance(step, CreateInstance) and step.gpu_index == 1:
            apply(StopService(0, Service("a", 0)), timeout_s)

    monkeypatch.setattr(node, "apply", meddled)
    desired = {0: ONE[0], 1: GpuState("A100-80GB", True)}
    steps = plan_transition(node.state(), desired).steps
    node.inject(Injection(len(steps), "driver_error"))
    outcome = bring(session_of(node), desired)
    assert outcome.end == "stuck"
    assert "and going back failed: GPU 0: a in the instance at 0 is missing" in outcome.reason


def test_a_failure_is_rolled_back_and_names_the_step_the_error_and_its_number(node, session_of):
    node.inject(Injection(2, "insufficient_resources"))
    outcome = bring(session_of(node), OTHER)
    assert outcome.end == "rolled back"
    assert outcome.reason == (
        "GPU 0: empty 3g.40gb at 0: GPU 0: insufficient resources (NVML_ERROR_INSUFFICIENT_RESOURCES, 23)"
    )
    assert differences(node.state(), TWO) == []


def test_a_step_that_failed_is_in_the_journal_with_the_reason_before_anything_is_undone(
    node, session_of, folder, monkeypatch
):
    """Of a transition that is stopped then, who takes it up knows that its last step did not succeed."""
    node.inject(Injection(2, "insufficient_resources"))
    apply, journals = node.apply, []

    def watched(step, timeout_s):
        journals.append(read_journal(folder))
        apply(step, timeout_s)

    monkeypatch.setattr(node, "apply", watched)
    outcome = bring(session_of(node), OTHER)
    (failed,) = (line for line in journals[2] if isinstance(line, Failed))
    assert outcome.reason == f"{failed.step}: {failed.reason}"


def test_a_step_that_timed_out_but_was_carried_out_counts_as_done(node, session_of, folder):
    node.inject(Injection(2, "timeout_after"))
    assert bring(session_of(node), OTHER).end == "applied"
    notes = [line.note for line in read_journal(folder) if isinstance(line, Done) and line.note]
    assert notes == ["GPU 0: no answer within 60 s (NVML_ERROR_TIMEOUT, 10)"]


def test_success_that_the_read_back_does_not_show_is_a_failure(node, session_of, monkeypatch):
    apply = node.apply
    monkeypatch.setattr(node, "apply", lambda step, t: None if isinstance(step, StopService) else apply(step, t))
    outcome = bring(session_of(node), ONE)
    assert outcome.end == "rolled back"
    assert "the driver reported success, but a still runs" in outcome.reason


def test_a_destruction_that_is_refused_as_in_use_is_tried_again(node, session_of, clock):
    node.inject(Injection(2, "busy", times=3))
    assert bring(session_of(node), ONE).end == "applied"
    assert clock.time == 0.5 + 1 + 2


def test_a_service_that_is_not_healthy_fails_the_transition(node, session_of):
    after = cut(*TWO[0].instances, services=[Service("c", 0), Service("b", 4, processes=2)])
    steps = plan_transition(node.state(), after).steps
    node.inject(Injection(len(steps), "unhealthy"))
    outcome = bring(session_of(node), after)
    assert outcome.end == "rolled back"
    assert "wait until c at 0 is healthy: GPU 0: a service did not pass its health check" in outcome.reason
    assert differences(node.state(), TWO) == []


def test_processes_of_others_are_not_waited_for_unless_told(node, session_of):
    node.attach(0, 0, 4711, "python")
    transition = plan_transition(node.state(), ONE)
    assert transition.busy == ("GPU 0: 3g.40gb at 0 is in use by pid 4711 (python)",)
    outcome = apply_transition(session_of(node), transition, PLAN)
    assert outcome.end == "rolled back"
    assert "in use by pid 4711 (python). Stop them, or give them time with --drain" in outcome.reason
    assert differences(node.state(), TWO) == []


def test_processes_of_others_that_leave_in_time_are_waited_for(node, session_of, clock):
    node.attach(0, 0, 4711)
    clock.wakings.append(lambda time: node.detach(0, 4711) if time >= 10 else None)
    assert bring(session_of(node, Patience(drain_s=30)), ONE).end == "applied"
    assert 10 <= clock.time < 12


def test_processes_of_others_that_stay_are_left_alone(node, session_of, clock):
    node.attach(0, 0, 4711)
    outcome = bring(session_of(node, Patience(drain_s=30)), ONE)
    assert "still in use by pid 4711 after 30 s" in outcome.reason
    assert [client.pid for client in node.state()[0].clients] == [4711]
    assert clock.time >= 30


def test_a_stop_ends_the_waiting_for_others(node, session_of, clock):
    node.attach(0, 0, 4711)
    session = session_of(node, Patience(drain_s=1000), stop_asked=lambda: clock.time > 5)
    outcome = bring(session, ONE)
    assert outcome.end == "stopped"
    assert "stopped while waiting for pid 4711" in outcome.reason
    assert clock.time < 10


def test_what_a_device_cannot_write_is_a_failure_of_the_step(node, session_of, monkeypatch):
    apply = node.apply

    def full(step, timeout_s):
        if isinstance(step, CreateInstance) and step.profile == "4g.40gb":
            raise InputError([Finding("/run/sliceplan/x.env", "", "cannot be written: No space left on device")])
        apply(step, timeout_s)

    monkeypatch.setattr(node, "apply", full)
    outcome = bring(session_of(node), OTHER)
    assert outcome.end == "rolled back"
    assert "No space left on device" in outcome.reason


def test_a_rollback_that_fails_is_stuck_says_what_to_do_and_is_tried_again(node, session_of, folder, clock):
    node.inject(Injection(3, "driver_error", times=100))
    outcome = bring(session_of(node), OTHER)
    assert outcome.end == "stuck"
    assert clock.time == 0.5 + 1.0, "a longer pause before each further try"
    assert "and going back failed" in outcome.reason
    assert "sliceplan-agent rollback" in str(outcome)
    open_one = unfinished(folder)
    assert open_one.stuck is not None
    node = SimulatedNode(node.state())
    assert resume(session_of(node), open_one).end == "rolled back"
    assert differences(node.state(), TWO) == []


def test_one_gpu_that_cannot_go_back_does_not_keep_the_others(session_of):
    old = dict.fromkeys((0, 1), TWO[0])
    new = {index: GpuState("A100-80GB", True) for index in (0, 1)}
    node = SimulatedNode.in_state(old)
    apply = node.apply

    def broken(step, timeout_s):
        if isinstance(step, CreateInstance) and step.gpu_index == 0:
            node.inject(Injection(1, "driver_error"))
        apply(step, timeout_s)

    node.apply = broken
    steps = plan_transition(node.state(), new).steps
    node.inject(Injection(len(steps), "driver_error"))
    assert bring(session_of(node), new).end == "stuck"
    assert differences(node.state(), {1: TWO[0]}) == []
    assert differences(node.state(), {0: TWO[0]}) != []


def test_an_open_transition_can_be_undone_or_left_where_it_is(node, session_of, folder):
    stops = iter([False, False, True])
    session = session_of(node, stop_asked=lambda: next(stops, False))
    outcome = bring(session, OTHER)
    assert outcome.end == "stopped"
    assert "stopped before step 3 of 5" in outcome.reason
    assert read_applied(folder) is None
    outcome = undo(session, unfinished(folder), "undone by hand")
    assert (outcome.end, outcome.undone) == ("rolled back", True)
    assert differences(node.state(), TWO) == []
    node.inject(Injection(3, "driver_error", times=100))
    bring(session, OTHER)
    discard(session)
    assert unfinished(folder) is None


def test_a_transition_that_was_stopped_goes_on(node, session_of, folder):
    stops = iter([False, False, True])
    session = session_of(node, stop_asked=lambda: next(stops, False))
    bring(session, OTHER)
    assert resume(session, unfinished(folder)).end == "applied"
    assert differences(node.state(), OTHER) == []
    assert read_applied(folder).state == OTHER


@pytest.mark.parametrize(
    ("way", "end"),
    [(resume, "applied"), (lambda session, left: undo(session, left, "undone by hand"), "rolled back")],
)
def test_who_takes_a_journal_up_writes_it_anew_before_anything_else(node, session_of, folder, way, end):
    """After a sync that failed, a line that is read may be in memory alone."""
    steps = iter([False] * 2)
    bring(session_of(node, stop_asked=lambda: next(steps, True)), OTHER)
    calls = []
    with watched(lambda name, arguments: calls.append(text_of(name, arguments))):
        assert way(session_of(node), unfinished(folder)).end == end
    aside = f".journal.jsonl.{os.getpid()}.tmp"
    assert calls[:5] == [f"{name} {aside}" for name in ("open", "fchmod", "pwrite", "fsync", "replace")]


def test_a_reboot_in_the_middle_is_made_good(session_of, folder):
    """On Hopper the reboot takes MIG mode too."""
    old, new = ({0: GpuState("H100-80GB-SXM", True, state[0].instances)} for state in (TWO, OTHER))
    new = {0: GpuState("H100-80GB-SXM", True, frozenset({Instance(0, "4g.40gb")}))}
    old = {0: GpuState("H100-80GB-SXM", True, frozenset({Instance(0, "3g.40gb")}))}
    node = SimulatedNode.in_state(old)
    stops = iter([False, True])
    session = session_of(node, stop_asked=lambda: next(stops, False))
    assert bring(session, new).end == "stopped"
    node.reboot()
    assert resume(session, unfinished(folder)).end == "applied"
    assert differences(node.state(), new) == []


def test_a_torn_last_line_of_the_journal_counts_as_not_written(node, session_of, folder):
    stops = iter([False, False, True])
    bring(session_of(node, stop_asked=lambda: next(stops, False)), OTHER)
    path = folder.path / "journal.jsonl"
    whole, state = path.read_bytes(), node.state()
    start = whole[:-1].rfind(b"\n") + 1
    for end in range(start, len(whole), 7):
        path.write_bytes(whole[:end])
        node = SimulatedNode(state)
        assert resume(session_of(node), unfinished(folder)).end == "applied"
        assert differences(node.state(), OTHER) == []
        assert b"}{" not in path.read_bytes()


def test_a_damaged_journal_is_refused_with_its_line_and_can_be_discarded(node, session_of, folder):
    (folder.path / "journal.jsonl").write_bytes(b'{"event": "ended", "outcome": "applied"}\n{"event": "what"}\n')
    with pytest.raises(InputError, match=r"(?s)journal\.jsonl: line 2: .*--discard-journal"):
        unfinished(folder)
    discard(session_of(node))
    assert unfinished(folder) is None
    assert b"what" in (folder.path / "journal-discarded.jsonl").read_bytes()


def test_the_checkpoint_is_nvidias_and_has_what_a_rollback_needs(node, session_of, folder):
    bring(session_of(node), OTHER)
    (path,) = folder.path.glob("checkpoint-*.json")
    data = json.loads(path.read_text())
    assert data["Version"] == "v1"
    (device,) = data["MigState"]["Devices"]
    assert device["MigMode"] == 1
    assert device["UUID"] == node.state()[0].uuid
    compute = [{"ProfileID": 2, "EngProfileID": 0}]
    assert device["GpuInstances"] == [
        {"ProfileID": 2, "Placement": {"Start": start, "Size": 4}, "ComputeInstances": compute} for start in (0, 4)
    ]
    assert read_checkpoint(folder, path.name).state == TWO
    assert read_applied(folder).checkpoint == path.name


def test_a_repair_does_not_move_what_a_rollback_leads_to(node, session_of, folder):
    session = session_of(node)
    bring(session, OTHER)
    first = read_applied(folder).checkpoint
    node.reboot()
    assert bring(session, OTHER).end == "applied"
    assert read_applied(folder).checkpoint == first
    bring(session, ONE, NEXT_PLAN)
    assert read_applied(folder).checkpoint != first


def test_old_checkpoints_go_and_the_one_that_a_rollback_needs_stays(node, session_of, folder):
    session = session_of(node)
    bring(session, OTHER)
    needed = read_applied(folder).checkpoint
    for _ in range(25):
        node.reboot()
        bring(session, OTHER)
    left = {path.name for path in folder.path.glob("checkpoint-*.json")}
    assert needed in left
    assert len(left) <= 22


def test_the_checkpoints_written_last_are_kept_whatever_their_names(folder):
    """A clock that was set back, or a second in the same second, names a later one before an earlier one."""
    names = [f"checkpoint-{number:02}.json" for number in range(30)]
    for age, name in enumerate(names):
        folder.write(name, b"{}")
        os.utime(folder.path / name, (10_000 - age, 10_000 - age))
    folder.forget_old_checkpoints("checkpoint-29.json")
    assert folder.names() == [*names[:20], "checkpoint-29.json"]


def test_gpus_of_the_last_plan_are_freed_and_those_of_none_left_alone(session_of):
    gpus = dict.fromkeys(range(3), TWO[0])
    node = SimulatedNode.in_state(gpus)
    session = session_of(node)
    bring(session, {0: OTHER[0], 1: OTHER[0]})
    bring(session, {1: OTHER[0]}, NEXT_PLAN)
    assert differences(node.state(), {0: GpuState("A100-80GB", False), 1: OTHER[0], 2: TWO[0]}) == []


def test_a_gpu_of_the_last_plan_that_has_died_keeps_no_new_plan_away(session_of, folder):
    gpus = dict.fromkeys(range(2), TWO[0])
    node = SimulatedNode.in_state(gpus)
    bring(session_of(node), {0: OTHER[0], 1: OTHER[0]})
    left = SimulatedNode({1: node.state()[1]})
    transition = plan_transition(left.state(), {1: ONE[0]}, read_applied(folder))
    assert transition.impossible == ()
    assert apply_transition(session_of(left), transition, NEXT_PLAN).end == "applied"
    assert differences(left.state(), {1: ONE[0]}) == []
    assert read_applied(folder).state == {1: ONE[0]}


def test_what_the_catalogue_and_the_driver_forbid_is_known_before_anything_changes(node):
    assert plan_transition(node.state(), {7: TWO[0]}).impossible == ("GPU 7 is not on this node; it has GPU 0",)
    other = {0: GpuState("H100-80GB-SXM", False)}
    assert plan_transition(node.state(), other).impossible == ("GPU 0 is a A100-80GB; the plan is for a H100-80GB-SXM",)
    twice = cut(Instance(0, "7g.80gb"), Instance(4, "3g.40gb"))
    (reason,) = plan_transition(node.state(), twice).impossible
    assert "no room for 7g.80gb at 0: 3g.40gb holds slices 4 to 7" in reason


def test_a_driver_that_does_not_answer_is_a_failure_and_no_traceback(node, session_of, monkeypatch):
    session = session_of(node)
    transition = plan_transition(node.state(), ONE)

    def broken():
        raise DeviceError("GPU_IS_LOST", "GPU 0 is lost", hint="Look at dmesg for Xid errors")

    monkeypatch.setattr(node, "state", broken)
    outcome = apply_transition(session, transition, PLAN)
    assert outcome.end == "stuck"
    assert "GPU 0 is lost (NVML_ERROR_GPU_IS_LOST, 15). Look at dmesg" in outcome.reason


def test_hooks_run_after_a_success_and_their_failure_is_told(node, session_of, said, tmp_path):
    mark = tmp_path / "mark"
    session = session_of(node, hooks=[["/usr/bin/touch", str(mark)], ["/bin/false"], ["/nowhere"]])
    assert bring(session, ONE).end == "applied"
    assert mark.exists()
    assert "  failed with exit code 1" in said
    assert any("No such file" in line for line in said)


def test_a_busy_gpu_that_an_injection_makes_names_its_pid():
    node = SimulatedNode.in_state(TWO)
    node.inject(Injection(1, "busy"))
    with pytest.raises(DeviceError) as caught:
        node.apply(StopService(0, Service("a", 0)), AT_ONCE_S)
    assert caught.value.pids == (FOREIGN_PID,)


def left_by_a_kill(node, session_of, monkeypatch, at):
    """Begins a transition that is killed while its driver carries out a step, the first of which is 1."""
    apply, calls = node.apply, []

    def killed(step, timeout_s):
        calls.append(step)
        if len(calls) == at:
            raise KeyboardInterrupt
        apply(step, timeout_s)

    with monkeypatch.context() as patch:
        patch.setattr(node, "apply", killed)
        with pytest.raises(KeyboardInterrupt):
            bring(session_of(node), OTHER)
    return calls[-1]


def test_a_step_in_flight_is_said_before_the_transition_goes_on(node, session_of, folder, said, monkeypatch):
    step = left_by_a_kill(node, session_of, monkeypatch, at=2)
    del said[:]
    assert resume(session_of(node), unfinished(folder)).end == "applied"
    assert said[0] == f"In flight when the last agent ended: {step_text(step)}"
    assert unfinished(folder) is None


def test_without_a_step_in_flight_none_is_said(node, session_of, folder, said):
    stops = iter([False, True])
    bring(session_of(node, stop_asked=lambda: next(stops, True)), OTHER)
    del said[:]
    resume(session_of(node), unfinished(folder))
    assert not any("In flight" in line for line in said)


def test_who_undoes_a_transition_takes_its_journal_up_and_says_why_it_turned_back(
    node, session_of, folder, monkeypatch
):
    left_by_a_kill(node, session_of, monkeypatch, at=2)
    path = folder.path / "journal.jsonl"
    path.write_bytes(path.read_bytes() + b'{"event": "inte')
    outcome = undo(session_of(node), unfinished(folder), "undone by hand")
    assert (outcome.end, outcome.reason) == ("rolled back", "undone by hand")
    assert unfinished(folder) is None
    (turned,) = (line for line in read_journal(folder) if isinstance(line, TurnedBack))
    assert turned.reason == "undone by hand"


def test_a_transition_that_had_turned_back_keeps_its_own_reason(node, session_of, folder):
    node.inject(Injection(3, "driver_error", times=100))
    assert bring(session_of(node), OTHER).end == "stuck"
    left = unfinished(folder)
    node = SimulatedNode(node.state())
    outcome = undo(session_of(node), left, "undone by hand")
    assert (outcome.end, outcome.reason) == ("rolled back", left.turned_back)
    assert "NVML_ERROR_UNKNOWN" in left.turned_back


def test_going_back_that_succeeds_at_once_waits_for_nothing(node, session_of, clock):
    node.inject(Injection(3, "driver_error"))
    assert bring(session_of(node), OTHER).end == "rolled back"
    assert clock.time == 0


def test_a_gpu_that_cannot_go_back_is_named_with_the_last_failure(node, session_of):
    node.inject(Injection(3, "driver_error", times=100))
    outcome = bring(session_of(node), OTHER)
    assert outcome.end == "stuck"
    back = outcome.reason.split("and going back failed: ")[1]
    assert "the driver failed (NVML_ERROR_UNKNOWN, 999)" in back


def test_a_destruction_that_fails_for_another_reason_is_not_tried_again(node, session_of, clock):
    node.inject(Injection(2, "driver_error"))
    outcome = bring(session_of(node), ONE)
    assert outcome.end == "rolled back"
    assert clock.time == 0


def test_a_rollback_to_the_plan_that_was_applied_is_a_rollback(node, session_of, folder):
    """What it leads back to is its own checkpoint, as of any rollback; only an apply becomes a repair."""
    session = session_of(node)
    bring(session, OTHER)
    first = read_applied(folder).checkpoint
    node.apply(StopService(0, Service("b", 4, processes=2)), AT_ONCE_S)
    transition = plan_transition(node.state(), OTHER, read_applied(folder))
    assert apply_transition(session, transition, PLAN, "rollback").end == "applied"
    assert read_applied(folder).checkpoint != first
    assert read_journal(folder)[0].purpose == "rollback"


def test_a_step_makes_known_what_instances_its_own_gpu_has_and_of_no_other():
    cut = GpuState("A100-80GB", True, frozenset({Instance(4, "3g.40gb")}))
    there = SimulatedNode.in_state({0: cut, 1: cut}).state()
    uuids = instance_uuids(there)
    known = {Slot(0, 0): "gone", Slot(0, 4): "old", Slot(1, 0): "its own step tells"}
    _refresh(known, CreateInstance(0, "3g.40gb", 4), there)
    assert known == {Slot(0, 4): uuids[Slot(0, 4)], Slot(1, 0): "its own step tells"}
