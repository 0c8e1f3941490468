"""Plans with CPUs, as a user lets an agent apply them on a simulated node."""

import json
import sys
from types import SimpleNamespace

import pytest
from problems.small_plans import cores_of, gpu_of, partition_of, plan_of

from sliceplan.agent import cli
from sliceplan.agent.devices.simulated.injection import Injection
from sliceplan.agent.devices.simulated.node import SimulatedNode, SimulatedNodeFile
from sliceplan.agent.model.core_services import CoreService
from sliceplan.agent.model.core_steps import CheckOnCores, StopOnCores
from sliceplan.agent.model.differences import differences
from sliceplan.agent.model.node import Service
from sliceplan.agent.model.plan_files import node_share
from sliceplan.agent.model.steps import CheckHealth, StopService
from sliceplan.agent.transition.applying import apply_transition
from sliceplan.agent.transition.preflight import plan_transition
from sliceplan.agent.transition.session import Patience
from sliceplan.solver.formats.plan_files import dump_plan
from sliceplan.solver.model.errors import InputError

SHOWN = r"""Node n1: 1 MIG instance and 3 services on 1 GPU, 1 CPU.
There already: 1 MIG instance and 1 service.
CPU 1: in no plan, left alone.
The slice of a service keeps it on its cores and keeps nobody else off them: other processes of
the node may run there, unless AllowedCPUs of system.slice and user.slice says otherwise.

   1. CPU 0: stop c on cores 16-31
       systemctl stop sliceplan-c:cpu0.slice
       rm -f /run/sliceplan/services/c-cpu0.env
   2. CPU 0: move b at core 0 to cores 16-23, while it runs
       systemctl set-property --runtime sliceplan-b:cpu0.slice \
         AllowedCPUs=16-23,208-215 \
         AllowedMemoryNodes=0
       cat \
         /sys/fs/cgroup/sliceplan.slice/sliceplan-b:cpu0.slice/cpuset.cpus.effective \
         /sys/fs/cgroup/sliceplan.slice/sliceplan-b:cpu0.slice/cpuset.mems.effective
   3. CPU 0: start c on cores 24-25: 1 process, 2 threads each
       systemctl set-property --runtime sliceplan-c:cpu0.slice \
         AllowedCPUs=24-25,216-217 \
         AllowedMemoryNodes=0
       systemctl start sliceplan-c:cpu0.slice
       cat \
         /sys/fs/cgroup/sliceplan.slice/sliceplan-c:cpu0.slice/cpuset.cpus.effective \
         /sys/fs/cgroup/sliceplan.slice/sliceplan-c:cpu0.slice/cpuset.mems.effective
       mkdir -p /run/sliceplan/services
       printf '%s\n' \
         '# c on cores 24-25: 1 process, 2 threads each' \
         OMP_NUM_THREADS=2 \
         TVM_NUM_THREADS=2 \
         SLICEPLAN_THREADS=2 \
         CUDA_VISIBLE_DEVICES= \
         > /run/sliceplan/services/c-cpu0.env
   4. CPU 0: wait until c on cores 24-25 is healthy

Tried on a simulated node: the steps reach exactly the planned state.
"""


def plan_on(*parts, cpu="EPYC-9654", node="n1"):
    """Returns a plan with a GPU and a CPU, both the first of their kind."""
    gpu = gpu_of("A100-80GB/0", partition_of("3g.40gb@4", "a", 10), node=node, index=0)
    return plan_of(gpu, gpu_of(f"{cpu}/0", *parts, node=node, index=0))


BEFORE = plan_on(cores_of(0, 8, "b", 5), cores_of(16, 16, "c", 5))
AFTER = plan_on(cores_of(16, 8, "b", 5), cores_of(24, 2, "c", 5))


