"""`sliceplan import-state` and `check-catalogue` as a user runs them."""

import json

import pytest
from problems.shop import SHOP_PLAN
from stand_ins.driver_listings import lgip, lgipp
from support.command_line import assert_refused, sliceplan

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
