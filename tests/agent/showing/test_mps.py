"""GPUs that are shared by MPS: from the plan file to the commands, and what those do in a shell."""

import os
import subprocess
from types import SimpleNamespace

import pytest
from problems.instances import problem_of
from typer.testing import CliRunner

from sliceplan.agent.cli import app
from sliceplan.agent.model.node import GpuState, Instance, Service
from sliceplan.agent.model.plan_files import node_share
from sliceplan.agent.model.step_text import describe
from sliceplan.agent.model.steps import CheckHealth, CreateInstance, StartMps, StartService, StopMps, StopService
from sliceplan.agent.showing import commands
from sliceplan.agent.showing.commands import ENVIRONMENT_NOTES, MPS_NOTES, TURN_NOTES, commands_of, service_file
from sliceplan.agent.showing.script import node_script
from sliceplan.agent.transition.dry_run import DryRun
from sliceplan.solver.api import solve
from sliceplan.solver.formats.plan_files import dump_plan
from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.plan import Plan

ROUGH = 100 / 54
"""One of the 54 units of an A100: no short decimal."""


@pytest.fixture(scope="module")
def frame():
    """A plan whose GPUs are to be replaced."""
    workloads = [{"model": "resnet50", "rate_rps": 100, "slo_ms": 200}]
    return solve(problem_of(workloads, fleet=[{"gpu": "A100-80GB"}])).model_dump(mode="json")


def part(workload="bert", sm_percent=None, processes=1, **update):
    served = {
        "workload": workload,
        "batch": 8,
        "processes": processes,
        "latency_ms": 10,
        "capacity_rps": 100,
        "rate_rps": 90,
        "basis": "measured",
        "causes_ms": None,
    }
    none = {"mig_profile": None, "start": None, "duty_cycle_ms": None}
    return {**none, "sm_percent": sm_percent, "serves": [served], **update}


def gpu(*partitions, sharing="mps", index=0, gpu_type="A100-80GB"):
    place = {"id": f"{gpu_type}/{index}", "gpu": gpu_type, "node": "n1", "index": index}
    return {**place, "sharing": sharing, "partitions": list(partitions)}


def planned(frame, *gpus):
    return Plan.model_validate({**frame, "gpus": gpus})


def state_of(frame, *gpus):
    return node_share(planned(frame, *gpus), "n1", "p.json")


def agent_plan(tmp_path, plan, *options):
    path = tmp_path / "plan.json"
    path.write_text(dump_plan(plan))
    return CliRunner().invoke(app, ["plan", "--node", "n1", *options, str(path)])


def share(workload, percent, processes=1, replica=1, memory_mib=None):
    """A service of a whole GPU with a cap, as `part` makes one."""
    return Service(workload, None, replica, processes, 8, percent, memory_mib)


def whole(*services):
    """A node whose GPU 3 is used whole by services."""
    return {3: GpuState("A100-80GB", mig_enabled=False, services=frozenset(services))}


def test_partitions_of_a_gpu_under_mps_become_services_with_a_cap(frame):
    """The percentage of a partition is the share of all its processes: three have 20 of 64 SMs each, as whole TPCs."""
    state = state_of(frame, gpu(part("bert", 20), part("vgg", 80, processes=3), gpu_type="V100-SXM2-16GB"))
    services = frozenset({share("bert", 20), share("vgg", 25, 3)})
    assert state == {0: GpuState("V100-SXM2-16GB", mig_enabled=False, services=services)}
    assert state[0].mps_starts == {None}


def test_a_workload_with_several_shares_of_a_gpu_has_a_service_for_each_in_any_order(frame):
    services = {share("bert", 25.0), share("bert", 25.0, replica=2), share("bert", 50.0, replica=3)}
    parts = [part("bert", 25.0), part("bert", 50.0), part("bert", 25.0)]
    assert state_of(frame, gpu(*parts))[0].services == services
    assert state_of(frame, gpu(*reversed(parts)))[0].services == services
    assert len({service_file(0, one) for one in services}) == 3


def test_a_gpu_used_whole_takes_a_daemon_only_for_several_processes(frame):
    one, three = part("bert"), part("bert", processes=3)
    assert state_of(frame, gpu(one, sharing="exclusive"))[0].mps_starts == frozenset()
    (state,) = state_of(frame, gpu(three, sharing="exclusive")).values()
    assert state.services == {Service("bert", processes=3, batch=8)}
    assert state.mps_starts == {None}


