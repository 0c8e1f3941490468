"""What commands tell people has the labels of services; what they write has their names."""

import json
from io import StringIO

import pytest
from problems.shop import shop, shop_plan
from rich.cells import cell_len
from rich.console import Console
from support.command_line import sliceplan

from sliceplan.solver.api.exporting import by_service
from sliceplan.solver.commands.terminal import AXIS_WIDTH, draw_plan
from sliceplan.solver.formats.problem_files import write_problem
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.simulation_report import SimulationReport
from sliceplan.solver.wording.shown_names import as_shown, shown_names

NAMES = tuple(one.name for one in shop().workloads)
LABELS = ("写真 検索", "chat encoder, old", "поиск", "ไทย")


def called(**first):
    services = [one.model_copy(update={"label": label}) for one, label in zip(shop().workloads, LABELS, strict=False)]
    services[0] = services[0].model_copy(update=first)
    return shop().model_copy(update={"workloads": (*services, *shop().workloads[len(LABELS) :])})


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "shop.yaml"

    def write(**first):
        write_problem(called(**first), path)
        return path

    return write


def test_prices_are_told_by_label_and_written_by_name(file, tmp_path):
    done = sliceplan("price", file(), "--json", tmp_path / "prices.json")
    assert done.returncode == 0, done.stderr
    assert all(label in done.stdout for label in LABELS)
    written = (tmp_path / "prices.json").read_text()
    assert {one["workload"] for one in json.loads(written)["services"]} == {one.name for one in shop().workloads}


def test_reports_have_labels_beside_names(file, tmp_path):
    """Only of services that have one; what a report says of others, and of the first without it, is as ever."""
    plan, out, rates = (tmp_path / name for name in ("plan.json", "out.json", "rates.csv"))
    plan.write_text(shop_plan().model_dump_json())
    rates.write_text("seconds,service,rate_rps\n" + "".join(f"0,{name},1\n70,{name},1\n" for name in NAMES))
    for words in (
        ("price", file()),
        ("compare", file(), "--planner", "exact", "--simulate"),
        ("simulate", file(), plan, "--requests", "200"),
        ("follow", file(), rates, "--policy", "fixed"),
    ):
        done = sliceplan(*words, "--json", out)
        assert done.returncode in (0, 1, 3), done.stderr
        seen = [record for record in records(json.loads(out.read_text())) if "workload" in record]
        assert {one["workload"]: one.get("label") for one in seen} == {**dict.fromkeys(NAMES), **called().labels}
        assert all("label" in one for one in seen if one["workload"] in called().labels)
        assert not any("label" in one for one in seen if one["workload"] not in called().labels)
        if words[0] == "simulate":
            report = SimulationReport.model_validate_json(out.read_text())
            assert report.model_dump(mode="json") == json.loads(out.read_text())


def records(data):
    """Yields every record in some data."""
    if isinstance(data, dict):
        yield data
    for one in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        yield from records(one)


def test_why_there_is_no_plan_is_told_by_label(file, tmp_path):
    done = sliceplan("solve", file(slo_ms=1.0), "-o", tmp_path / "plan.json")
    assert "写真 検索" in done.stderr
    assert "search-embedding" not in done.stderr
    written = json.loads((tmp_path / "plan.json").read_text())
    assert written.pop("labels")["search-embedding"] == "写真 検索"
    assert "写真" not in json.dumps(written, ensure_ascii=False)
    compared = sliceplan("compare", file(slo_ms=1.0), "--planner", "exact")
    assert "写真 検索" in compared.stderr


