"""`sliceplan import-state` and `check-catalogue` as a user runs them."""

import json
from types import SimpleNamespace

import pytest
from problems.shop import SHOP_PLAN
from stand_ins.driver_listings import lgip, lgipp
from support.command_line import assert_refused, sliceplan
from typer.testing import CliRunner

from sliceplan.solver.cli import app
from sliceplan.solver.commands.live_state import StateFormat, _ask_for_what_is_missing, _gpu_types
from sliceplan.solver.formats.live_state import catalogue_check, live_gpus, node_json
from sliceplan.solver.formats.plan_files import dump_plan, read_plan
from sliceplan.solver.model.errors import InputError

PLAN = SHOP_PLAN
TABLE = "|   0  MIG 3g.40gb          9        2          4:4     |\n"
PLACES = "GPU  0 Profile ID  9 Placements: {0,4}:4\n"


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "lgi.txt"
    path.write_text(TABLE)
    return path


def test_a_state_becomes_a_plan_that_show_and_the_agent_take(table, tmp_path):
    now = tmp_path / "now.json"
    done = sliceplan(
        "import-state",
        "nvidia-smi-lgi",
        table,
        "--gpu",
        "A100-80GB",
        "--node",
        "gpu-node-1",
        "--services",
        PLAN,
        "-o",
        now,
    )
    assert done.returncode == 0, done.stderr
    assert "1 GPU, 1 partition of gpu-node-1" in done.stderr
    (part,) = json.loads(now.read_text())["gpus"][0]["partitions"]
    assert part["serves"][0]["workload"] == "video-thumbs"
    assert json.loads(now.read_text())["made_by"].startswith("sliceplan ")
    assert sliceplan("show", now).returncode == 0


def test_everything_that_the_file_does_not_tell_is_asked_for_at_once(table):
    done = sliceplan("import-state", "nvidia-smi-lgi", table)
    assert_refused(done, "--gpu: is missing", "--node: is missing", "--services: the file does not tell what runs")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--gpu", "A100", "--node", "n", "--idle"), "--gpu: A100 is not in the catalogue"),
        (("--gpu", "A100-80GB", "--node", "n_", "--idle"), "--node: n_ is no name of a node"),
        (("--gpu", "x=A100-80GB", "--node", "n", "--idle"), "--gpu: x=A100-80GB expected TYPE or INDEX=TYPE"),
        (("--gpu", "T4", "--gpu", "T4", "--node", "n", "--idle"), "--gpu: T4 is given twice for all GPUs"),
        (("--gpu", "T4", "--node", "n", "--idle"), "is no profile of T4"),
        (("--gpu", "A100-80GB", "--node", "n", "--idle", "--services", PLAN), "are given both"),
        (("--gpu", "A100-80GB", "--node", "n", "--idle", "--append"), "--append: is given without --output"),
    ],
)
def test_wrong_options_are_refused(table, arguments, message):
    assert_refused(sliceplan("import-state", "nvidia-smi-lgi", table, *arguments), message)


def test_the_catalogue_is_compared_with_the_driver(tmp_path):
    path = tmp_path / "lgipp.txt"
    path.write_text(PLACES)
    done = sliceplan("check-catalogue", path, "--gpu", "A100-80GB")
    assert done.returncode == 1
    assert "1g.10gb (19): the catalogue has it; the driver does not" in done.stdout
    assert max(map(len, (done.stdout + done.stderr).splitlines())) <= 80


def test_places_alone_cannot_tell_a_board_and_names_beside_them_can(tmp_path):
    places, names = tmp_path / "lgipp.txt", tmp_path / "lgip.txt"
    places.write_text(f"root@n1:~# nvidia-smi mig -lgipp\n{lgipp('H100-94GB-NVL')}")
    names.write_text(lgip("H100-94GB-NVL"))
    alone = sliceplan("check-catalogue", places, "--gpu", "H100-94GB-NVL")
    assert alone.returncode == 3
    said = " ".join(alone.stderr.split())
    assert "H100-94GB-NVL: cannot tell. Nothing contradicts it" in said
    assert "give `nvidia-smi mig -lgip` too" in said
    both = sliceplan("check-catalogue", places, names, "--gpu", "H100-94GB-NVL")
    assert both.returncode == 0, both.stderr
    assert "and of no other type" in both.stderr
    wrong = sliceplan("check-catalogue", names, places, "--gpu", "H100-80GB-SXM")
    assert wrong.returncode == 1
    assert "the driver has the name 3g.47gb; the catalogue 3g.40gb" in " ".join(wrong.stdout.split())