def test_an_instance_has_its_service_and_takes_a_daemon_only_for_several_processes(frame):
    cuts = [part("bert", mig_profile="3g.40gb", start=4, processes=2), part("bert", mig_profile="2g.20gb", start=0)]
    (state,) = state_of(frame, gpu(*cuts, sharing="mig")).values()
    assert state.instances == {Instance(4, "3g.40gb"), Instance(0, "2g.20gb")}
    assert state.services == {Service("bert", 4, processes=2, batch=8), Service("bert", 0, batch=8)}
    assert state.mps_starts == {4}


@pytest.mark.parametrize(
    ("partitions", "path", "message"),
    [
        ([part()], "partitions[0].sm_percent", "is null"),
        ([part("a", 50.0), part("b", 50.00001)], "partitions", "take 100.00001 %"),
        ([part("a", 50.0, mig_profile="1g.10gb")], "partitions[0].mig_profile", "has no MIG instances"),
        ([part("a", 50.0, start=0)], "partitions[0].start", "has no start"),
        ([part("a", 50.0, serves=part()["serves"] * 2)], "partitions[0].serves", "serves one"),
        ([part("a", ROUGH, processes=2)], "partitions[0].sm_percent", "2 processes take at least 1.852 % (2 SMs) each"),
    ],
)
def test_what_cannot_be_under_mps_is_refused_where_it_stands(frame, partitions, path, message):
    with pytest.raises(InputError) as caught:
        state_of(frame, gpu(*partitions))
    (finding,) = caught.value.findings
    assert finding.path == f"gpus[0].{path}"
    assert message in finding.message


def test_shares_that_pass_a_hundred_by_rounding_alone_are_taken(frame):
    parts = [part(f"w{i}", 100 / 7 + 1e-8) for i in range(7)]
    assert len(state_of(frame, gpu(*parts))[0].services) == 7


@pytest.mark.parametrize("name", ["a; reboot", "../a", "$(id)", "a\n"])
def test_a_workload_name_that_the_shell_could_read_is_no_name(frame, name):
    with pytest.raises(ValueError, match="workload"):
        planned(frame, gpu(part(name, 50.0)))


def test_commands_name_the_gpu_and_one_folder_a_gpu():
    folder = "/run/sliceplan/mps/gpu3"
    environment = f"CUDA_MPS_PIPE_DIRECTORY={folder}/pipe \\\n  CUDA_MPS_LOG_DIRECTORY={folder}/log"
    assert commands_of(StartMps(3, None), {}) == [
        f"mkdir -p {folder}/pipe {folder}/log",
        f"CUDA_VISIBLE_DEVICES=$(gpu_uuid 3) \\\n  {environment} \\\n  nvidia-cuda-mps-control -d",
    ]
    assert commands_of(StopMps(3, None), {}) == [f"echo quit | \\\n  {environment} \\\n  nvidia-cuda-mps-control"]
    assert "CUDA_VISIBLE_DEVICES=$(uuid 3 4)" in commands_of(StartMps(3, 4), {})[1]
    assert "/run/sliceplan/mps/gpu3-start4/pipe" in commands_of(StartMps(3, 4), {})[1]


def test_a_service_gets_a_file_of_its_environment_and_loses_it():
    one = share("bert-base.v1", 37.5, 2)
    path = "/run/sliceplan/services/bert-base.v1-gpu3.env"
    assert commands_of(StartService(3, one), whole(one)) == [
        "mkdir -p /run/sliceplan/services",
        "printf '%s\\n' \\\n"
        "  '# bert-base.v1: 2 processes, each on at most 37.5 % of the SMs' \\\n"
        "  CUDA_MPS_PIPE_DIRECTORY=/run/sliceplan/mps/gpu3/pipe \\\n"
        "  CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=37.5 \\\n"
        f"  > {path}",
    ]
    assert commands_of(StopService(3, one), {}) == [f"rm -f {path}"]
    assert commands_of(CheckHealth(3, one), {}) == []


def test_a_service_without_a_daemon_names_its_device():
    lone, cut = Service("bert"), Service("bert", 4)
    node = whole(lone) | {2: GpuState("A100-80GB", True, frozenset({Instance(4, "3g.40gb")}), frozenset({cut}))}
    assert '"CUDA_VISIBLE_DEVICES=$(gpu_uuid 3)"' in commands_of(StartService(3, lone), node)[1]
    assert '"CUDA_VISIBLE_DEVICES=$(uuid 2 4)"' in commands_of(StartService(2, cut), node)[1]
    assert "/run/sliceplan/services/bert-gpu2-start4.env" in commands_of(StartService(2, cut), node)[1]


