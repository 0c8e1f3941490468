"""Two agents with folders of their own do not drive one node together."""

import fcntl
import os
from pathlib import Path

import pytest

from sliceplan.agent.devices.simulated.node import SimulatedNode, SimulatedNodeFile, record_of, write_node
from sliceplan.agent.model.desired import Desired, PlanReference
from sliceplan.agent.model.node import GpuState
from sliceplan.agent.setup.opening import Words, configured, node_lock_of, open_agent
from sliceplan.agent.transition.lock import alone
from sliceplan.agent.transition.reconcile import Rules, look
from sliceplan.solver.model.errors import InputError

WANTED = Desired({0: GpuState("H100-80GB-SXM", True)}, PlanReference("plan.json", "0" * 64))


@pytest.fixture
def node(tmp_path):
    path = tmp_path / "node.json"
    write_node(path, record_of(SimulatedNode.unused({0: "H100-80GB-SXM"}).state()))
    return path


def session(node, state):
    words = Words(device=f"simulated:{node}", state=node.parent / state, node="n1", unsigned=True)
    return open_agent(words, say=lambda _: None).session


def test_another_folder_does_not_let_a_second_agent_in(node):
    with alone(session(node, "one")):
        held = r"\.node\.json\.lock: the node's lock is held by another sliceplan-agent"
        with pytest.raises(InputError, match=held), alone(session(node, "two")):
            pytest.fail("both had it")
        found = look(session(node, "two"), lambda: lambda _: WANTED, list, Rules(allow_reset=True))
        assert found.doing == "needs attention"
        assert not SimulatedNodeFile(node).state()[0].mig_enabled
    found = look(session(node, "two"), lambda: lambda _: WANTED, list, Rules(allow_reset=True))
    assert found.doing == "applied"


def test_the_holder_of_the_nodes_lock_is_named(node):
    lock = node_lock_of(configured(Words(device=f"simulated:{node}")))
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        held.write("4242\n")
        held.flush()
        with pytest.raises(InputError, match=r"\(pid 4242\)"), alone(session(node, "one")):
            pytest.fail("locked")


def test_agents_of_real_gpus_lock_one_file_whatever_their_folders():
    places = (Words(device="nvml"), Words(device="nvml", state=Path("/var/lib/other"), node="n2"))
    locks = {node_lock_of(configured(words)) for words in places}
    assert [str(lock) for lock in locks] == ["/run/sliceplan/node.lock"]


@pytest.mark.parametrize("plant", ["link", "pipe"])
def test_a_planted_lock_is_not_taken(node, plant):
    lock = node.with_name(".node.json.lock")
    if plant == "link":
        (node.parent / "theirs").write_text("theirs")
        lock.symlink_to(node.parent / "theirs")
    else:
        os.mkfifo(lock)
    with (
        pytest.raises(InputError, match="so that another agent could drive this node too"),
        alone(session(node, "one")),
    ):
        pytest.fail("locked")
