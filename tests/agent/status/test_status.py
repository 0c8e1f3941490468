"""`sliceplan-agent status` on a simulated node, behind NVML, and where there is no GPU."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest
from support.needs import NO_GPU, skip_without
from typer.testing import CliRunner

from sliceplan.agent.cli import app
from sliceplan.agent.devices.simulated.node import NodeRecord, SimulatedNode, SimulatedNodeFile, write_node
from sliceplan.agent.files.guarded_folder import GuardedFolder
from sliceplan.agent.model.live import settled
from sliceplan.agent.model.node import Service
from sliceplan.agent.model.steps import (
    CreateComputeInstance,
    CreateInstance,
    DestroyInstance,
    SetMigMode,
    StartMps,
    StartService,
    StopMps,
    StopService,
)
from sliceplan.agent.transition.applied import Applied, write_applied
from sliceplan.agent.transition.state_folder import StateFolder
from sliceplan.agent.trust.sequence import NewestRelease, remember

HOPPER = "H100-80GB-SXM"
SERVICE = Service("bert", 4, processes=2, sm_percent=50.0)
STEPS = [
    SetMigMode(0, True),
    CreateInstance(0, "3g.40gb", 4),
    CreateComputeInstance(0, "3g.40gb", 4),
    CreateInstance(0, "1g.10gb", 0),
    StartMps(0, 4),
    StartService(0, SERVICE),
]


@pytest.fixture(autouse=True)
def _no_owner(monkeypatch):
    monkeypatch.setattr("sliceplan.agent.setup.device.find_other_managers", list)


@pytest.fixture
def status(tmp_path):
    """Returns a function that runs the command with the state folder of this test."""

    def run(*arguments):
        return CliRunner().invoke(app, ["status", "--state", str(tmp_path / "state"), *map(str, arguments)])

    return run


@pytest.fixture
def node_file(tmp_path):
    """A simulated node in a file: one GPU with instances, a daemon and a service, one with a foreign process."""
    node = SimulatedNode.unused({0: HOPPER, 1: "V100-SXM2-16GB"})
    for step in STEPS:
        node.apply(step, 10)
    node.attach(1, None, 31337, "python")
    write_node(tmp_path / "node.json", NodeRecord(dict(node.state())))
    return f"simulated:{tmp_path / 'node.json'}"


def test_everything_on_a_node_is_shown_on_80_columns(status, node_file):
    done = status("--device", node_file)
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines if "0gb " in line] == ["0", "4"], "in the order of their places"
    assert lines[0].endswith("2 GPUs")
    assert any(line.startswith("GPU 0  H100-80GB-SXM  MIG on  GPU-") for line in lines)
    assert any(line.split()[:3] == ["4", "3g.40gb", "1"] and "MIG-" in line for line in lines)
    assert any(line.split()[:2] == ["0", "1g.10gb"] and "no compute instance" in line for line in lines)
    assert "  service bert in the instance at 4, at most 50 % each" in lines
    assert "  process of others: pid 31337 (python) in the whole GPU" in lines
    assert "Plan: none was applied yet." in lines
    assert "Other owners: none found." in lines


def test_json_has_the_same(status, node_file, tmp_path):
    (tmp_path / "state").mkdir()
    remember(GuardedFolder(tmp_path / "state"), NewestRelease(sequence=7, sha256="0" * 64))
    data = json.loads(status("--device", node_file, "--json").output)
    gpu, other = data["gpus"]
    assert (gpu["index"], gpu["gpu"], gpu["mig_enabled"]) == (0, HOPPER, True)
    assert [(one["start"], one["profile"]) for one in gpu["instances"]] == [(4, "3g.40gb"), (0, "1g.10gb")]
    assert gpu["services"][0]["service"]["sm_percent"] == 50.0
    assert other["clients"] == [{"pid": 31337, "name": "python", "start": None}]
    assert (data["newest_sequence"], data["problems"]) == (7, [])


def test_a_service_that_nothing_says_how_to_start_is_named(status, tmp_path):
    node = SimulatedNode.unused({0: "V100-SXM2-16GB"})
    node.apply(StartService(0, Service("bert")), 10)
    gpu = node.state()[0]
    waiting = replace(gpu, services=tuple(replace(one, pids=()) for one in gpu.services))
    write_node(tmp_path / "node.json", NodeRecord({0: waiting}))
    assert "not started: no template" in status("--device", f"simulated:{tmp_path / 'node.json'}").output


def test_a_service_whose_process_ended_is_not_one_without_a_template(status, tmp_path):
    node = SimulatedNode.unused({0: "V100-SXM2-16GB"})
    node.apply(StartService(0, Service("bert")), 10)
    gpu = node.state()[0]
    ended = replace(gpu, services=tuple(replace(one, pids=(), healthy=False) for one in gpu.services))
    write_node(tmp_path / "node.json", NodeRecord({0: ended}))
    output = status("--device", f"simulated:{tmp_path / 'node.json'}").output
    assert "! ended: none of its processes runs any more" in output
    assert "no template" not in output


def test_what_was_applied_and_what_the_agent_does_are_shown(status, node_file, tmp_path):
    (tmp_path / "state").mkdir()
    applied = {"when": "2026-11-21T12:00:00Z", "plan": {"source": "https://plans/x", "sha256": "", "sequence": 9}}
    (tmp_path / "state/applied.json").write_text(json.dumps(applied))
    doing = {"doing": "waiting", "reason": "GPU 0 is in use", "when": "2026-11-21T12:01:00Z"}
    (tmp_path / "state/state.json").write_text(json.dumps(doing))
    output = status("--device", node_file).output
    assert "Plan: https://plans/x, number 9, applied 2026-11-21T12:00:00Z" in output
    assert "Agent: waiting: GPU 0 is in use (2026-11-21T12:01:00Z)" in output


def test_a_damaged_file_is_a_problem_and_hides_nothing(status, node_file, tmp_path):
    (tmp_path / "state").mkdir()
    (tmp_path / "state/applied.json").write_text("{")
    done = status("--device", node_file)
    assert done.exit_code == 1
    assert "applied.json: cannot be read" in done.output
    assert "MIG on" in done.output


def test_a_file_that_others_may_write_is_a_problem_and_hides_nothing(status, node_file, tmp_path):
    (tmp_path / "state").mkdir()
    (tmp_path / "state/state.json").write_text("{}")
    (tmp_path / "state/state.json").chmod(0o666)
    done = status("--device", node_file)
    assert done.exit_code == 1
    assert "state.json: cannot be read: has mode 0666" in " ".join(done.output.split())
    assert "MIG on" in done.output


def test_a_node_behind_nvml_shows_driver_and_virtual_gpus(status, nvml_node):
    node = nvml_node(HOPPER)
    node.nvml.virtualization = 2
    done = status("--device", "nvml")
    assert done.exit_code == 0, done.output
    assert "driver 580.65.06" in done.output
    assert "vgpu-guest: GPU 0 is a virtual one" in done.output


def test_the_catalogue_is_compared_with_the_driver(status, nvml_node):
    node = nvml_node(HOPPER, "V100-SXM2-16GB")
    done = status("--catalogue")
    assert done.exit_code == 0
    assert "agrees with the driver" in done.output
    node.nvml.kinds = 5
    done = status("--catalogue")
    assert done.exit_code == 1
    assert f"GPU 0 ({HOPPER}): 1g.10gb+me is in the catalogue, and this driver does not offer it" in done.output


def run_alone(*arguments, code=None, **variables):
    command = [sys.executable, *(["-c", code] if code else ["-m", "sliceplan.agent.cli"]), *arguments]
    environment = {**os.environ, **variables}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_without_a_gpu_it_says_so_in_a_sentence(tmp_path):
    done = run_alone("status", "--device", "nvml", "--state", str(tmp_path))
    if "0 GPUs" not in done.stdout:
        skip_without(NO_GPU)
    assert done.returncode == 1
    assert "This node has no NVIDIA driver" in done.stdout
    assert "Traceback" not in done.stderr


def test_without_the_binding_it_names_what_to_install(tmp_path):
    code = (
        "import sys; sys.modules['pynvml'] = None; from sliceplan.agent.cli import main; "
        f"sys.argv = ['x', 'status', '--device', 'nvml', '--state', {str(tmp_path)!r}]; main()"
    )
    done = run_alone(code=code)
    assert done.returncode == 1
    assert "pip install 'sliceplan[agent]'" in done.stdout


def test_status_loads_no_solver_and_no_cryptography(tmp_path):
    heavy = ("ortools", "numpy", "pulp", "scipy", "streamlit", "cryptography", "ssl")
    code = (
        "import sys; from sliceplan.agent.cli import app; "
        f"app(['status', '--device', 'nvml', '--state', {str(tmp_path)!r}], standalone_mode=False); "
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    assert run_alone(code=code).stdout.splitlines()[-1] == "[]"


@pytest.fixture
def applied(tmp_path, node_file):
    """A node on which what it has was applied."""
    assert node_file.endswith("node.json")
    folder = StateFolder(tmp_path / "state")
    folder.prepare()
    node = SimulatedNodeFile(tmp_path / "node.json")
    state = {0: settled(node.state())[0]}
    node.apply(DestroyInstance(0, "1g.10gb", 0), 10)
    write_applied(folder, Applied("2026-11-22T12:00:00Z", state, None, ""))
    return node


@pytest.mark.usefixtures("applied")
def test_a_node_that_has_what_was_applied_says_so(status, node_file):
    done = status("--device", node_file)
    assert done.exit_code == 0, done.output
    assert "The node has what was applied." in done.output
    assert json.loads(status("--device", node_file, "--json").output)["differences"] == []


def test_what_differs_from_what_was_applied_is_named_each_by_each(applied, status, node_file):
    for step in (StopService(0, SERVICE), StopMps(0, 4), CreateInstance(0, "1g.10gb", 1)):
        applied.apply(step, 10)
    done = status("--device", node_file)
    assert done.exit_code == 1
    drift = [
        "GPU 0: 1g.10gb at 1 is left over",
        "GPU 0: the MPS daemon of the instance at 4 is missing",
        "GPU 0: bert at 50 % in the instance at 4 is missing",
    ]
    assert "! The node differs from what was applied" in done.output
    assert [line.strip() for line in done.output.splitlines() if line.startswith("    GPU 0: ")] == drift
    assert json.loads(status("--device", node_file, "--json").output)["differences"] == drift


def test_what_a_reboot_took_is_named(applied, status, node_file):
    applied.reboot()
    done = status("--device", node_file)
    assert done.exit_code == 1
    for text in ("MIG mode is off", "3g.40gb at 4 is missing", "bert at 50 % in the instance at 4 is missing"):
        assert f"GPU 0: {text}" in done.output
