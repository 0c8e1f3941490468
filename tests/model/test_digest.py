"""The digest of a problem is that of its canonical JSON, in whatever way that is written."""

import hashlib
import json

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from problems.instances import problem_of, problems
from problems.shop import shop

from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.model import digest
from sliceplan.solver.model.base import Record
from sliceplan.solver.model.digest import reference
from sliceplan.solver.model.price_book import load_price_books
from sliceplan.solver.model.problem import Problem, Settings, Workload

LATER_SETTINGS = {
    "latency": "execution",
    "quantile": 0.99,
    "dispatch": "weighted_round_robin",
    "process_queues": "shared",
    "turns": "none",
    "objective": "cost",
    "capacity_weights": "equal",
    "bda": False,
}
"""What they are where nothing is said."""


def by_the_library(problem):
    """Returns the digest of the canonical JSON as the standard library writes it; later fields only where given."""
    data = problem.model_dump(mode="json")
    for record, field in [
        (data, "prices"),
        (data, "price_books"),
        (data, "profiles"),
        (data["settings"], "gap"),
        *((one, "price_factor") for one in data["fleet"]),
        *((one, "cpu") for one in data["fleet"]),
    ]:
        if record[field] in (None, [], 0):
            del record[field]
    for field, default in LATER_SETTINGS.items():
        if data["settings"][field] == default:
            del data["settings"][field]
    for workload in data["workloads"]:
        del workload["label"]
        if workload["slo_quantile"] is None:
            del workload["slo_quantile"]
    if problem.profiles:
        data["profiles"] = [profile.model_dump(mode="json", exclude_defaults=True) for profile in problem.profiles]
    canonical = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


@given(problems(max_workloads=12))
def test_the_digest_is_of_the_canonical_json(problem):
    assert reference(problem).sha256 == by_the_library(problem)
    assert reference(problem).name == problem.name


@pytest.mark.parametrize("name", sorted(example_problems()))
def test_the_examples_have_the_digest_of_their_canonical_json(name):
    problem = example_problems()[name]
    assert reference(problem).sha256 == by_the_library(problem)


@given(problems(max_workloads=6), st.data())
def test_a_label_changes_no_digest(problem, data):
    """Property: a plan answers a problem whatever people call its services."""
    labels = data.draw(st.lists(st.from_regex(r"\A[ß写]{1,3}\Z"), min_size=6, max_size=6, unique=True))
    called = [one.model_copy(update={"label": label}) for one, label in zip(problem.workloads, labels, strict=False)]
    assert reference(problem.model_copy(update={"workloads": tuple(called)})) == reference(problem)


def test_prices_change_the_digest_and_the_lack_of_them_does_not():
    """The digest of the demo of before is the one that its plans have."""
    demo = shop()
    assert reference(demo).sha256 == "7e8dc75d77fd8cb9d440bae25fdc8354fd177ec1550720f13f641941ade5d4f2"
    book = load_price_books()["coreweave"].model_copy(update={"name": "ours"})
    dearer = demo.fleet[0].model_copy(update={"price_factor": 2.0})
    changed = [{"prices": "coreweave"}, {"price_books": (book,)}, {"prices": "ours", "price_books": (book,)}]
    found = [demo.model_copy(update=change) for change in [*changed, {"fleet": (dearer,)}]]
    for problem in found:
        assert reference(problem).sha256 == by_the_library(problem)
    assert len({reference(problem).sha256 for problem in [demo, *found]}) == 5


WORKLOADS = st.lists(
    st.fixed_dictionaries(
        {
            "model": st.text(min_size=1),
            "rate_rps": st.floats(1e-6, 1e7),
            "slo_ms": st.floats(1e-300, 1e9) | st.integers(1, 10**9),
        },
        optional={
            "gpus": st.lists(st.text(), min_size=1, max_size=3),
            "batch_sizes": st.lists(st.integers(1, 65536), min_size=1, max_size=3),
            "max_replicas": st.integers(1, 5) | st.none(),
            "memory_mib": st.floats(1e-5, 1e9) | st.none(),
            "value": st.floats(0, 1e12) | st.none(),
        },
    ),
    min_size=1,
    max_size=20,
)


