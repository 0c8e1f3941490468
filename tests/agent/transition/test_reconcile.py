"""The loop applies what is new, repairs what drifted, and leaves to a person what only a person may decide."""

import json

import pytest
from support.system_calls import fault

from sliceplan.agent.devices.simulated.injection import Injection
from sliceplan.agent.devices.simulated.node import AT_ONCE_S, SimulatedNode
from sliceplan.agent.model.desired import Desired, PlanReference
from sliceplan.agent.model.differences import differences
from sliceplan.agent.model.node import GpuState, Instance, Service
from sliceplan.agent.model.steps import ResetGpu, SetMigMode, StopService
from sliceplan.agent.transition import reconcile
from sliceplan.agent.transition.applied import read_applied
from sliceplan.agent.transition.applying import apply_transition
from sliceplan.agent.transition.checkpoint import read_checkpoint
from sliceplan.agent.transition.journal import unfinished
from sliceplan.agent.transition.lock import locked
from sliceplan.agent.transition.preflight import plan_transition
from sliceplan.agent.transition.reconcile import Round, Rules, keep
from sliceplan.agent.transition.state_folder import STATE
from sliceplan.solver.model.errors import Finding, InputError

HOPPER = "H100-80GB-SXM"
CUT = {0: GpuState(HOPPER, True, frozenset({Instance(4, "3g.40gb")}), frozenset({Service("a", 4, processes=2)}))}
OTHER = {0: GpuState(HOPPER, True, frozenset({Instance(0, "4g.40gb"), Instance(4, "3g.40gb")}))}
OFF = {0: GpuState(HOPPER, False)}


def plan_of(state, number=1):
    return Desired(state, PlanReference(f"plan-{number}.json", f"{number}" * 64))


def fetching(*desired):
    """A plan source that gives these answers one after the other, and the last one from then on."""
    answers = list(desired)

    def fetch():
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Exception):
            raise answer
        return lambda _applied: answer

    return fetch


def once(session, *desired, allow_reset=False):
    return keep(session, fetching(*desired), list, Rules(allow_reset=allow_reset), once=True)


@pytest.fixture
def node():
    return SimulatedNode.in_state(CUT)


def test_a_new_plan_is_applied_and_then_in_sync(node, session_of, folder):
    session = session_of(node)
    assert once(session, plan_of(OTHER)).doing == "applied"
    assert once(session, plan_of(OTHER)).doing == "in sync"
    assert differences(node.state(), OTHER) == []
    assert read_applied(folder).plan == plan_of(OTHER).plan


def test_what_drifted_is_repaired(node, session_of):
    session = session_of(node)
    assert once(session, plan_of(CUT)).doing == "in sync"
    node.apply(StopService(0, Service("a", 4, processes=2)), AT_ONCE_S)
    assert once(session, plan_of(CUT)).doing == "applied"
    assert differences(node.state(), CUT) == []


def test_a_reboot_that_took_mig_mode_is_made_good_without_a_person(node, session_of, folder):
    session = session_of(node)
    once(session, plan_of(OTHER))
    checkpoint = read_applied(folder).checkpoint
    node.reboot()
    assert not node.state()[0].mig_enabled
    assert once(session, plan_of(OTHER)).doing == "applied"
    assert differences(node.state(), OTHER) == []
    assert read_applied(folder).checkpoint == checkpoint


def test_a_mode_change_is_left_to_a_person_unless_allowed(node, session_of):
    session = session_of(node)
    once(session, plan_of(CUT))
    before = node.state()
    found = once(session, plan_of(OFF, 2))
    assert found.doing == "needs attention"
    assert "changes the MIG mode of GPU 0" in found.reason
    assert node.state() == before
    assert once(session, plan_of(OFF, 2), allow_reset=True).doing == "applied"


def test_a_mode_that_was_lost_while_others_use_the_gpu_is_left_to_a_person(node, session_of):
    session = session_of(node)
    once(session, plan_of(CUT))
    node.reboot()
    node.attach(0, None, 4711)
    assert once(session, plan_of(CUT)).doing == "needs attention"


