"""Price books: consistent, sourced, dated; what a fleet costs by them, against the files; what is refused."""

import json
import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from problems.instances import REFERENCE, ROOT, problem_of
from support.needs import PUBLISHED, skip_without

from sliceplan.solver.api import solve
from sliceplan.solver.check import check
from sliceplan.solver.formats.plan_files import read_plan
from sliceplan.solver.formats.problem_files import dump_problem, parse_problem
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.catalogue import load_catalogue, load_cpus
from sliceplan.solver.model.digest import made_with, reference
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.parsing import parse_record
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.price_book import DEFAULT_BOOK, PriceBook, load_price_books
from sliceplan.solver.model.prices import price_words, prices_of
from sliceplan.solver.model.problem import GREATEST_PRICE, LEAST_PRICE, Problem
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.wording.summary import plan_summary

BOOKS = load_price_books()
SHIPPED = shipped_profiles()
FILES = {
    data["name"]: data
    for path in (ROOT / "profiles" / "prices").glob("*.yaml")
    for data in [yaml.safe_load(path.read_text())]
}
"""The books as they stand in their files, for an oracle that shares no code with what it judges."""

ONE = {"model": "resnet50", "rate_rps": 1.0, "slo_ms": 500}
OWN = PriceBook(
    name="ours",
    cloud="our own hall",
    region="Aachen",
    commitment="written off over 4 years",
    prices=({"gpu": "A100-80GB", "usd_per_gpu_hour": 1.25, "date": "2026-10", "source": "the ledger"},),
)


def problem(**changes):
    """A problem of one service on A100s, with changes to the problem itself."""
    return parse_record(Problem, {**problem_of([ONE]).model_dump(mode="json"), **changes}, "p.yaml")


@pytest.mark.parametrize("name", BOOKS)
def test_a_book_has_a_source_and_a_date_for_every_price_and_only_types_of_the_catalogue(name):
    for price in BOOKS[name].prices:
        assert price.gpu in load_catalogue() or price.gpu in load_cpus()
        assert len(price.source) > 10
        assert re.match(r"2026-(0[1-9]|1[01])", price.date)
    assert name.lower() == name


def test_the_default_book_is_the_one_with_the_most_types_and_comes_first():
    assert next(iter(BOOKS)) == DEFAULT_BOOK
    assert len(BOOKS[DEFAULT_BOOK].prices) == max(len(book.prices) for book in BOOKS.values())


def test_prices_that_the_facts_have_stand_in_a_book(facts):
    instances = {price.instance: (price, book) for book in BOOKS.values() for price in book.prices}
    for fact in facts["prices_on_demand"]:
        if "line item" in fact["instance"]:
            assert fact["instance"] not in instances, "the price of a GPU without its machine is comparable to no other"
            continue
        price, book = instances[fact["instance"]]
        assert price.usd_per_gpu_hour == pytest.approx(fact["usd_per_hour"] / fact["gpu_count"], abs=1e-6)
        assert book.cloud.split()[-1] in fact["cloud"] or fact["cloud"] == "GCP"


@pytest.fixture(scope="module")
def facts():
    path = REFERENCE / "gpus.json"
    if not path.is_file():
        skip_without(PUBLISHED, str(path))
    return json.loads(path.read_text())


def test_within_a_book_the_ratio_of_two_types_is_that_of_one_cloud():
    """Mixed, H200 to H100 was 10.60 / 6.88 = 1.54: more than any cloud asks, so the cheapest type could flip."""
    for name, low, high in ((DEFAULT_BOOK, 1.14, 1.16), ("gcp-us-central1", 0.95, 0.97)):
        ratio = BOOKS[name].price("H200-141GB").usd_per_gpu_hour / BOOKS[name].price("H100-80GB-SXM").usd_per_gpu_hour
        assert low < ratio < high


ENTRIES = st.lists(
    st.tuples(
        st.sampled_from(sorted(load_catalogue())),
        st.one_of(st.none(), st.floats(LEAST_PRICE, GREATEST_PRICE)),
        st.one_of(st.none(), st.floats(0.01, 100)),
    ),
    min_size=1,
    max_size=6,
    unique_by=lambda entry: entry[0],
)


@given(ENTRIES, st.sampled_from([None, *BOOKS]))
def test_each_type_costs_its_own_price_else_that_of_the_one_book_times_its_factor_else_nothing_is_said(entries, name):
    """Property: against the files of the books, for fleets of any types, own prices, factors and books."""
    fleet = [
        {"gpu": gpu, "sharing": ["exclusive"], "price_per_hour": own, "price_factor": None if own else factor}
        for gpu, own, factor in entries
    ]
    asked = parse_record(Problem, {**problem().model_dump(mode="json"), "fleet": fleet, "prices": name}, "p")
    listed = {row["gpu"]: row for row in FILES[name or DEFAULT_BOOK]["prices"]}
    expected = []
    for gpu, own, factor in entries:
        if own:
            expected.append((gpu, own, None, None, None))
        elif gpu in listed:
            usd = float(f"{listed[gpu]['usd_per_gpu_hour'] * (factor or 1):.12g}")
            expected.append((gpu, usd, name or DEFAULT_BOOK, listed[gpu]["date"], factor))
    found = [(one.gpu, one.usd_per_hour, one.book, one.date, one.factor) for one in prices_of(asked)]
    assert found == expected


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "aws-us-east-1 prices of 2026-11-09"),
        ({"prices": "gcp-us-central1"}, "gcp-us-central1 prices of 2026-09"),
        ({"fleet": [{"gpu": "A100-80GB", "price_per_hour": 2.0}]}, "your own prices"),
        (
            {"fleet": [{"gpu": "A100-80GB", "price_factor": 0.6}]},
            "aws-us-east-1 prices of 2026-11-09, times 0.6 for A100-80GB",
        ),
        ({"prices": "ours", "price_books": [OWN.model_dump(mode="json")]}, "ours prices of 2026-10"),
    ],
)
def test_a_plan_says_whose_prices_it_was_made_with_and_costs_what_they_say(changes, words):
    asked = problem(**changes)
    plan = solve(asked, profiles=SHIPPED)
    (price,) = prices_of(asked)
    assert plan.cost_per_hour == pytest.approx(price.usd_per_hour * plan.gpus_used)
    assert plan.gpu_prices == (price,)
    assert plan_summary(plan, plan.gap).endswith(f", at {words}")
    assert check(asked, plan, SHIPPED) == []
    assert Plan.model_validate_json(plan.model_dump_json()) == plan


