"""`sliceplan export` as a user runs it."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from problems.instances import ROOT
from problems.shop import SHOP, SHOP_PLAN
from support.command_line import assert_refused, sliceplan
from typer.testing import CliRunner

from sliceplan.solver.cli import app
from sliceplan.solver.commands.exporting import _files_by_node, _problem_of
from sliceplan.solver.formats.exports.registry import TARGETS
from sliceplan.solver.formats.plan_files import dump_plan, read_plan
from sliceplan.solver.model import digest
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.plan import PlanViolation, Status
from sliceplan.solver.model.stop_reason import StopReason

PLAN = SHOP_PLAN
LISTED = "".join(
    f"GPU {i}: NVIDIA A100-SXM4-80GB (UUID: GPU-0000000{i}-2222-3333-4444-555555555555)\n" for i in range(4)
)


def test_one_file_goes_to_stdout_and_notes_to_stderr():
    done = sliceplan("export", PLAN, "--format", "mig-parted")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("# Plan demo of sliceplan, node gpu-node-1.")
    assert "carries counts only" in done.stderr
    assert max(map(len, done.stderr.splitlines())) <= 80


def test_help_lists_every_format_within_80_columns():
    done = sliceplan("export", "--help", env={"COLUMNS": "80", "PATH": "/usr/bin"})
    assert max(map(len, done.stdout.splitlines())) <= 80
    for name in [*TARGETS, "commands"]:
        assert f"{name}:" in done.stdout


def test_several_files_take_a_folder(tmp_path):
    arguments = ("export", PLAN, "--format", "triton", "--problem", SHOP)
    assert_refused(sliceplan(*arguments), "--output: is missing; triton writes 10 files into a folder")
    done = sliceplan(*arguments, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "out").rglob("config.pbtxt"))) == 10


def test_a_refusal_writes_nothing(tmp_path):
    done = sliceplan("export", PLAN, "--format", "device-plugin", "-o", tmp_path / "out")
    assert_refused(done, "A100-80GB/0 partitions[0] runs 3 processes through MPS", "use --format dra or commands")
    assert not (tmp_path / "out").exists()


def test_uuids_come_from_nvidia_smi_or_json(tmp_path):
    listed, as_json = tmp_path / "l.txt", tmp_path / "l.json"
    listed.write_text(LISTED)
    as_json.write_text(json.dumps({str(i): f"GPU-0000000{i}-2222-3333-4444-555555555555" for i in range(4)}))
    arguments = ("export", PLAN, "--format", "mig-parted-checkpoint", "--uuids")
    first, second = sliceplan(*arguments, listed), sliceplan(*arguments, f"gpu-node-1={as_json}")
    assert first.returncode == 0, first.stderr
    assert first.stdout == second.stdout
    assert len(json.loads(first.stdout)["MigState"]["Devices"]) == 3


def test_the_rest_of_a_node_is_listed_with_mig_off_where_it_is_asked_for(tmp_path):
    path = tmp_path / "l.txt"
    path.write_text(LISTED)
    arguments = ("export", PLAN, "--format", "mig-parted", "--uuids", path)
    kept, off = sliceplan(*arguments), sliceplan(*arguments, "--rest", "mig-off")
    assert "Not in the plan, left as they are: GPU 3 of gpu-node-1" in " ".join(kept.stderr.split())
    assert "devices: [3]" not in kept.stdout
    assert "  - devices: [3]\n    mig-enabled: false\n" in off.stdout
    assert_refused(sliceplan(*arguments[:4], "--rest", "mig-off"), "--uuids: is missing for gpu-node-1: --rest mig-off")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "lists no GPU; expected the output of `nvidia-smi -L`"),
        ("GPU 0: X (UUID: GPU-123)", "has the UUID 'GPU-123'; expected GPU- and 32 hexadecimal digits"),
        (LISTED + LISTED, "has the index 0 twice"),
        ('{"a": 1}', "is JSON, but not of GPU indices and UUIDs"),
        ('{"0": ', "is not valid JSON"),
    ],
)
def test_wrong_uuids_are_refused(tmp_path, text, message):
    path = tmp_path / "l.txt"
    path.write_text(text)
    assert_refused(sliceplan("export", PLAN, "--format", "mig-parted-checkpoint", "--uuids", path), message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--format", "mig-partd"), "--format: mig-partd is no format of plans. Did you mean 'mig-parted'?"),
        (("--format", "triton", "--problem", ROOT / "plans" / "igniter.yaml"), "is not the problem that"),
        (("--format", "csv", "--uuids", "node=x"), "--uuids: node is no node of the plan"),
        (("--format", "deployments", "--image", "a", "--image", "b"), "--image: b is given twice"),
        (("--format", "deployments", "--image", "a="), "--image: a= is empty"),
        (("--format", "deployments"), "--image: is missing for search-embedding"),
    ],
)
def test_wrong_options_are_refused(arguments, message):
    assert_refused(sliceplan("export", PLAN, *arguments), message)


def on_nodes(*nodes):
    return SimpleNamespace(gpus=[SimpleNamespace(node=node) for node in nodes])


@pytest.mark.parametrize(
    ("nodes", "texts", "files"),
    [
        (["n1", "n1", None], ["a"], {"n1": Path("a")}),
        ([None], ["a"], {"": Path("a")}),
        (["n1", "n2"], ["n1=a", "n2=b"], {"n1": Path("a"), "n2": Path("b")}),
        (["n1", "n2"], [], {}),
        (["n1", "n2"], ["a"], "--uuids: a is of which node? The plan has n1, n2; write NODE=a"),
        (["n1"], ["n2=a"], "--uuids: n2 is no node of the plan."),
    ],
)
def test_a_file_is_of_the_node_that_is_named_or_of_the_only_one(nodes, texts, files):
    if isinstance(files, dict):
        assert _files_by_node(on_nodes(*nodes), texts, "--uuids") == files
        return
    with pytest.raises(InputError) as refused:
        _files_by_node(on_nodes(*nodes), texts, "--uuids")
    assert str(refused.value).startswith(files)


@pytest.mark.parametrize(("book", "is_taken"), [("aws", True), (None, False)])
def test_a_problem_at_other_prices_is_the_one_that_a_plan_answers(monkeypatch, book, is_taken):
    plan = read_plan(PLAN).model_copy(update={"problem": None})
    monkeypatch.setattr(digest, "made_with", lambda *_: book)
    if is_taken:
        assert _problem_of(plan, PLAN, SHOP, None).workloads
    else:
        with pytest.raises(InputError, match="is not the problem that"):
            _problem_of(plan, PLAN, SHOP, None)


def run(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


def test_that_a_plan_misses_slos_is_said_of_what_is_written_from_it(tmp_path):
    plan, written = read_plan(PLAN), tmp_path / "plan.json"
    missed = PlanViolation(gpu=plan.gpus[0].id, workload=None, message="m", excess=0.1)
    search = plan.search.model_copy(update={"stopped": StopReason.HEURISTIC_DONE})
    changed = {"violations": (missed,), "status": Status.VIOLATING, "gap": None, "search": search}
    written.write_text(dump_plan(plan.model_copy(update=changed)))
    misses = "note: The plan misses SLOs (status violating), and so will this.\n"
    assert misses in run("export", written, "--format", "csv").stderr
    assert misses not in run("export", PLAN, "--format", "csv").stderr


def test_one_file_and_several_are_named_where_they_are_written_into_a_folder(tmp_path):
    done = run("export", PLAN, "--format", "mig-parted", "-o", tmp_path / "out")
    (name,) = (tmp_path / "out").iterdir()
    assert done.stderr.splitlines()[0] == str(name)
    assert done.stdout == ""


def test_an_assigned_plan_goes_to_stdout_or_is_counted(tmp_path):
    nodes = ("--nodes", "n1:2", "--nodes", "n2:8")
    done = run("assign", PLAN, *nodes)
    assert {gpu["node"] for gpu in json.loads(done.stdout)["gpus"]} == {"n1", "n2"}
    done = run("assign", PLAN, *nodes, "-o", tmp_path / "plan.json")
    assert (done.stdout, done.stderr) == ("", f"{tmp_path / 'plan.json'}: 3 GPUs on 2 nodes.\n")
    assert {gpu.node for gpu in read_plan(tmp_path / "plan.json").gpus} == {"n1", "n2"}
    assert run("assign", PLAN, "--nodes", "n1:8", "-o", tmp_path / "plan.json").stderr.endswith("3 GPUs on 1 node.\n")