def test_a_mode_that_takes_a_reset_is_left_to_a_person_even_where_nothing_runs(session_of):
    """Somebody switched MIG off on Ampere, where the plan has it on: to bring it back is a reset of the GPU."""
    on = {0: GpuState("A100-80GB", True)}
    node = SimulatedNode.in_state(on)
    session = session_of(node)
    assert once(session, plan_of(on)).doing == "in sync"
    for step in (SetMigMode(0, False), ResetGpu(0)):
        node.apply(step, AT_ONCE_S)
    before = node.state()
    found = once(session, plan_of(on))
    assert found.doing == "needs attention"
    assert "changes the MIG mode of GPU 0, or resets it" in found.reason
    assert node.state() == before
    assert once(session, plan_of(on), allow_reset=True).doing == "applied"


@pytest.mark.parametrize("other", [GpuState(HOPPER, True), GpuState(HOPPER, False)])
def test_a_mode_that_came_back_does_not_excuse_one_that_changes_or_is_new(session_of, other):
    """A reboot took the mode of GPU 0; of GPU 1 the plan wants another one than before, or it was in no plan yet."""
    first = {0: CUT[0]} if other.mig_enabled else {0: CUT[0], 1: CUT[0]}
    node = SimulatedNode.in_state({0: CUT[0], 1: GpuState(HOPPER, not other.mig_enabled)})
    session = session_of(node)
    once(session, plan_of(first), allow_reset=True)
    node.reboot()
    if not other.mig_enabled:
        node.apply(SetMigMode(1, True), AT_ONCE_S)
    before = node.state()
    found = once(session, plan_of({0: CUT[0], 1: other}, 2))
    assert found.doing == "needs attention"
    assert "changes the MIG mode of GPU 1," in found.reason
    assert node.state() == before


def test_instances_that_others_use_wait(node, session_of):
    session = session_of(node)
    node.attach(0, 4, 4711, "python")
    found = once(session, plan_of({0: GpuState(HOPPER, True)}))
    assert (found.doing, found.reason) == ("waiting", "GPU 0: 3g.40gb at 4 is in use by pid 4711 (python)")


def test_another_owner_stops_it_before_anything_changes(node, session_of):
    before = node.state()
    found = keep(session_of(node), fetching(plan_of(OTHER)), lambda: ["mig-manager owns this node"], Rules(), once=True)
    assert (found.doing, found.reason) == ("needs attention", "mig-manager owns this node")
    assert node.state() == before


def test_without_a_plan_the_node_is_kept_at_the_last_one(node, session_of):
    session = session_of(node)
    once(session, plan_of(CUT))
    node.reboot()
    gone = InputError([Finding("plan.json", "", "cannot be read")])
    found = once(session, gone)
    assert found.doing == "needs attention"
    assert "cannot be read" in found.reason
    assert "Kept at the state applied last" in found.reason
    assert differences(node.state(), CUT) == []


def test_without_any_plan_it_changes_nothing(node, session_of):
    before = node.state()
    assert once(session_of(node), InputError([Finding("plan.json", "", "cannot be read")])).doing == "needs attention"
    assert node.state() == before


def test_a_plan_that_was_rolled_back_is_not_applied_again(node, session_of, folder):
    session = session_of(node)
    once(session, plan_of(CUT))
    once(session, plan_of(OTHER, 2))
    applied = read_applied(folder)
    checkpoint = read_checkpoint(folder, applied.checkpoint)
    back = plan_transition(node.state(), checkpoint.state)
    assert apply_transition(session, back, checkpoint.plan, "rollback", rolled_back=applied.plan).end == "applied"
    assert once(session, plan_of(OTHER, 2)).doing == "in sync"
    assert differences(node.state(), CUT) == []
    node.reboot()
    assert once(session, plan_of(OTHER, 2)).doing == "applied"
    assert differences(node.state(), CUT) == []
    assert once(session, plan_of(OTHER, 2)).doing == "in sync"
    assert once(session, plan_of(OTHER, 3)).doing == "applied"
    assert differences(node.state(), OTHER) == []


def test_what_an_agent_left_open_is_finished_first(node, session_of, folder):
    stops = iter([False, True])
    left = session_of(node, stop_asked=lambda: next(stops, True))
    apply_transition(left, plan_transition(node.state(), OTHER), plan_of(OTHER).plan)
    assert unfinished(folder)
    assert once(session_of(node), plan_of(OTHER)).doing == "in sync"
    assert unfinished(folder) is None
    assert read_applied(folder).state == OTHER


