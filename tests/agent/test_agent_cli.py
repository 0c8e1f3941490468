"""`sliceplan-agent plan` as a user runs it."""

import json
import os
import subprocess
import sys

import pytest
from problems.instances import problem_of
from support.command_line import sliceplan_agent as agent

from sliceplan.agent.showing.commands import FUNCTIONS
from sliceplan.agent.showing.script import node_scripts
from sliceplan.solver.api import solve
from sliceplan.solver.formats.plan_files import dump_plan
from sliceplan.solver.model.plan import Plan

FLEET = [{"gpu": "A100-80GB", "nodes": [{"name": "n1", "count": 2}, {"name": "n2", "count": 2}]}]
WORKLOADS = [{"model": "resnet50", "rate_rps": 900, "slo_ms": 200}, {"model": "bert", "rate_rps": 60, "slo_ms": 500}]


@pytest.fixture
def plan():
    return solve(problem_of(WORKLOADS, fleet=FLEET))


@pytest.fixture
def plan_file(plan, tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(dump_plan(plan))
    return path


def changed(plan, path, **update):
    data = plan.model_dump(mode="json")
    data["gpus"][0].update(update)
    path.write_text(json.dumps(data))
    return path


def test_plan_prints_every_command_with_gpu_profile_id_and_start(plan, plan_file):
    done = agent("plan", "--node", "n1", plan_file)
    assert done.returncode == 0, done.stderr
    assert "nvidia-smi -i 0 -mig 1" in done.stdout
    ids = {"1g.10gb": 19, "2g.20gb": 14, "3g.40gb": 9, "4g.40gb": 5, "7g.80gb": 0}
    for partition in plan.gpus[0].partitions:
        assert f"nvidia-smi mig -i 0 -cgi {ids[partition.mig_profile]}:{partition.start}\n" in done.stdout
    assert "steps reach exactly the planned state" in done.stdout
    assert "nothing was changed" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_a_node_that_runs_the_plan_already_needs_no_step(plan_file):
    done = agent("plan", "--node", "n1", "--current", plan_file, "--json", plan_file)
    assert json.loads(done.stdout)["steps"] == []


def test_unknown_node_names_the_known_ones(plan_file):
    done = agent("plan", "--node", "n7", plan_file)
    assert done.returncode == 2
    assert "has nothing for the node 'n7'" in done.stderr


def test_plan_without_nodes_names_the_command_that_assigns_them(plan, tmp_path):
    done = agent("plan", "--node", "n1", changed(plan, tmp_path / "p.json", node=None, index=None))
    assert done.returncode == 2
    assert "sliceplan assign" in done.stderr


@pytest.mark.parametrize(
    ("update", "message"),
    [
        ({"gpu": "A100-80G"}, "Did you mean 'A100-80GB'?"),
        ({"index": None}, "needs its index"),
        ({"gpu": "T4"}, "has no MIG"),
        ({"node": "n1; reboot"}, "letters, digits"),
    ],
)
def test_what_cannot_be_is_refused_without_a_traceback(plan, tmp_path, update, message):
    done = agent("plan", "--node", "n1", changed(plan, tmp_path / "p.json", **update))
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_overlapping_instances_are_refused_before_any_step(plan, tmp_path):
    whole = {**plan.model_dump(mode="json")["gpus"][0]["partitions"][0], "mig_profile": "7g.80gb", "start": 0}
    small = whole | {"mig_profile": "1g.10gb", "start": 6}
    done = agent("plan", "--node", "n1", changed(plan, tmp_path / "p.json", partitions=[whole, small]))
    assert done.returncode == 2
    assert "gpus[0].partitions[1] (1g.10gb at 6) overlaps partitions[0] (7g.80gb at 0)" in done.stderr
    assert done.stdout == ""


def test_two_instances_at_one_start_are_refused(plan, tmp_path):
    small = {**plan.model_dump(mode="json")["gpus"][0]["partitions"][0], "mig_profile": "1g.10gb", "start": 6}
    done = agent("plan", "--node", "n1", changed(plan, tmp_path / "p.json", partitions=[small, small]))
    assert done.returncode == 2
    assert "gpus[0].partitions[1] (1g.10gb at 6) overlaps partitions[0]" in done.stderr


def test_the_agent_loads_no_solver_and_no_page():
    heavy = ("ortools", "numpy", "pulp", "scipy", "streamlit")
    code = f"import sys, sliceplan.agent.cli; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_each_node_gets_a_script_that_the_shell_can_parse(plan, tmp_path):
    scripts = node_scripts(plan, "plan.json")
    assert set(scripts) == {gpu.node for gpu in plan.gpus}
    for node, script in scripts.items():
        (tmp_path / f"{node}.sh").write_text(script)
        subprocess.run(["sh", "-n", tmp_path / f"{node}.sh"], check=True)


def test_script_functions_read_ids_from_what_nvidia_smi_prints(tmp_path):
    """The tables are in the form that the MIG user guide shows; the numbers are made up."""
    fake = tmp_path / "nvidia-smi"
    fake.write_text(
        """#!/bin/sh
case "$*" in
*-lgi*) cat <<'END'
+-------------------------------------------------------+
| GPU instances:                                        |
| GPU   Name             Profile  Instance   Placement  |
|                          ID       ID       Start:Size |
|=======================================================|
|   0  MIG 1g.10gb         19       13          6:1     |
+-------------------------------------------------------+
|   0  MIG 3g.40gb          9        2          0:4     |
+-------------------------------------------------------+
END
;;
*-q*) cat <<'END'
    MIG Device
        Index                             : 0
        GPU Instance ID                   : 2
        Compute Instance ID               : 0
    MIG Device
        Index                             : 1
        GPU Instance ID                   : 13
END
;;
*-L*) cat <<'END'
GPU 0: NVIDIA A100 80GB PCIe (UUID: GPU-5d)
  MIG 3g.40gb     Device  0: (UUID: MIG-aaaa)
  MIG 1g.10gb     Device  1: (UUID: MIG-bbbb)
END
;;
esac
"""
    )
    fake.chmod(0o755)
    script = FUNCTIONS + "gi 0 6\nuuid 0 6\nuuid 0 0\n"
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(["sh", "-eu", "-c", script], env={"PATH": path}, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["13", "MIG-bbbb", "MIG-aaaa"]


def test_plan_records_survive_a_round_trip(plan):
    assert Plan.model_validate_json(dump_plan(plan)) == plan


def test_the_version_is_that_of_the_package():
    from importlib.metadata import version

    assert agent("--version").stdout == f"sliceplan-agent {version('sliceplan')}\n"
