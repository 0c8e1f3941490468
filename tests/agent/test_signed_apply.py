"""A signed plan on a node behind NVML, from the command line to processes that run; and again after a reboot."""

import os
import shutil
import signal

import pytest
import yaml
from typer.testing import CliRunner

from sliceplan.agent.cli import app
from sliceplan.agent.model.differences import differences
from sliceplan.agent.model.plan_files import node_share


@pytest.fixture
def node(nvml_node, plan, trust, tmp_path, monkeypatch):
    """A node with the GPUs of the plan, its configuration, and functions to publish plans and to give commands."""
    monkeypatch.setattr("sliceplan.agent.setup.device.find_other_managers", list)
    data = plan.model_dump(mode="json")
    types = [gpu["gpu"] for gpu in data["gpus"]]
    node = nvml_node(*types)
    keys = tmp_path / "keys"
    shutil.copytree(trust.keys, keys)
    config = {
        "version": 1,
        "node": "n1",
        "plan": {"source": str(tmp_path / "plan.json")},
        "trusted_keys": str(keys),
        "state_dir": str(tmp_path / "state"),
        "run_dir": str(tmp_path / "run"),
        "node_lock": str(tmp_path / "run" / "node.lock"),
        "allow_reset": True,
        "services": {"*": {"command": ["/bin/sleep", "600"], "runner": "process"}},
    }
    (tmp_path / "agent.yaml").write_text(yaml.safe_dump(config))
    (tmp_path / "agent.yaml").chmod(0o600)

    def publish(sequence, key="signer"):
        (tmp_path / "plan.json").write_bytes(trust.signed(plan, key, sequence=sequence))

    def agent(*words):
        return CliRunner().invoke(app, [*words, "--config", str(tmp_path / "agent.yaml")])

    node.publish, node.agent, node.config = publish, agent, tmp_path / "agent.yaml"
    node.wanted = node_share(plan, "n1", "plan.json")
    return node


def is_at_plan(node):
    return differences(node.device.state(), node.wanted) == []


def test_a_signed_plan_is_applied_kept_and_brought_back_after_a_reboot(node):
    node.publish(5)
    done = node.agent("apply", "--yes")
    assert done.exit_code == 0, done.output
    assert is_at_plan(node)
    state = node.device.state()
    pids = [pid for gpu in state.values() for one in gpu.services for pid in one.pids]
    assert pids
    shown = node.agent("status").output
    assert f"pid {pids[0]}" in shown
    assert "number 5" in shown

    before = node.nvml.node._read().calls
    assert node.agent("run", "--once").exit_code == 0
    assert node.nvml.node._read().calls == before, "what is at its plan is not touched"

    node.publish(4)
    done = node.agent("run", "--once")
    assert done.exit_code == 1
    assert "expected more than 5" in done.output
    assert is_at_plan(node), "a refused plan changes nothing"
    node.publish(5)

    reboot(node, pids)
    assert node.device.state()[0].instances == ()
    done = node.agent("run", "--once")
    assert done.exit_code == 0, done.output
    assert is_at_plan(node)


def reboot(node, pids):
    """Ends all that the agent started and empties what does not survive a reboot."""
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    for pid in node.mps.running().values():
        os.kill(pid, signal.SIGKILL)
    shutil.rmtree(node.folder / "run")
    node.nvml.node.reboot()


def test_a_plan_that_a_stranger_signed_changes_nothing(node):
    node.publish(5, "stranger")
    done = node.agent("apply", "--yes")
    assert "hold for no trusted key" in str(done.exception)
    assert node.nvml.node._read().calls == 0
    assert not (node.folder / "run" / "services").exists()


def test_a_rollback_ends_the_services_and_frees_the_gpus(node):
    node.publish(5)
    assert node.agent("apply", "--yes").exit_code == 0
    done = node.agent("rollback", "--yes")
    assert done.exit_code == 0, done.output
    assert all(not gpu.services and not gpu.instances and not gpu.daemons for gpu in node.device.state().values())


def test_workloads_without_a_template_are_named_before_anything_happens(node):
    text = yaml.safe_load(node.config.read_text())
    del text["services"]
    node.config.write_text(yaml.safe_dump(text))
    node.publish(5)
    done = node.agent("apply", "--dry-run")
    assert "Not started: w0 has no template" in done.output
    assert node.nvml.node._read().calls == 0


def test_apply_names_what_the_driver_has_otherwise_than_the_catalogue(node):
    node.publish(5)
    assert "by the driver" not in (before := node.agent("apply", "--dry-run").output)
    assert "this driver does not offer it" not in before
    node.nvml.kinds = 5
    done = node.agent("apply", "--dry-run")
    assert "! GPU 0 (A100-80GB): 1g.10gb+me is in the catalogue, and this driver does not offer it" in done.output