def test_what_was_left_open_and_fails_is_not_begun_anew_in_the_same_round(node, session_of, folder):
    stops = iter([False, True])
    left = session_of(node, stop_asked=lambda: next(stops, True))
    apply_transition(left, plan_transition(node.state(), OTHER), plan_of(OTHER).plan)
    node.inject(Injection(1, "driver_error"))
    assert once(session_of(node), plan_of(OTHER)).doing == "rolled back"
    assert unfinished(folder) is None
    assert differences(node.state(), CUT) == []


def test_failures_wait_longer_each_time_and_the_state_file_tells(node, session_of, folder, clock):
    node.inject(Injection(1, "driver_error", times=1000))
    session = session_of(node, stop_asked=lambda: clock.time > 300)
    last = keep(session, fetching(plan_of(OTHER)), list, Rules(interval_s=10, longest_pause_s=100))
    state = json.loads((folder.path / STATE).read_text())
    assert state["doing"] == "rolled back"
    assert "NVML_ERROR_UNKNOWN, 999" in state["reason"]
    assert state["failures"] == last.failures
    assert 4 <= last.failures <= 7


def test_failures_are_counted_in_succession(node, session_of):
    """Two that fail, one that is in sync, one that fails."""
    gone = InputError([Finding("plan.json", "", "cannot be read")])
    counts, left = [], [gone, gone, plan_of(CUT), gone]

    def stop():
        return not left

    def fetch():
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return lambda _applied: answer

    noted = reconcile._noted
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reconcile, "_noted", lambda *given: counts.append(given[2]) or noted(*given))
        patch.setattr(reconcile, "_pause", lambda *_: None)
        last = keep(session_of(node, stop_asked=stop), fetch, list, Rules())
    assert counts == [1, 2, 0, 1]
    assert last.failures == 1


@pytest.mark.parametrize(("failures", "waited_s"), [(0, 10), (1, 10), (2, 20), (3, 40), (4, 80), (5, 100), (9, 100)])
def test_each_failure_doubles_the_pause_up_to_the_longest(node, session_of, clock, failures, waited_s):
    session, before = session_of(node), clock.time
    last = Round("rolled back", failures=failures, plan=plan_of(OTHER).plan)
    reconcile._pause(session, fetching(plan_of(OTHER)), Rules(interval_s=10, longest_pause_s=100), last)
    assert clock.time - before == waited_s


def test_another_plan_ends_the_pause_after_failures(node, session_of, clock):
    broken = plan_of({5: CUT[0]})
    applied = []

    def fetch():
        return lambda _applied: plan_of(OTHER, 2) if clock.time > 200 else broken

    session = session_of(node, stop_asked=lambda: clock.time > 400, say=lambda text: applied.append((clock.time, text)))
    keep(session, fetch, list, Rules(interval_s=10, longest_pause_s=1000))
    (when,) = [when for when, text in applied if text == "applied"]
    assert when == 210


def test_a_plan_that_cannot_be_is_reported_and_nothing_changes(node, session_of):
    before = node.state()
    found = once(session_of(node), plan_of({5: CUT[0]}))
    assert (found.doing, found.reason) == ("needs attention", "GPU 5 is not on this node; it has GPU 0")
    assert node.state() == before


def test_while_another_agent_works_it_waits(node, session_of, folder):
    with locked(folder):
        found = once(session_of(node), plan_of(OTHER))
    assert found.doing == "needs attention"
    assert "is held by another sliceplan-agent (pid " in found.reason


def test_it_says_what_changed_and_not_each_round(node, session_of, said):
    session = session_of(node)
    for _ in range(3):
        once(session, plan_of(CUT))
    assert said == ["in sync"]


def test_a_full_disk_ends_no_loop_is_said_once_and_waited_for(node, session_of, said, clock):
    """It ended `run` for good, since what it was doing could not be noted."""
    session = session_of(node, stop_asked=lambda: clock.time > 200)
    before = node.state()
    with fault("full", 1):
        last = keep(session, fetching(plan_of(OTHER)), list, Rules(interval_s=30))
    assert last.doing == "needs attention"
    assert "No space left on device" in last.reason
    assert node.state() == before
    assert len(said) == 2, "once for the node, once for the state file"
    assert once(session_of(node), plan_of(OTHER)).doing == "applied"