def test_a_name_that_no_plan_file_can_hold_is_quoted_all_the_same():
    assert commands_of(StopService(0, share("a; reboot", 50.0)), {}) == [
        "rm -f '/run/sliceplan/services/a; reboot-gpu0.env'"
    ]


def test_a_description_names_the_service_and_its_slot():
    assert describe(StartService(0, share("bert", 37.5))) == "start bert: 1 process, each on at most 37.5 % of the SMs"
    assert describe(StopService(0, Service("bert", 4, 2))) == "stop bert (replica 2) at 4"


def test_the_script_starts_one_daemon_a_gpu_and_writes_what_each_service_needs(frame, tmp_path):
    """The script of a node runs in a shell, with NVIDIA's tools replaced by ones that note what they are given."""
    plan = planned(
        frame,
        gpu(part("bert", 37.5), part("vgg", ROUGH), gpu_type="V100-SXM2-16GB"),
        gpu(part("yolo", processes=3), sharing="exclusive", index=1, gpu_type="V100-SXM2-16GB"),
        gpu(part("lone"), sharing="exclusive", index=2, gpu_type="V100-SXM2-16GB"),
    )
    tools = {
        "nvidia-smi": 'test "$3 $4" = "--query-gpu=uuid --format=csv,noheader" && echo "GPU-of-$2"',
        "nvidia-cuda-mps-control": f'echo "$CUDA_VISIBLE_DEVICES $CUDA_MPS_PIPE_DIRECTORY $CUDA_MPS_LOG_DIRECTORY $*" '
        f'>> {tmp_path}/daemons; test -d "$CUDA_MPS_PIPE_DIRECTORY" && test -d "$CUDA_MPS_LOG_DIRECTORY"',
    }
    for name, body in tools.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    run = tmp_path / "run"
    script = node_script(plan, "n1", "p.json").replace("/run/sliceplan", str(run))
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(["sh", "-eu", "-c", script], env={"PATH": path}, check=True)

    assert (tmp_path / "daemons").read_text().splitlines() == [
        f"GPU-of-{i} {run}/mps/gpu{i}/pipe {run}/mps/gpu{i}/log -d" for i in (0, 1)
    ]
    assert {file.name: settings(file) for file in (run / "services").iterdir()} == {
        "bert-gpu0.env": [f"CUDA_MPS_PIPE_DIRECTORY={run}/mps/gpu0/pipe", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=37.5"],
        "lone-gpu2.env": ["CUDA_VISIBLE_DEVICES=GPU-of-2"],
        "vgg-gpu0.env": [
            f"CUDA_MPS_PIPE_DIRECTORY={run}/mps/gpu0/pipe",
            "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=1.852",
        ],
        "yolo-gpu1.env": [f"CUDA_MPS_PIPE_DIRECTORY={run}/mps/gpu1/pipe"],
    }


def settings(file):
    """Returns the lines of a service's file that are no comment."""
    return [line for line in file.read_text().splitlines() if not line.startswith("#")]


def test_plan_counts_services_and_says_once_that_a_percentage_isolates_nothing(frame, tmp_path):
    cut = part("resnet", mig_profile="7g.80gb", start=0)
    done = agent_plan(
        tmp_path, planned(frame, gpu(part("bert", 60.0), part("vgg", 40.0)), gpu(cut, sharing="mig", index=1))
    )
    assert done.exit_code == 0, done.output
    assert "Node n1: 1 MIG instance and 3 services on 2 GPUs.\n" in done.output
    assert "There already" not in done.output
    assert done.output.count("isolates nothing") == 1
    assert "steps reach exactly the planned state" in done.output
    assert max(map(len, done.output.splitlines())) <= 100


def test_plan_of_shares_alone_speaks_of_no_instances_and_knows_what_stays(frame, tmp_path):
    running = tmp_path / "running.json"
    running.write_text(dump_plan(planned(frame, gpu(part("bert", 60.0), part("vgg", 30.0)))))
    done = agent_plan(tmp_path, planned(frame, gpu(part("bert", 60.0), part("vgg", 40.0))), "--current", str(running))
    assert "Node n1: 2 services on 1 GPU.\nThere already: 1 service.\n" in done.output
    assert "  1. GPU 0: stop vgg" in done.output
    assert "  2. GPU 0: start vgg: 1 process, each on at most 40 % of the SMs" in done.output
    assert "  3. GPU 0: wait until vgg is healthy" in done.output


def test_plan_without_shares_says_nothing_of_mps(frame, tmp_path):
    done = agent_plan(tmp_path, planned(frame, gpu(part("lone"), sharing="exclusive")))
    assert "Node n1: 1 service on 1 GPU" in done.output
    assert "MPS" not in done.output


def test_more_processes_than_a_gpu_takes_clients_do_not_reach_the_plan(frame, tmp_path):
    done = agent_plan(tmp_path, planned(frame, gpu(part("a", 50.0, processes=25), part("b", 50.0, processes=24))))
    assert done.exit_code == 1
    assert "gpus[0] has 49 processes; A100-80GB takes at most 48 MPS clients" in str(done.exception)


def test_json_steps_hold_the_service(frame, tmp_path):
    done = agent_plan(tmp_path, planned(frame, gpu(part("bert", 60.0))), "--json")
    assert '"kind": "StartService"' in done.output
    assert '"sm_percent": 60.0' in done.output


def test_a_process_whose_memory_is_known_may_take_no_more_on_its_gpu():
    known, unknown = share("bert", 37.5, memory_mib=2047.5), share("bert", 37.5)
    (_, written) = commands_of(StartService(3, known), whole(known))
    assert "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=2048M" in written
    (_, unlimited) = commands_of(StartService(3, unknown), whole(unknown))
    assert "PINNED" not in unlimited


def test_the_memory_that_a_plan_counts_on_is_the_limit_of_its_service():
    workloads = [{"model": "resnet50", "rate_rps": 100, "slo_ms": 60, "memory_mib": 1500}]
    fleet = [{"gpu": "V100-SXM2-16GB", "sharing": ["mps"], "nodes": [{"name": "n1", "count": 1}]}]
    (state,) = node_share(solve(problem_of(workloads, fleet=fleet)), "n1", "p.json").values()
    assert {service.memory_mib for service in state.services} == {1500}


@pytest.mark.parametrize(
    ("sm_percent", "turns", "notes"),
    [(None, None, ()), (50.0, None, MPS_NOTES), (None, "any", TURN_NOTES)],
)
def test_a_script_says_what_a_person_must_know_of_what_it_sets_up_and_no_more(frame, sm_percent, turns, notes):
    duty_cycle_ms = None if turns is None else 80
    sharing = "exclusive" if sm_percent is None else "mps"
    one = part("bert", sm_percent, duty_cycle_ms=duty_cycle_ms, turns=turns)
    script = node_script(planned(frame, gpu(one, sharing=sharing)), "n1", "p.json").splitlines()
    for note in (*MPS_NOTES, *TURN_NOTES):
        assert (f"# {note}" in script) == (note in notes)
    assert all(f"# {note}" in script for note in ENVIRONMENT_NOTES)


def test_an_instance_is_made_by_the_id_of_its_profile_or_its_name_where_that_is_unknown(monkeypatch):
    node = {0: GpuState("A100-80GB", True)}
    made = CreateInstance(0, "3g.40gb", 4)
    assert commands_of(made, node) == ["nvidia-smi mig -i 0 -cgi 9:4"]
    mig = load_catalogue()["A100-80GB"].mig
    unknown = SimpleNamespace(mig=SimpleNamespace(profile=lambda name: replaced(mig.profile(name))))
    monkeypatch.setattr(commands, "load_catalogue", lambda: {"A100-80GB": unknown})
    assert commands_of(made, node) == ["nvidia-smi mig -i 0 -cgi 3g.40gb:4"]
    with pytest.raises(ValueError, match=r"9g\.90gb is no MIG profile of GPU 0"):
        commands_of(CreateInstance(0, "9g.90gb", 0), node)


def replaced(profile):
    """Returns a profile of which the driver's number is unknown."""
    return profile and profile.model_copy(update={"nvml_profile_id": None})


def test_a_service_with_a_label_is_named_by_it_in_the_script(frame):
    plan = planned(frame, gpu(part("bert", 50.0))).model_copy(update={"labels": {"bert": "Search"}})
    lines = node_script(plan, "n1", "p.json").splitlines()
    assert any(line.startswith("# ") and "bert" in line and "Search" in line for line in lines)


def test_a_plan_that_no_steps_reach_has_no_script(frame, monkeypatch):
    for refused, words in (("step 2: no room", "step 2: no room"), (None, "GPU 0: a; GPU 0: b")):
        tried = DryRun((), refused, ("GPU 0: a", "GPU 0: b"))
        monkeypatch.setattr("sliceplan.agent.showing.script.dry_run", lambda *_, tried=tried: tried)
        with pytest.raises(InputError, match=f"p.json: n1 {words}$"):
            node_script(planned(frame, gpu(part("bert", 50.0))), "n1", "p.json")