@given(WORKLOADS, st.sampled_from([1, 3, 4096]))
@example([{"model": '50 % of "é"\n', "rate_rps": 1e-5, "slo_ms": 1e9}], 1)
@example([{"model": "same", "rate_rps": 1.0, "slo_ms": 1.0}] * 7, 3)
def test_any_value_is_written_as_the_library_writes_it(workloads, at_once):
    problem = problem_of(workloads)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(digest, "AT_ONCE", at_once)
        assert reference(problem).sha256 == by_the_library(problem)


class LaterRule(Record):
    """A record that came after version 1."""

    percentile: float = 99.0
    window_s: float | None = None


class LaterSettings(Settings):
    """Settings that grew a field of each kind."""

    tail: str = "mean"
    rules: tuple[LaterRule, ...] = ()


class LaterWorkload(Workload):
    """A workload with fields whose names come before and after those of version 1."""

    arrivals: LaterRule = LaterRule()
    zone: str | None = None


class LaterProblem(Problem):
    """A problem of a later sliceplan."""

    workloads: tuple[LaterWorkload, ...]
    settings: LaterSettings = LaterSettings()


@pytest.fixture
def grown(monkeypatch):
    """Returns a problem as a sliceplan reads it whose records have grown by fields."""
    first = digest.FIRST_FIELDS
    later = {kind: first[kind.__base__] for kind in (LaterSettings, LaterWorkload, LaterProblem)}
    monkeypatch.setattr(digest, "FIRST_FIELDS", {**first, **later})
    return lambda problem, **changes: LaterProblem.model_validate(problem.model_dump() | changes)


@given(problem=problems(max_workloads=6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_new_optional_field_at_its_default_keeps_the_digest_of_every_problem(grown, problem):
    assert reference(grown(problem)) == reference(problem)


@pytest.mark.parametrize("name", sorted(example_problems()))
def test_a_new_optional_field_at_its_default_keeps_the_digest_of_the_examples(grown, name):
    problem = example_problems()[name]
    assert reference(grown(problem)) == reference(problem)
    # Also where it is stated: what is set to its default says nothing.
    stated = problem.settings.model_dump() | {"tail": "mean", "rules": []}
    assert reference(grown(problem, settings=stated)) == reference(problem)


def test_a_new_field_that_is_set_changes_the_digest_and_is_in_the_canonical_json(grown):
    problem = problem_of([{"model": "a", "rate_rps": 1, "slo_ms": 1}, {"model": "b", "rate_rps": 2, "slo_ms": 2}])
    first, second = (one.model_dump() for one in problem.workloads)
    changes = [
        {},
        {"settings": {"tail": "long"}},
        {"settings": {"rules": [{"percentile": 95.0}]}},
        {"workloads": [first | {"arrivals": {"window_s": 2}}, second]},
        {"workloads": [first, second | {"zone": "a"}]},
        {"workloads": [first | {"zone": "a"}, second | {"zone": "a"}]},
    ]
    found = [grown(problem, **change) for change in changes]
    assert len({reference(one).sha256 for one in found}) == len(changes)
    data = json.loads(json.dumps(problem.model_dump(mode="json")))
    for field in ("prices", "price_books", "profiles"):
        del data[field]
    for field in ("gap", *LATER_SETTINGS):
        del data["settings"][field]
    for workload in data["workloads"]:
        del workload["slo_quantile"], workload["label"]
    del data["fleet"][0]["price_factor"], data["fleet"][0]["cpu"]
    data["workloads"][0]["arrivals"] = {"window_s": 2.0}
    canonical = json.dumps(data, sort_keys=True, separators=(",", ":"))
    assert reference(found[3]).sha256 == hashlib.sha256(canonical.encode()).hexdigest()
    data["workloads"][0].pop("arrivals")
    data["workloads"][1]["zone"] = "a"
    canonical = json.dumps(data, sort_keys=True, separators=(",", ":"))
    assert reference(found[4]).sha256 == hashlib.sha256(canonical.encode()).hexdigest()
