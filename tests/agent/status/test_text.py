"""The state of a node in words, line by line."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from sliceplan.agent.devices.mps_daemons import RunningDaemon
from sliceplan.agent.model.core_services import CoreService
from sliceplan.agent.model.device_error import DeviceError
from sliceplan.agent.model.live import (
    Client,
    LiveCpu,
    LiveGpu,
    LiveInstance,
    MpsDaemon,
    RunningOnCores,
    RunningService,
)
from sliceplan.agent.model.node import Service, service_id
from sliceplan.agent.status.report import Report, _unstarted, look
from sliceplan.agent.status.text import status_text
from sliceplan.agent.system.other_managers import Trace
from sliceplan.agent.transition.applying import ADVICE, Outcome
from sliceplan.agent.transition.state_folder import StateFolder
from sliceplan.solver.model.host_cores import HostCore

A, B = Service("a", 4, sm_percent=50.0, processes=2), Service("b", 0)
GPU = LiveGpu(
    "H100-80GB-SXM",
    "GPU-1",
    mig_enabled=True,
    mig_pending=False,
    instances=(LiveInstance(4, "3g.40gb", 2, (0,), "MIG-4"), LiveInstance(0, "1g.10gb", 9)),
    daemons=(MpsDaemon(4, 77),),
    services=(RunningService(A, (11, 12)), RunningService(B, ())),
    clients=(Client(99, "python", 0), Client(98)),
)


def report(**fields):
    bare = Report("n1", None, {}, (), frozenset(), (), None, None, None)
    return replace(bare, **fields)


def lines(**fields):
    return list(status_text(report(**fields)))


def test_an_empty_node_has_no_gpus_no_plan_and_no_owner():
    assert lines() == ["Node n1: 0 GPUs", "", "Plan: none was applied yet.", "Other owners: none found."]


def test_a_gpu_has_its_instances_in_their_order_its_daemons_services_and_others():
    found = lines(live={3: GPU}, driver="580.1", unstarted=frozenset({service_id(3, B)}))
    assert found[:2] == ["Node n1: 1 GPU, driver 580.1", ""]
    assert found[2:-3] == [
        "GPU 3  H100-80GB-SXM  MIG on, off after a reset  GPU-1",
        "  start  profile          id  UUID",
        "      0  1g.10gb           9  not usable: no compute instance",
        "      4  3g.40gb           2  MIG-4",
        "  MPS daemon of the instance at 4, pid 77",
        "  service a in the instance at 4, at most 50 % each",
        "    pid 11, 12",
        "  service b in the instance at 0",
        "    not started: no template",
        "  process of others: pid 99 (python) in the instance at 0",
        "  process of others: pid 98 in the whole GPU",
    ]


def test_daemons_of_others_are_told_from_the_agents():
    daemons = (RunningDaemon(77, "/run/own", "MIG-4"), RunningDaemon(78, "", ""), RunningDaemon(79, "/tmp/x", ""))
    found = lines(live={0: GPU}, daemons=daemons)
    at = found.index("MPS daemons of others")
    assert found[at + 1 : at + 3] == ["  pid 78  default folder", "  pid 79  /tmp/x"]
    assert not any("pid 77  " in line for line in found)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"applied": {"when": "now", "plan": {"source": "p.json"}}}, ["Plan: p.json, applied now"]),
        (
            {"applied": {"when": "now", "plan": {"source": "p.json", "sequence": 0}}, "drift": ()},
            ["Plan: p.json, number 0, applied now", "The node has what was applied."],
        ),
        ({"applied": {"when": "now"}}, ["Plan: none; rolled back to what was there before, now"]),
        (
            {"drift": ("GPU 0: is missing",)},
            ["! The node differs from what was applied; `sliceplan-agent run` or `apply` repairs it:",
             "    GPU 0: is missing"],
        ),
        ({"unfinished": {"goes": "on", "reason": None}}, ["! A transition has not ended; it goes on."]),
        ({"unfinished": {"goes": "back", "reason": "no"}}, ["! A transition has not ended; it goes back (no)."]),
        ({"doing": {"doing": "in sync", "when": "now"}}, ["Agent: in sync (now)"]),
        ({"doing": {"doing": "waiting", "reason": "pid 1", "when": "now"}}, ["Agent: waiting: pid 1 (now)"]),
        ({"problems": ("no driver",)}, ["! no driver"]),
        (
            {"owners": (Trace("nos", "it is there"),)},
            ["Other owners; the agent changes nothing beside them:", "  nos: it is there"],
        ),
    ],
)  # fmt: skip
def test_what_is_known_of_the_plan_and_the_agent_is_said(fields, said):
    found = lines(**fields)
    assert all(line in found for line in said), found
    assert ("Other owners: none found." in found) == ("owners" not in fields)
    assert ("The node has what was applied." in found) == (fields.get("drift") == ())


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (Outcome("applied"), "Done: the node has the state wanted"),
        (Outcome("rolled back", undone=True), "Undone: the node is as before."),
        (Outcome("rolled back", "no"), "Failed, and rolled back: the node is as before. Reason: no"),
        (Outcome("stuck", "no"), f"Needs attention: no\n{ADVICE}"),
        (Outcome("stopped", "asked"), "Stopped as asked: asked. The next `sliceplan-agent apply` or `run` goes on"),
        (Outcome("halted", "full"), "Stopped half-way, for what is done can no longer be noted: full."),
    ],
)
def test_an_outcome_says_what_the_node_has_and_why(outcome, said):
    assert str(outcome).startswith(said)


def test_a_cpu_has_its_services_in_the_order_of_their_cores():
    cores = tuple(HostCore(socket=0, node=0, l3=i // 2, cpus=(i,)) for i in range(4))
    services = (
        RunningOnCores("b-cpu0", CoreService("b", 2, 2, processes=2), (7,), found_on="0-3"),
        RunningOnCores("a-cpu0", CoreService("a", 0, 1), ()),
        RunningOnCores("c-cpu0", CoreService("c", 1, 1), ()),
    )
    found = lines(live={"cpu0": LiveCpu(cores, services)}, unstarted=frozenset({"c-cpu0"}))
    assert found[:-3] == [
        "Node n1: 1 CPU",
        "",
        "CPU 0  4 cores, 2 L3 caches, 1 NUMA node",
        "  service a on core 0, 1 thread a process",
        "    ! ended: none of its processes runs any more",
        "  service c on core 1, 1 thread a process",
        "    not started: no template",
        "  service b on cores 2-3, 1 thread a process",
        "    pid 7",
        "    ! not confined to them: 0-3",
    ]


def test_who_takes_an_open_transition_up_is_said():
    found = lines(unfinished={"goes": "on", "reason": None})
    at = found.index("! A transition has not ended; it goes on.")
    assert found[at + 1 : at + 3] == [
        "  Where no agent is at work on it, `sliceplan-agent apply` or `run` takes it up,",
        "  and `rollback` undoes it.",
    ]


@pytest.mark.parametrize(
    ("pids", "healthy", "unstarted"), [((), None, True), ((), False, False), ((3,), None, False), ((3,), False, False)]
)
def test_only_what_nobody_started_is_without_a_template(pids, healthy, unstarted):
    live = {
        0: replace(GPU, services=(RunningService(A, pids, healthy),)),
        "cpu0": LiveCpu((), (RunningOnCores("a-cpu0", CoreService("a", 0, 1), pids, healthy),)),
    }
    assert _unstarted(live) == ([service_id(0, A), "a-cpu0"] if unstarted else [])


def test_what_cannot_be_found_out_is_said_once_and_hides_nothing_else(tmp_path):
    folder = StateFolder(tmp_path / "state")
    folder.prepare()
    for name in ("newest-release.json", "journal.jsonl", "applied.json", "state.json"):
        folder.write(name, b"{\n")
    device = SimpleNamespace(state=lambda: {0: GPU})
    found = look("n1", device, folder.path, (), None)
    assert set(found.live) == {0}
    assert (found.sequence, found.unfinished, found.drift, found.applied, found.doing) == (None,) * 5
    for name in ("newest-release.json", "journal.jsonl", "applied.json", "state.json"):
        assert any(f"/{name}:" in problem for problem in found.problems), name
    assert len(set(found.problems)) == len(found.problems)
    assert found.as_data()["version"] == 1


def test_a_driver_that_does_not_answer_hides_nothing_else(tmp_path):
    def silent():
        raise DeviceError("GPU_IS_LOST", "GPU 0 is lost")

    (tmp_path / "state").mkdir(mode=0o700)
    found = look("n1", SimpleNamespace(state=silent), tmp_path / "state", (), "580.1")
    assert (found.live, found.driver) == ({}, "580.1")
    assert ["GPU 0 is lost" in problem for problem in found.problems] == [True]
