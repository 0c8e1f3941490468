"""One agent works at a time on a node and in a folder, and who has to wait is told for whom."""

import os

import pytest

from sliceplan.agent.devices.simulated.node import SimulatedNode
from sliceplan.agent.model.node import GpuState
from sliceplan.agent.transition.lock import alone, locked
from sliceplan.agent.transition.state_folder import LOCK
from sliceplan.solver.model.errors import InputError

NODE = SimulatedNode.in_state({0: GpuState("T4", False)})


def test_the_lock_of_the_node_holds_for_other_folders_and_is_made_where_there_is_none(session_of, tmp_path):
    path = tmp_path / "run" / "node.lock"
    session = session_of(NODE, node_lock=path)
    with alone(session):
        assert path.read_text() == f"{os.getpid()}\n"
        with pytest.raises(InputError) as refused, alone(session):
            pytest.fail("two agents on one node")
    assert f"the node's lock is held by another sliceplan-agent (pid {os.getpid()})" in str(refused.value)
    with alone(session), pytest.raises(InputError, match=r"lock: is held"), locked(session.folder):
        pytest.fail("two agents in one folder")
    with alone(session):
        pass


def test_a_holder_that_could_not_note_itself_is_unknown(folder):
    with locked(folder):
        (folder.path / LOCK).write_bytes(b"")
        with pytest.raises(InputError, match=r"\(pid unknown\)"), locked(folder):
            pytest.fail("two agents in one folder")


def test_a_lock_that_cannot_be_opened_is_an_error_with_its_path(session_of, tmp_path):
    (tmp_path / "file").write_text("")
    session = session_of(NODE, node_lock=tmp_path / "file" / "node.lock")
    with pytest.raises(InputError, match=r"file/node\.lock.*another agent could drive this node too"), alone(session):
        pytest.fail("nobody knows who drives the node")