def test_a_plan_holds_whatever_its_services_are_called(file, tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(shop_plan().model_dump_json())
    assert sliceplan("check", file(), path).returncode == 0
    broken = shop_plan().model_dump(mode="json")
    broken["gpus"][0]["partitions"][0]["serves"][0]["capacity_rps"] *= 2
    path.write_text(json.dumps(broken))
    done = sliceplan("check", file(), path)
    assert done.returncode == 2
    assert "does not hold" in done.stderr


def test_simulated_services_are_told_by_label_and_written_by_name(file, tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(shop_plan().model_dump_json())
    done = sliceplan("simulate", file(), path, "--requests", "300", "--csv", tmp_path / "services.csv")
    assert "写真" in done.stdout
    assert "search-embedding" not in done.stdout
    assert "search-embedding" in (tmp_path / "services.csv").read_text()


@pytest.mark.parametrize("written", ["product-photos", "chat encoder, old"])
def test_who_forces_a_step_is_told_by_label(file, written, tmp_path):
    out = tmp_path / "sweep.json"
    done = sliceplan("sweep", file(), "--axis", f"rate:{written}=1170:4680:1170", "--json", out)
    assert done.returncode in (0, 3), done.stderr
    assert "chat encoder, old" in done.stdout + done.stderr
    assert "product-photos" not in done.stdout + done.stderr
    report = json.loads(out.read_text())
    assert report.pop("labels") == called().labels
    assert {name for step in report["steps"] for name in step["services"]} == {"product-photos"}
    assert not any(label in json.dumps(report, ensure_ascii=False) for label in LABELS)


def test_who_moves_is_written_by_name_with_labels_beside(tmp_path):
    problem, plan, out = (tmp_path / name for name in ("grown.yaml", "plan.json", "moves.json"))
    write_problem(grown(), problem)
    plan.write_text(shop_plan().model_dump_json())
    done = sliceplan("replan", problem, "--running", plan, "--move-price", "0", "--json", out)
    assert done.returncode in (0, 3), done.stderr
    report = json.loads(out.read_text())
    assert report["labels"] == called().labels
    assert report["moved"]
    assert {*report["moved"]} <= {*NAMES}


def grown():
    """Three times the requests."""
    more = (one.model_copy(update={"rate_rps": 3 * one.rate_rps}) for one in called().workloads)
    return called().model_copy(update={"workloads": tuple(more)})


def test_a_plan_that_is_alone_is_told_by_label(file, tmp_path):
    problem, plan, more = file(), tmp_path / "plan.json", tmp_path / "more.json"
    assert sliceplan("solve", problem, "-o", plan).returncode == 0
    shown = sliceplan("show", plan)
    assert "写真" in shown.stdout
    assert not any(one.name in shown.stdout for one, _ in zip(shop().workloads, LABELS, strict=False))
    write_problem(grown(), problem)
    assert sliceplan("solve", problem, "-o", more).returncode == 0
    done = sliceplan("transition", plan, more, "--json", tmp_path / "way.json", "-o", tmp_path / "new.json")
    assert any(label in done.stdout for label in LABELS)
    assert not any(name in done.stdout for name in NAMES[: len(LABELS)])
    way = json.loads((tmp_path / "way.json").read_text())
    assert way.pop("labels") == called().labels
    assert "写真" not in json.dumps(way, ensure_ascii=False)
    assert json.loads((tmp_path / "new.json").read_text())["labels"]["search-embedding"] == "写真 検索"


def test_options_take_a_service_by_its_label(file, tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(shop_plan().model_dump_json())
    found = []
    for written in ("search-embedding", "写真 検索"):
        out = tmp_path / "out.json"
        done = sliceplan("simulate", file(), path, "--requests", "300", "--arrivals", f"{written}=even", "--json", out)
        assert done.returncode in (0, 1, 3), done.stderr
        found.append(json.loads(out.read_text())["services"])
    assert found[0] == found[1]
    twice = [part for written in ("search-embedding", "写真 検索") for part in ("--arrivals", f"{written}=even")]
    done = sliceplan("simulate", file(), path, "--requests", "300", *twice)
    assert "a second time" in done.stderr


def claims(folder, plan, *words):
    """Returns what is exported with an image for all and further words, and what is said."""
    done = sliceplan("export", plan, "--format", "dra", "--image", "all:1", *words, "-o", folder)
    return "".join(one.read_text() for one in sorted(folder.glob("*"))), done.stderr


def test_an_image_is_of_a_service_by_its_name_or_its_label(tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(shop_plan().called(called().labels).model_dump_json())
    by_name, said = claims(tmp_path / "name", path, "--image", "search-embedding=own:1")
    assert "own:1" in by_name, said
    by_label, _ = claims(tmp_path / "label", path, "--image", "写真 検索=own:1")
    assert by_label == by_name


def test_labels_of_the_problem_count_where_it_is_given(file, tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(shop_plan().model_dump_json())
    words = ("--image", "写真 検索=own:1")
    made, said = claims(tmp_path / "with", path, *words, "--problem", file())
    assert "own:1" in made, said
    _, said = claims(tmp_path / "without", path, *words)
    assert "写真 検索 is no workload of the plan" in said


def test_a_label_that_is_another_services_name_is_that_service():
    first, second, *_ = NAMES
    plan = shop_plan().called({first: second, second: "поиск"})
    assert by_service({second: "a", first: "b", "": "c"}, plan, "--image") == {second: "a", first: "b", "": "c"}
    assert by_service({"поиск": "a"}, plan, "--image") == {second: "a"}


def test_values_of_services_that_are_unknown_or_come_twice_are_refused():
    plan = shop_plan().called(called().labels)
    with pytest.raises(
        InputError, match=r"--memory: xx is no workload of the plan\. Known: .*search-embedding.*写真 検索"
    ):
        by_service({"xx": "1Gi"}, plan, "--memory")
    with pytest.raises(InputError, match="写真 検索 is given twice for search-embedding"):
        by_service({"search-embedding": "1Gi", "写真 検索": "2Gi"}, plan, "--memory")


def test_who_is_in_the_way_of_replanning_is_told_by_label(file, tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(shop_plan().model_dump_json())
    done = sliceplan("replan", file(slo_ms=1.0), "--running", path)
    assert done.stderr.startswith("写真 検索: ")


def test_a_drawn_plan_is_as_wide_with_labels_as_with_names():
    """A letter of Chinese takes two columns."""
    wide = {one.name: "写真検索画像" * 3 for one in shop().workloads}
    for names in (wide, shown_names(called()), {}):
        console = Console(width=200, record=True, file=StringIO())
        console.print(draw_plan(as_shown(shop_plan(), names)))
        drawn = [line for line in console.export_text().splitlines() if "▌" in line]
        assert drawn
        assert all(cell_len(line.rstrip()) <= INDENT + AXIS_WIDTH for line in drawn)


INDENT = 2
"""Before the slices of a GPU."""
