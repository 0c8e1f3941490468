"""
What others may have put into the agent's folders: it is named, and not obeyed, followed, waited for or written through.
"""

import os
import subprocess
import sys

import pytest
from support.needs import ROOT_USER, reason

from sliceplan.agent.devices.simulated.node import SimulatedNode
from sliceplan.agent.files import guarded_folder
from sliceplan.agent.files.guarded_folder import GuardedFolder
from sliceplan.agent.model.desired import PlanReference
from sliceplan.agent.model.node import GpuState, Instance
from sliceplan.agent.services.records import read_records
from sliceplan.agent.setup.following import desired_of
from sliceplan.agent.setup.opening import Words, open_agent
from sliceplan.agent.status.report import look
from sliceplan.agent.transition.applying import apply_transition
from sliceplan.agent.transition.journal import unfinished
from sliceplan.agent.transition.lock import locked
from sliceplan.agent.transition.preflight import plan_transition
from sliceplan.agent.transition.session import Session
from sliceplan.agent.transition.state_folder import APPLIED, JOURNAL, LOCK, STATE, StateFolder
from sliceplan.agent.trust.keys import generate, read_private
from sliceplan.agent.trust.plan_source import PlanSource
from sliceplan.agent.trust.sequence import FILE, read_newest
from sliceplan.solver.model.errors import InputError

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason=reason(ROOT_USER))

FILES = (JOURNAL, APPLIED, STATE, LOCK, FILE)


@pytest.fixture
def folder(tmp_path):
    made = StateFolder(tmp_path / "state")
    made.prepare()
    return made


def pipe(path):
    os.mkfifo(path)


def link(path):
    target = path.parent.parent / "elsewhere"
    target.write_text("theirs\n")
    path.symlink_to(target)


def open_to_all(path):
    path.write_text("theirs\n")
    path.chmod(0o666)


def of_the_group(path):
    path.write_text("theirs\n")
    path.chmod(0o620)


def anothers(path):
    path.write_text("theirs\n")
    os.chown(path, 12345, 0)


def folder_in_its_place(path):
    path.mkdir()


PLANTED = [
    (pipe, "no regular file"),
    (link, "a symbolic link"),
    (open_to_all, "has mode 0666"),
    (of_the_group, "has mode 0620"),
    pytest.param(anothers, "belongs to user 12345", marks=needs_root),
    (folder_in_its_place, "no regular file|Is a directory"),
]


@pytest.mark.parametrize(("plant", "message"), PLANTED)
@pytest.mark.parametrize("name", FILES)
def test_a_planted_file_is_named_and_neither_read_nor_written(folder, name, plant, message):
    plant(folder.path / name)
    with pytest.raises(InputError, match=message) as caught:
        {JOURNAL: unfinished, FILE: read_newest, LOCK: lambda one: locked(one).__enter__()}.get(
            name, lambda one: one.read(name)
        )(folder)
    assert str(caught.value).startswith(str(folder.path / name))
    if name != LOCK:
        with pytest.raises(InputError, match="cannot be written"):
            folder.append(name, b"ours\n")
    if plant is link:
        assert (folder.path.parent / "elsewhere").read_text() == "theirs\n"


@pytest.mark.parametrize("mode", [0o777, 0o720, 0o702, 0o1777])
def test_a_folder_that_others_can_write_to_is_not_worked_in(folder, mode):
    folder.write(JOURNAL, b"1\n")
    folder.path.chmod(mode)
    for act in (lambda: folder.read(JOURNAL), lambda: folder.append(JOURNAL, b"2\n"), lambda: folder.write("a", b"")):
        with pytest.raises(InputError, match=f"its folder has mode {mode:04o}.*chmod go-w"):
            act()
    with pytest.raises(InputError, match="has mode"), locked(folder):
        pytest.fail("locked")
    assert {path.name for path in folder.path.iterdir()} == {JOURNAL}
    assert (folder.path / JOURNAL).read_bytes() == b"1\n"


@needs_root
def test_a_folder_of_another_user_is_not_worked_in(folder):
    os.chown(folder.path, 12345, 0)
    with pytest.raises(InputError, match="belongs to user 12345"), locked(folder):
        pytest.fail("locked")


def test_a_link_to_a_folder_is_not_worked_in(folder, tmp_path):
    (tmp_path / "link").symlink_to(folder.path)
    with pytest.raises(InputError, match="is a symbolic link; name the folder that it leads to"):
        StateFolder(tmp_path / "link").prepare()


