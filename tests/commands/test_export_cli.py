"""`sliceplan export` as a user runs it."""

import json

import pytest
from problems.instances import ROOT
from problems.shop import SHOP, SHOP_PLAN
from support.command_line import assert_refused, sliceplan

from sliceplan.solver.formats.exports.registry import TARGETS

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