def test_a_disk_that_is_full_half_way_halts_the_transition_which_goes_on_when_there_is_room(node, session_of, folder):
    session = session_of(node)
    with fault("full", 40):
        assert once(session, plan_of(OTHER)).doing == "needs attention"
    assert unfinished(folder) is not None
    assert once(session, plan_of(OTHER)).doing == "in sync", "the transition that was left was brought to its end"
    assert differences(node.state(), OTHER) == []


def test_the_loop_ends_with_a_round_that_was_stopped(node, session_of, monkeypatch):
    monkeypatch.setattr(reconcile, "look", lambda *_: reconcile.Round("stopped"))
    session = session_of(node, sleep=lambda _seconds: pytest.fail("it goes on"))
    assert keep(session, fetching(plan_of(CUT)), list, Rules()).doing == "stopped"


def test_what_was_applied_is_said_each_time_and_anything_else_where_it_changes(node, session_of, said):
    session = session_of(node)
    last = None
    for doing in ("in sync", "in sync", "applied", "applied", "in sync"):
        last = reconcile._noted(session, reconcile.Round(doing), 0, last)
    assert said == ["in sync", "applied", "applied", "in sync"]


@pytest.mark.parametrize(
    ("interval_s", "failures", "pause_s"),
    [(30, 0, 30), (30, 1, 30), (30, 2, 60), (30, 3, 120), (30, 5, 480), (30, 6, 600), (30, 40, 600), (900, 3, 900)],
)
def test_a_pause_is_longer_after_each_failure_up_to_a_limit(session_of, node, clock, interval_s, failures, pause_s):
    rules, last = Rules(interval_s=interval_s), reconcile.Round("needs attention", failures=failures)
    reconcile._pause(session_of(node), fetching(InputError([Finding("x", "", "no plan")])), rules, last)
    assert clock.time == pause_s


def test_a_pause_ends_where_another_plan_comes_or_the_session_is_asked_to_stop(session_of, node, clock):
    rules, last = Rules(interval_s=30), reconcile.Round("needs attention", failures=6, plan=plan_of(CUT).plan)
    same, other = plan_of(CUT), plan_of(CUT, 2)
    reconcile._pause(session_of(node), fetching(same, same, other), rules, last)
    assert clock.time == 90
    session = session_of(node, stop_asked=lambda: clock.time >= 120)
    reconcile._pause(session, fetching(same), rules, last)
    assert clock.time == 120


def test_another_plan_of_the_same_state_is_noted_as_the_one_applied(node, session_of, folder):
    session = session_of(node)
    for number in (1, 2):
        assert once(session, plan_of(CUT, number)).doing == "in sync"
        assert read_applied(folder).plan == plan_of(CUT, number).plan


def test_a_repair_of_a_plan_that_took_no_step_can_be_rolled_back(node, session_of, folder):
    """What was in sync from the beginning has no checkpoint; the repair's own is the one to go back to."""
    session = session_of(node)
    once(session, plan_of(CUT))
    assert read_applied(folder).checkpoint == ""
    node.apply(StopService(0, Service("a", 4, processes=2)), AT_ONCE_S)
    assert once(session, plan_of(CUT)).doing == "applied"
    back = read_checkpoint(folder, read_applied(folder).checkpoint).state[0]
    assert (back.instances, back.services) == (CUT[0].instances, frozenset())


def test_a_round_is_said_where_its_reason_changes(node, session_of, said):
    session, last = session_of(node), None
    for reason in ("a", "a", "b", None):
        last = reconcile._noted(session, Round("needs attention", reason), 0, last)
    assert said == ["needs attention: a", "needs attention: b", "needs attention"]


def test_that_it_goes_on_with_what_was_left_open_is_said(node, session_of, said):
    stops = iter([False, True])
    left = session_of(node, stop_asked=lambda: next(stops, True))
    apply_transition(left, plan_transition(node.state(), OTHER), plan_of(OTHER).plan)
    del said[:]
    once(session_of(node), plan_of(OTHER))
    assert said[0] == "Going on with the transition that an agent left before its end."
