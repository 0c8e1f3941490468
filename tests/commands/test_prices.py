"""Price books on the command line: listed, named, given by a file, and told apart when a plan is checked."""

import json

import pytest
import yaml
from problems.shop import SHOP
from support.command_line import call

from sliceplan.solver.commands.inputs import priced_by
from sliceplan.solver.formats.problem_files import read_problem
from sliceplan.solver.model.price_book import PriceBook

DEMO = str(SHOP)
OWN = {
    "name": "ours",
    "cloud": "our own hall",
    "region": "Aachen",
    "commitment": "written off over 4 years",
    "prices": [{"gpu": "A100-80GB", "usd_per_gpu_hour": 1.25, "date": "2026-10", "source": "the ledger"}],
}


def run(*arguments):
    return call("sliceplan.solver.cli", *map(str, arguments))


@pytest.fixture
def own(tmp_path):
    path = tmp_path / "ours.yaml"
    path.write_text(yaml.safe_dump(OWN))
    return path


def test_the_books_are_listed_with_their_dates_and_one_is_printed_with_its_sources(own):
    done = run("price-books")
    assert done.returncode == 0
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "gcp-us-central1  Google Cloud us-central1, on    2026-09" in done.stdout
    whole = yaml.safe_load(run("price-books", "azure-eastus").stdout)
    assert [price["gpu"] for price in whole["prices"]] == ["A100-80GB", "H100-94GB-NVL"]
    assert all(price["source"] for price in whole["prices"])
    assert yaml.safe_load(run("price-books", own).stdout)["region"] == "Aachen"
    wrong = run("price-books", "azure-eastu")
    assert wrong.returncode == 2
    assert "azure-eastu is not known, and is no file. Did you mean 'azure-eastus'?" in wrong.stderr


def test_the_catalogue_is_priced_by_one_book_which_it_names():
    done = run("gpus")
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "$/h: AWS us-east-1, on demand, 2026-08-26 to 2026-11-09 (book aws-us-east-1)" in done.stdout
    other = run("gpus", "--prices", "gcp-us-central1").stdout
    row = next(line for line in other.splitlines() if line.startswith("H200-141GB "))
    assert " 10.60 " in row
    entry = yaml.safe_load(run("gpus", "A100-80GB").stdout)
    assert list(entry["prices"]) == ["aws-us-east-1", "azure-eastus", "coreweave", "gcp-us-central1"]
    assert entry["prices"]["azure-eastus"]["date"] == "2026-11-09"


def test_a_book_by_its_name_or_file_takes_the_place_of_the_problems_and_is_needed_to_check_the_plan(tmp_path, own):
    plan = tmp_path / "plan.json"
    for prices, cost, book in (("gcp-us-central1", 3 * 5.068798, "gcp-us-central1"), (own, 3.75, "ours")):
        done = run("solve", DEMO, "--prices", prices, "-o", plan)
        assert done.returncode == 0, done.stderr
        assert f"at {book} prices of 2026-" in done.stderr
        data = json.loads(plan.read_text())
        assert data["cost_per_hour"] == pytest.approx(cost)
        assert [(price["gpu"], price["book"]) for price in data["gpu_prices"]] == [("A100-80GB", book)]
        assert run("check", DEMO, plan, "--prices", prices).returncode == 0
        assert run("check", DEMO, plan).returncode == 2
    run("solve", DEMO, "--prices", "gcp-us-central1", "-o", plan)
    hint = "It was made with the prices of gcp-us-central1: check it with --prices gcp-us-central1."
    assert hint in run("check", DEMO, plan).stderr


def test_dates_need_no_quotes_and_what_is_no_date_is_refused(tmp_path, own):
    dated = own.read_text().replace("date: 2026-10", "date: 2026-10-05")
    assert "date: 2026-10-05" in dated
    own.write_text(dated)
    assert "at ours prices of 2026-10-05" in run("solve", DEMO, "--prices", own, "-o", tmp_path / "plan.json").stderr
    own.write_text(dated.replace("2026-10-05", "autumn"))
    done = run("solve", DEMO, "--prices", own)
    assert done.returncode == 2
    assert "prices[0].date is 'autumn'" in done.stderr


def test_a_file_that_takes_the_name_of_a_shipped_book_is_refused(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump({**OWN, "name": "aws-us-east-1"}))
    done = run("solve", DEMO, "--prices", path)
    assert done.returncode == 2
    assert "name is 'aws-us-east-1', a book that sliceplan ships; give it another name" in done.stderr


def test_comparison_and_sweep_say_whose_prices_theirs_are(tmp_path):
    report = tmp_path / "report.json"
    done = run("compare", DEMO, "--planner", "exact", "--planner", "parvagpu", "--json", report)
    assert "Proven: no plan costs less than $10.29 per hour, at aws-us-east-1 prices of 2026-11-09." in done.stderr
    assert json.loads(report.read_text())["gpu_prices"][0]["date"] == "2026-11-09"
    done = run("sweep", DEMO, "--axis", "rate=1,1.1", "--json", report)
    assert "Costs are at aws-us-east-1 prices of 2026-11-09." in done.stderr
    assert json.loads(report.read_text())["gpu_prices"][0]["book"] == "aws-us-east-1"


def test_a_book_of_a_file_takes_the_place_of_the_problems_own_of_that_name(own):
    older, other = (PriceBook.model_validate({**OWN, "name": name, "region": "old"}) for name in ("ours", "theirs"))
    problem = read_problem(SHOP).model_copy(update={"price_books": (older, other)})
    priced = priced_by(problem, str(own))
    assert priced.prices == "ours"
    assert [(book.name, book.region) for book in priced.price_books] == [("theirs", "old"), ("ours", "Aachen")]
    named = priced_by(problem, "theirs")
    assert (named.prices, named.price_books) == ("theirs", (older, other))