def test_more_types_than_a_line_holds_are_counted_and_only_what_is_used_is_spoken_of():
    fleet = [{"gpu": gpu, "sharing": ["exclusive"], "price_per_hour": 1.0} for gpu in ("L4", "L40S", "A2", "A10")]
    prices = prices_of(problem(fleet=[*fleet, {"gpu": "T4", "sharing": ["mps"]}]))
    assert price_words(prices) == "aws-us-east-1 prices of 2026-09-14, your own for L4, L40S, A2 and 1 more"
    assert price_words(prices, {"T4"}) == "aws-us-east-1 prices of 2026-09-14"
    assert price_words(()) == ""


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"prices": "gcp-us-centrall"},
            r"prices is 'gcp-us-centrall'; no such price book. Did you mean 'gcp-us-central1'",
        ),
        (
            {"fleet": [{"gpu": "H100-94GB-NVL"}]},
            r"fleet\[0\].price_per_hour is missing, and the price book aws-us-east-1 \(AWS us-east-1, on demand\) "
            r"has no H100-94GB-NVL. Give USD per GPU and hour, or .* the whole fleet: `prices: azure-eastus`",
        ),
        (
            {"fleet": [{"gpu": "H100-94GB-NVL"}, {"gpu": "H200-141GB"}]},
            r"has no H100-94GB-NVL; it is in azure-eastus, without others of this fleet. Give USD .* not mixed",
        ),
        ({"fleet": [{"gpu": "A30-24GB"}]}, r"has no A30-24GB; no price book has it. Give USD per GPU and hour"),
        (
            {"fleet": [{"gpu": "A100-80GB", "price_per_hour": 3.0, "price_factor": 0.5}]},
            r"fleet\[0\] price_per_hour is 3 and price_factor 0.5: the factor is for the price book's price; give one",
        ),
        (
            {"price_books": [OWN.model_copy(update={"name": DEFAULT_BOOK}).model_dump(mode="json")]},
            r"price_books: the name is taken: aws-us-east-1; give each book a name of its own",
        ),
        (
            {"price_books": [{**OWN.model_dump(mode="json"), "prices": OWN.model_dump(mode="json")["prices"] * 2}]},
            r"price_books\[0\].*lists a GPU type twice: A100-80GB; one price per type",
        ),
    ],
)
def test_what_has_no_price_or_two_is_refused_with_what_would_be_right(changes, message):
    with pytest.raises(InputError) as refused:
        resolve(problem(**changes), SHIPPED, "p.yaml")
    assert re.search(message, "\n".join(map(str, refused.value.findings))), refused.value


def test_a_problem_with_books_and_factors_survives_its_file():
    asked = problem(
        prices="ours", price_books=[OWN.model_dump(mode="json")], fleet=[{"gpu": "A100-80GB", "price_factor": 0.5}]
    )
    assert parse_problem(dump_problem(asked), "p.yaml") == asked


def test_a_plan_of_before_these_fields_still_answers_its_problem():
    """The digest of a problem without them is what it was."""
    for name in ("demo", "mixed", "igniter"):
        stated = parse_problem((ROOT / "plans" / f"{name}.yaml").read_text(), f"{name}.yaml")
        plan = read_plan(ROOT / "plans" / f"{name}.plan.json")
        assert reference(stated) == plan.problem
        before = plan.model_copy(update={"gpu_prices": None})
        assert check(stated, before, SHIPPED) == []
        assert plan_summary(before, before.gap).endswith("proven cheapest")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("usd_per_hour", 3.0),
        ("book", None),
        ("book", "gcp-us-central1"),
        ("date", "2026-01-01"),
        ("factor", 0.9),
        ("gpu", "T4"),
    ],
)
def test_a_price_that_is_not_the_problems_is_refused_by_name(field, value):
    asked = problem()
    plan = solve(asked, profiles=SHIPPED)
    wrong = plan.gpu_prices[0].model_copy(update={field: value})
    found = check(asked, plan.model_copy(update={"gpu_prices": (wrong,)}), SHIPPED)
    assert any("gpu_prices" in str(violation) for violation in found), found
    assert any("gpu_prices" in str(one) for one in check(asked, plan.model_copy(update={"gpu_prices": ()}), SHIPPED))
    twice = plan.gpu_prices * 2
    assert any("gpu_prices" in str(one) for one in check(asked, plan.model_copy(update={"gpu_prices": twice}), SHIPPED))


def test_a_plan_made_with_another_book_is_recognised():
    asked = problem()
    other = asked.model_copy(update={"prices": "gcp-us-central1"})
    plan = solve(other, profiles=SHIPPED)
    assert check(asked, plan, SHIPPED)
    assert made_with(asked, plan) == "gcp-us-central1"
    assert made_with(other, plan) is None
    assert made_with(problem(name="another"), plan) is None
