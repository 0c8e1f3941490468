"""Traces of others who change a node's GPUs."""

import shutil
import subprocess
from pathlib import Path

import pytest
from support.waiting import wait_until

from sliceplan.agent.system import processes
from sliceplan.agent.system.other_managers import cpu_managers, find_other_managers, refusing


def owners(root, **options):
    return [trace.owner for trace in find_other_managers(root, **options)]


def test_a_node_of_its_own_has_no_other_owner(tmp_path):
    assert find_other_managers(tmp_path) == []


@pytest.mark.parametrize(
    ("file", "owner"),
    [
        ("var/lib/kubelet/plugins/gpu.nvidia.com/dra.sock", "dra-driver"),
        ("run/nvidia/validations/driver-ready", "gpu-operator"),
    ],
)
def test_files_of_others_are_found(tmp_path, file, owner):
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.touch()
    assert owners(tmp_path) == [owner]


def test_a_unit_that_is_enabled_is_a_sign_even_if_its_link_leads_nowhere(tmp_path):
    path = tmp_path / "etc/systemd/system/multi-user.target.wants/nvidia-mig-manager.service"
    path.parent.mkdir(parents=True)
    path.symlink_to("/lib/systemd/system/nvidia-mig-manager.service")
    assert owners(tmp_path) == ["mig-manager"]


def test_labels_are_read_where_they_are_files_or_given(tmp_path):
    folder = tmp_path / "etc/kubernetes/node-feature-discovery/features.d"
    folder.mkdir(parents=True)
    (folder / "gfd").write_text("nvidia.com/gpu.count=8\nnvidia.com/mig.config=all-balanced\n")
    assert owners(tmp_path) == ["mig-manager"]
    assert owners(tmp_path, labels=["nos.nebuly.com/gpu-partitioning=mig"]) == ["mig-manager", "nos"]


def test_a_program_that_runs_is_found_with_its_process(tmp_path):
    program = tmp_path / "gpu-kubelet-plugin"
    shutil.copy("/bin/sleep", program)
    with subprocess.Popen([program, "60"]) as process:
        # The kernel shows a program's arguments a moment after it began.
        wait_until(Path(f"/proc/{process.pid}/cmdline").read_bytes)
        traces = find_other_managers(tmp_path)
        process.kill()
    assert [str(trace) for trace in traces] == [f"dra-driver: its program gpu-kubelet-plugin runs (pid {process.pid})"]


def test_an_owner_that_the_configuration_names_refuses_nothing(tmp_path):
    traces = find_other_managers(tmp_path, labels=["nvidia.com/mig.config=x"])
    (reason,) = refusing(traces, [])
    assert reason.startswith("mig-manager: the node has the label nvidia.com/mig.config=x; stop it")
    assert refusing(traces, ["mig-manager"]) == []


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["/usr/bin/gpu-kubelet-plugin", "-v"], True),
        (["/bin/sh", "/opt/gpu-kubelet-plugin"], True),
        (["/bin/grep", "-r", "gpu-kubelet-plugin"], False),
        (["/bin/tail", "-f", "/var/log/gpu-kubelet-plugin"], False),
        ([], False),
    ],
)
def test_a_program_is_named_by_its_first_word_or_its_interpreters_first_argument(tmp_path, monkeypatch, words, found):
    """A person who looks for the program is not the program."""
    monkeypatch.setattr(processes, "pids", lambda: [1])
    monkeypatch.setattr(processes, "arguments", lambda _pid: words)
    assert bool(find_other_managers(tmp_path)) == found


@pytest.mark.parametrize(
    ("state", "found"),
    [
        ('{"policyName": "static", "defaultCpuSet": "0-3", "checksum": 1}', ["kubelet-cpus"]),
        ('{"policyName": "none", "defaultCpuSet": ""}', []),
        ("[]", []),
        ("not JSON", []),
        (None, []),
    ],
)
def test_a_kubelet_that_gives_out_cores_is_found(tmp_path, state, found):
    file = tmp_path / "var/lib/kubelet/cpu_manager_state"
    file.parent.mkdir(parents=True)
    if state is not None:
        file.write_text(state)
    assert [trace.owner for trace in cpu_managers(tmp_path)] == found