@pytest.fixture
def agent(tmp_path, monkeypatch, capsys):
    """Runs a command line beside a node with a GPU and two CPUs; returns what it prints and its exit code."""
    monkeypatch.setenv("SLICEPLAN_NODE", "n1")
    monkeypatch.setenv("SLICEPLAN_DEVICE", "simulated:node.json")
    monkeypatch.setenv("SLICEPLAN_STATE", "state")
    monkeypatch.chdir(tmp_path)
    for name, plan in (("before.json", BEFORE), ("after.json", AFTER)):
        (tmp_path / name).write_text(dump_plan(plan))

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["sliceplan-agent", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = capsys.readouterr()
        return SimpleNamespace(code=ended.value.code or 0, out=printed.out, err=printed.err)

    run("simulate", "node.json", "--gpus", "A100-80GB", "--cpus", "EPYC-9654:2")
    return run


def places(path):
    """Returns which services have which cores of CPU 0."""
    running = SimulatedNodeFile(path).state()["cpu0"].services
    return {one.service.workload: one.service.held for one in running}


def test_a_plan_is_shown_applied_and_undone(agent, tmp_path):
    node = tmp_path / "node.json"
    assert agent("apply", "--yes", "--unsigned", "before.json").code == 0
    assert places(node) == {"b": range(8), "c": range(16, 32)}
    kept = SimulatedNodeFile(node).state()["cpu0"].running("b-cpu0").pids
    shown = agent("apply", "--dry-run", "--unsigned", "after.json")
    assert (shown.code, shown.out) == (0, SHOWN + "Dry run: nothing was changed.\n")
    assert agent("apply", "--yes", "--unsigned", "after.json").code == 0
    assert places(node) == {"b": range(16, 24), "c": range(24, 26)}
    assert SimulatedNodeFile(node).state()["cpu0"].running("b-cpu0").pids == kept
    status = agent("status").out
    assert "CPU 0  96 cores, 12 L3 caches, 1 NUMA node\n  service b on cores 16-23, 8 threads a process\n" in status
    assert "The node has what was applied." in status
    assert agent("rollback", "--yes").code == 0
    assert places(node) == {"b": range(8), "c": range(16, 32)}


def test_what_a_reboot_took_comes_back_and_a_failure_is_undone(agent, tmp_path):
    node = tmp_path / "node.json"
    agent("apply", "--yes", "--unsigned", "before.json")
    agent("simulate", "node.json", "--reboot")
    assert places(node) == {}
    assert agent("run", "--once", "--unsigned", "before.json").code == 0
    assert places(node) == {"b": range(8), "c": range(16, 32)}
    agent("simulate", "node.json", "--fail", "half_done@3")
    failed = agent("apply", "--yes", "--unsigned", "after.json")
    assert (failed.code, "Failed, and rolled back" in failed.out) == (1, True), failed.out
    assert places(node) == {"b": range(8), "c": range(16, 32)}


@pytest.mark.parametrize("kind", ["unhealthy", "driver_error"])
@pytest.mark.parametrize("call", range(1, 5))
def test_whatever_fails_is_undone_and_what_moved_runs_on(call, kind, session_of):
    node = SimulatedNode.in_state(node_share(BEFORE, "n1", "p.json"))
    kept = node.state()["cpu0"].running("b-cpu0").pids
    node.inject(Injection(call, kind))
    before, after = node_share(BEFORE, "n1", "p.json"), node_share(AFTER, "n1", "p.json")
    transition = plan_transition(node.state(), after)
    assert len(transition.steps) == 4
    outcome = apply_transition(session_of(node), transition, None)
    assert outcome.end == "rolled back"
    assert differences(node.state(), before) == []
    assert node.state()["cpu0"].running("b-cpu0").pids == kept


def test_a_stop_and_a_health_check_on_cores_may_take_as_long_as_on_a_gpu():
    service = CoreService("b", 0, 8)
    limits = [Patience().limit_s(step) for step in (StopOnCores(0, "b-cpu0", service), CheckOnCores(0, "b", service))]
    assert limits == [Patience().limit_s(step) for step in (StopService(0, Service("b")), CheckHealth(0, Service("b")))]


def test_a_cpu_that_a_plan_leaves_is_freed(agent, tmp_path):
    agent("apply", "--yes", "--unsigned", "before.json")
    (tmp_path / "gpu.json").write_text(dump_plan(BEFORE.model_copy(update={"gpus": BEFORE.gpus[:1]})))
    assert agent("apply", "--yes", "--unsigned", "gpu.json").code == 0
    assert places(tmp_path / "node.json") == {}


def test_the_steps_and_the_state_are_told_to_machines(agent):
    steps = json.loads(agent("plan", "after.json", "--current", "before.json", "--json").out)["steps"]
    moved = next(step for step in steps if step["kind"] == "MoveToCores")
    assert (moved["name"], moved["cpus"], moved["memory_nodes"], moved["moved_from"]) == (
        "b-cpu0",
        "16-23,112-119",
        "0",
        0,
    )
    agent("apply", "--yes", "--unsigned", "before.json")
    data = json.loads(agent("status", "--json").out)
    assert [(cpu["index"], cpu["cores"], len(cpu["services"])) for cpu in data["cpus"]] == [(0, 96, 2), (1, 96, 0)]
    assert data["cpus"][0]["services"][0]["service"]["start"] == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["simulate", "x.json", "--cpus", "EPYC-965"], "--cpus: has 'EPYC-965'; not in the catalogue. Did you mean"),
        (["simulate", "x.json", "--cpus", "EPYC-9654:0"], "expected TYPE:COUNT with 1 to 64 CPUs"),
    ],
)
def test_a_node_is_made_of_known_cpus(agent, arguments, said):
    made = agent(*arguments)
    assert (made.code, said in made.err) == (2, True), made.err