def test_a_folder_that_is_opened_to_others_in_the_middle_halts_the_transition(folder):
    """What cannot be noted safely is not done; the journal stays as it was."""
    state = {0: GpuState("H100-80GB-SXM", True)}
    node = SimulatedNode.in_state(state)
    wanted = {0: GpuState("H100-80GB-SXM", True, frozenset({Instance(0, "1g.10gb"), Instance(1, "1g.10gb")}))}
    apply, calls = node.apply, []

    def opening(step, timeout_s):
        calls.append(step)
        apply(step, timeout_s)
        folder.path.chmod(0o777)

    node.apply = opening
    session = Session(node, folder, say=lambda _: None)
    outcome = apply_transition(session, plan_transition(node.state(), wanted), PlanReference("plan.json", "0" * 64))
    assert outcome.end == "halted"
    assert "its folder has mode 0777" in str(outcome)
    assert len(calls) == 1
    folder.path.chmod(0o700)
    assert unfinished(folder).in_flight


def test_files_that_a_killed_agent_left_aside_are_removed_and_those_of_running_ones_left(folder):
    ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    left = folder.path / f".{JOURNAL}.{int(ended.stdout)}.tmp"
    running = folder.path / f".{STATE}.{os.getppid()}.tmp"
    for path in (left, running):
        path.write_text("half")
    with locked(folder):
        assert not left.exists()
        assert running.exists()


@pytest.mark.parametrize("plant", [pipe, link, os.link])
def test_what_stands_where_a_file_is_written_aside_is_removed_and_not_written_to(folder, plant, tmp_path):
    aside = folder.path / f".a.{os.getpid()}.tmp"
    if plant is os.link:
        (tmp_path / "elsewhere").write_text("theirs\n")
        os.link(tmp_path / "elsewhere", aside)
    else:
        plant(aside)
    folder.write("a", b"ours")
    assert (folder.path / "a").read_bytes() == b"ours"
    assert (folder.path / "a").stat().st_mode & 0o777 == 0o600
    assert not (tmp_path / "elsewhere").exists() or (tmp_path / "elsewhere").read_text() == "theirs\n"


@pytest.mark.parametrize(("plant", "message"), PLANTED)
def test_a_planted_record_of_a_service_ends_no_process(tmp_path, plant, message):
    (tmp_path / "services").mkdir(mode=0o755)
    plant(tmp_path / "services" / "bert-gpu0.json")
    with pytest.raises(InputError, match=message):
        read_records(tmp_path / "services", "boot")


def test_a_plan_path_that_became_a_pipe_is_answered_at_once(tmp_path):
    pipe(tmp_path / "plan.json")
    for read in (PlanSource(str(tmp_path / "plan.json")).fetch, lambda: desired_of(tmp_path / "plan.json", "n1")):
        with pytest.raises(InputError, match=r"plan\.json: is no file"):
            read()


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o755])
def test_a_place_of_plans_or_keys_that_everybody_may_write_to_is_noticed(tmp_path, mode):
    """Files in a sticky folder (/tmp) are their owners' alone."""
    place = tmp_path / "place"
    place.mkdir()
    (place / "plan.json").write_text("{}")
    generate(place / "signer")
    place.chmod(mode)
    cautions = [*PlanSource(str(place / "plan.json")).cautions()]
    if mode != 0o777:
        assert cautions == []
        read_private(place / "signer")
        return
    assert [f"run: chmod o-w {place} (nobody can forge a plan so, but withhold one)" in text for text in cautions] == [
        True
    ]
    for act in (lambda: read_private(place / "signer"), lambda: generate(place / "other")):
        with pytest.raises(InputError, match=f"lies in a folder that everybody may write to; run: chmod o-w {place}"):
            act()


def test_a_plan_that_everybody_may_change_is_noticed(tmp_path):
    (tmp_path / "plan.json").write_text("{}")
    (tmp_path / "plan.json").chmod(0o666)
    (caution,) = PlanSource(str(tmp_path / "plan.json")).cautions()
    assert "may be changed by everybody" in caution


def test_the_way_to_the_state_of_a_node_with_gpus_is_looked_at(tmp_path):
    """Who can rename on the way lets the agent forget which plans it had, and take an old one."""
    (tmp_path / "way").mkdir()
    StateFolder(tmp_path / "way" / "state").prepare()
    (tmp_path / "way").chmod(0o777)
    with pytest.raises(InputError, match=f"{tmp_path}/way: has mode 0777"):
        open_agent(Words(device="nvml", state=tmp_path / "way" / "state"))


def test_status_names_what_is_planted_and_shows_the_rest(folder):
    pipe(folder.path / JOURNAL)
    open_to_all(folder.path / APPLIED)
    node = SimulatedNode.unused({0: "H100-80GB-SXM"})
    report = look("n1", node, folder.path, [], None)
    assert report.live == node.state()
    assert len(report.problems) == 2
    assert GuardedFolder(folder.path).names() == [APPLIED, JOURNAL]


def test_a_file_that_is_larger_than_any_of_the_agents_is_not_read_into_memory(folder, monkeypatch):
    monkeypatch.setattr(guarded_folder, "MAX_BYTES", 1000)
    folder.write(JOURNAL, b"1" * 1000)
    assert len(folder.read(JOURNAL)) == 1000
    folder.write(JOURNAL, b"1" * 1001)
    with pytest.raises(InputError, match="is larger than"):
        folder.read(JOURNAL)