def test_the_states_of_several_nodes_become_one_plan(table, tmp_path):
    now = tmp_path / "now.json"
    arguments = ("import-state", "nvidia-smi-lgi", table, "--gpu", "A100-80GB", "--idle", "-o", now, "--append")
    for node in ("n1", "n2"):
        done = sliceplan(*arguments, "--node", node)
        assert done.returncode == 0, done.stderr
    assert "2 GPUs, 2 partitions of n1, n2." in done.stderr
    assert [gpu["node"] for gpu in json.loads(now.read_text())["gpus"]] == ["n1", "n2"]
    assert_refused(sliceplan(*arguments, "--node", "n2"), "has the node n2 already; write another file")
    now.write_text(PLAN.read_text())
    assert_refused(sliceplan(*arguments, "--node", "n1"), "only what was read from nodes can be added to")


def run(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.mark.parametrize(
    ("texts", "types"),
    [
        ([], {}),
        (["T4", "0=A100-80GB", "999=L4"], {None: "T4", 0: "A100-80GB", 999: "L4"}),
        (["1000=T4"], "--gpu: 1000=T4 expected TYPE or INDEX=TYPE"),
        (["\u00b2=T4"], "--gpu: \u00b2=T4 expected TYPE or INDEX=TYPE"),
        (["=T4"], "--gpu: =T4 expected TYPE or INDEX=TYPE"),
        (["0=T4", "0=L4"], "--gpu: 0=L4 is given twice for GPU 0"),
    ],
)
def test_a_type_is_of_all_gpus_or_of_one_by_its_index(texts, types):
    if isinstance(types, dict):
        assert _gpu_types(texts) == types
        return
    with pytest.raises(InputError) as refused:
        _gpu_types(texts)
    assert str(refused.value).startswith(types)


def test_a_node_of_kubernetes_tells_its_name_and_its_gpus():
    assert _ask_for_what_is_missing(StateFormat.NODE_JSON, None, None, None, idle=True) is None
    with pytest.raises(InputError, match=r"^--services: the file does not tell what runs in the partitions"):
        _ask_for_what_is_missing(StateFormat.NODE_JSON, None, None, None, idle=False)


@pytest.mark.parametrize(("words", "name"), [([], "named"), (["--node", "other"], "other")])
def test_a_name_that_is_given_comes_before_the_files(monkeypatch, table, words, name):
    names, plan = [], read_plan(PLAN)
    monkeypatch.setattr(node_json, "read_node", lambda *_: ("named", "state"))
    found = lambda _state, named, *_: (names.append(named) or plan, ["something is odd"])  # noqa: E731
    monkeypatch.setattr(live_gpus, "running_plan", found)
    done = run("import-state", "node-json", table, "--idle", *words)
    assert (done.exit_code, names) == (0, [name])
    assert (done.stdout, done.stderr) == (dump_plan(plan), "note: something is odd\n")


def test_without_append_a_file_is_written_over(table, tmp_path):
    now = tmp_path / "now.json"
    for node in ("n1", "n2"):
        words = ("--gpu", "A100-80GB", "--idle", "-o", now, "--node", node)
        assert run("import-state", "nvidia-smi-lgi", table, *words).exit_code == 0
    assert [gpu.node for gpu in read_plan(now).gpus] == ["n2"]


@pytest.mark.parametrize(
    ("alike", "has_names", "words"),
    [
        (("a",), True, "nothing contradicts a: what the catalogue knows is the same."),
        (tuple("abcde"), False, "nothing contradicts a, b, c, d, e: give `nvidia-smi mig -lgip` too."),
        (tuple("abcdef"), False, "nothing contradicts a, b, c, d, e and 1 more: give `nvidia-smi mig -lgip` too."),
    ],
)
def test_types_that_could_be_it_as_well_are_named(monkeypatch, tmp_path, alike, has_names, words):
    path = tmp_path / "lgipp.txt"
    path.write_text(PLACES)
    found = SimpleNamespace(differences=(), alike=alike, has_names=has_names)
    monkeypatch.setattr(catalogue_check, "check_catalogue", lambda *_: found)
    done = run("check-catalogue", path, "--gpu", "A100-80GB")
    assert done.exit_code == 3
    assert done.stderr == f"A100-80GB: cannot tell. Nothing contradicts it, and {words}\n"
    found.differences = ("1g.10gb: one",)
    done = run("check-catalogue", path, "--gpu", "A100-80GB")
    assert (done.exit_code, done.stdout) == (1, "1g.10gb: one\n")
    assert done.stderr == "A100-80GB: 1 difference; a plan for such a GPU may not be applicable.\n"