def test_another_cpu_than_the_plans_is_refused(agent, tmp_path):
    other = plan_on(cores_of(0, 8, "b", 5), cpu="EPYC-9754")
    (tmp_path / "other.json").write_text(dump_plan(other))
    done = agent("apply", "--yes", "--unsigned", "other.json")
    assert (done.code, "Not possible: CPU 0 has 96 cores; EPYC-9754 has 128, by `lscpu -p`" in done.out) == (1, True)
    agent("simulate", "gpus.json", "--gpus", "A100-80GB")
    done = agent("apply", "--yes", "--unsigned", "--device", "simulated:gpus.json", "before.json")
    assert (done.code, "set `device: nvml+cores` in its configuration" in done.out) == (1, True)


def processes(cpu_part, count):
    served = cpu_part.serves[0].model_copy(update={"processes": count})
    return cpu_part.model_copy(update={"serves": (served,)})


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ([cores_of(4, 8, "b", 5)], "partitions[0].start is 4; 8 of the 96 cores of EPYC-9654 lie within one L3 domain"),
        ([cores_of(0, 8, "b", 5), cores_of(4, 2, "c", 5)], "overlaps partitions[0]"),
        ([cores_of(0, 12, "b", 5)], "partitions[0].cores is 12; a partition of EPYC-9654 has 1 to 8"),
        ([processes(cores_of(0, 2, "b", 5), 5)], "processes is 5; 2 cores of EPYC-9654 have 4 threads"),
        (
            [cores_of(0, 8, "b", 5).model_copy(update={"duty_cycle_ms": 9.0})],
            "serves are b with a batch every 9 ms; cores are one service's, back to back",
        ),
    ],
)
def test_cores_that_cannot_be_are_refused_by_their_field(parts, said):
    with pytest.raises(InputError) as refused:
        node_share(plan_on(*parts), "n1", "p.json")
    assert said in str(refused.value)


def test_a_gpu_and_a_cpu_of_one_index_are_two_and_one_twice_is_refused():
    assert list(node_share(BEFORE, "n1", "p.json")) == [0, "cpu0"]
    twice = plan_of(BEFORE.gpus[1], BEFORE.gpus[1].model_copy(update={"id": "other"}))
    with pytest.raises(InputError, match="lists CPU 0 of n1 twice"):
        node_share(twice, "n1", "p.json")
