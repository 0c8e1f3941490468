"""Problems are saved as versions, listed, restored, copied and archived; a conflict says what each side changed."""

import random
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from problems.instances import MODELS, problem_of, problems

from sliceplan.app.store import problems as saved
from sliceplan.app.store.conflicts import ConflictError
from sliceplan.app.store.errors import ArchivedError, NameTakenError, NotFoundError
from sliceplan.app.store.records import VersionKey
from sliceplan.app.store.rows import version_row
from sliceplan.app.store.transactions import reading, writing
from sliceplan.solver.differences.merging import merged
from sliceplan.solver.model.digest import reference
from sliceplan.solver.model.errors import InputError


def problem(rate=100.0, name="shop-front", **settings):
    return problem_of([{"model": "bert", "rate_rps": rate, "slo_ms": 300}], name=name, **settings)


@pytest.fixture
def first(store):
    """Version 1 of shop-front."""
    return saved.save_new_problem(store, problem(), author="ana", note="as ordered")


def test_what_is_saved_is_loaded_and_listed_with_who_when_and_why(store, first):
    second = saved.save_problem(store, problem(120), parent=first.key, author="ben", note="more\nrate")
    assert saved.load_problem(store, first.key) == problem()
    assert saved.load_problem(store, second.key) == problem(120)
    assert saved.versions(store, "shop-front") == (second, first)
    assert saved.latest_version(store, "shop-front") == second
    assert (first.key, first.parent, first.author, first.note) == (
        VersionKey("shop-front", 1),
        None,
        "ana",
        "as ordered",
    )
    assert (second.key.number, second.parent, second.author, second.note) == (2, first.key, "ben", "more\nrate")
    assert second.sha256 == reference(problem(120)).sha256
    assert timedelta(0) <= datetime.now(UTC) - second.saved_at < timedelta(minutes=5)
    [document] = saved.problems(store)
    assert (document.name, document.archived, document.latest) == ("shop-front", None, second)
    assert document.created_at == first.saved_at


def test_saving_from_an_old_version_is_a_conflict_that_names_both_sides_changes(store, first):
    theirs = saved.save_problem(store, problem(120, headroom=0.1), parent=first.key, author="ben")
    mine = problem(150, max_processes=1)
    with pytest.raises(ConflictError) as caught:
        saved.save_problem(store, mine, parent=first.key, author="ana")
    message = str(caught.value).splitlines()
    assert message[0].startswith("shop-front, version 2 was saved by ben at 20")
    assert message[1:] == [
        "after version 1, which you edited. Yours is not saved yet.",
        "Changed in version 2 since version 1:",
        "  ~ workloads.w0: rate_rps 100 -> 120",
        "  ~ settings.headroom: 0 -> 0.1",
        "Changed by you since version 1:",
        "  ~ workloads.w0: rate_rps 100 -> 150",
        "  ~ settings.max_processes: 3 -> 1",
        "Changed by both, and differently:",
        "  ! workloads.w0.rate_rps: theirs rate_rps 100 -> 120, yours rate_rps 100 -> 150",
        "Merge the two, save yours on top of version 2, or save it under another name.",
    ]
    conflict = caught.value.conflict
    assert (conflict.base, conflict.theirs, conflict.mine) == (first, theirs, mine)
    assert len(saved.versions(store, "shop-front")) == 2


def test_after_a_conflict_mine_can_be_merged_put_on_top_or_saved_as_a_copy(store, first):
    saved.save_problem(store, problem(120), parent=first.key, author="ben")
    with pytest.raises(ConflictError) as caught:
        saved.save_problem(store, problem(headroom=0.2), parent=first.key, author="ana")
    conflict = caught.value.conflict
    both = merged(conflict.base_problem, conflict.mine, conflict.their_problem).problem
    third = saved.save_problem(store, both, parent=conflict.theirs.key, author="ana")
    assert both == problem(120, headroom=0.2)
    fourth = saved.save_problem(store, conflict.mine, parent=third.key, author="ana")
    assert fourth.key.number == 4
    copy = saved.save_new_problem(store, conflict.mine, author="ana", name="shop-front of Ana", copied=first.key)
    assert copy.key == VersionKey("shop-front of Ana", 1)
    assert copy.parent == first.key
    assert [document.name for document in saved.problems(store)] == ["shop-front of Ana", "shop-front"]


def test_a_conflict_spans_all_versions_saved_in_between(store, first):
    second = saved.save_problem(store, problem(120), parent=first.key, author="ben")
    saved.save_problem(store, problem(130), parent=second.key, author="cleo")
    with pytest.raises(ConflictError, match=r"version 3 was saved by cleo[\s\S]*rate_rps 100 -> 130"):
        saved.save_problem(store, problem(90), parent=first.key, author="ana")


def test_restoring_makes_a_new_version_with_the_old_content(store, first):
    second = saved.save_problem(store, problem(120), parent=first.key, author="ben")
    third = saved.restore_version(store, first.key, parent=2, author="ana", note="back")
    assert (third.key.number, third.parent, third.restored_from, third.sha256) == (3, second.key, 1, first.sha256)
    assert saved.load_problem(store, third.key) == problem()
    with pytest.raises(ConflictError, match="version 3 was saved by ana"):
        saved.restore_version(store, first.key, parent=2, author="ben")


def test_an_archived_problem_is_out_of_sight_keeps_its_name_and_can_be_taken_back(store, first):
    saved.archive_problem(store, "shop-front", author="ben")
    saved.archive_problem(store, "shop-front", author="cleo")
    assert saved.problems(store) == ()
    [document] = saved.problems(store, archived=True)
    assert document.archived.by == "ben"
    with pytest.raises(ArchivedError, match=r"shop-front was archived by ben at 20.* take it out of the archive"):
        saved.save_problem(store, problem(120), parent=first.key, author="ana")
    with pytest.raises(NameTakenError, match="already saved as 'shop-front'; choose another name"):
        saved.save_new_problem(store, problem(), author="ana")
    assert saved.load_problem(store, first.key) == problem()
    saved.unarchive_problem(store, "shop-front")
    assert saved.problems(store)[0].archived is None
    assert saved.save_problem(store, problem(120), parent=first.key, author="ana").key.number == 2


@pytest.mark.usefixtures("first")
def test_what_is_not_there_is_named_with_what_is(store):
    with pytest.raises(NotFoundError, match=r"no problem is saved as 'shop-frnt'\. Did you mean 'shop-front'\?"):
        saved.versions(store, "shop-frnt")
    with pytest.raises(NotFoundError, match="shop-front has no version 7; it has 1 to 1"):
        saved.load_problem(store, VersionKey("shop-front", 7))
    with pytest.raises(NotFoundError, match="shop-front has no version 2"):
        saved.save_problem(store, problem(), parent=VersionKey("shop-front", 2), author="ana")
    with pytest.raises(NotFoundError, match="no problem is saved as 'x'"):
        saved.archive_problem(store, "x", author="ana")
    with pytest.raises(NotFoundError, match="no problem is saved as 'x'"):
        saved.save_new_problem(store, problem(), name="y", author="ana", copied=VersionKey("x", 1))


def test_texts_that_a_database_cannot_keep_are_refused_all_at_once(store):
    with pytest.raises(InputError) as caught:
        saved.save_new_problem(store, problem(), author=" ", note="a\0b", name="x" * 200 + "\ud800")
    found = [(finding.path, finding.message) for finding in caught.value.findings]
    assert found == [
        ("author", "begins or ends with a blank; expected none there"),
        ("author", "is empty; expected 1 to 100 characters"),
        ("note", "has characters that do not print: '\\x00'"),
        ("name", "has 201 characters; expected at most 120"),
        ("name", "has characters that do not print: '\\ud800'"),
    ]
    assert saved.problems(store) == ()


def test_names_of_any_script_and_quotes_are_kept(store):
    name = "Größe 价格 '; DROP TABLE versions; --"
    version = saved.save_new_problem(store, problem(), author="Zoë", note="naïve", name=name)
    assert saved.versions(store, name) == (version,)


def test_a_large_problem_is_kept_compressed_and_unchanged(store):
    draw = random.Random(1)
    workloads = [
        {"model": draw.choice(MODELS), "rate_rps": draw.uniform(1, 1e4), "slo_ms": draw.uniform(9, 999)}
        for _ in range(3000)
    ]
    large = problem_of(workloads, name="large")
    version = saved.save_new_problem(store, large, author="ana")
    assert saved.load_problem(store, version.key) == large
    with reading(store) as session:
        length = "octet_length" if store.dialect.name == "postgresql" else "length"
        kept = session.connection().exec_driver_sql(f"SELECT {length}(content) FROM versions").scalar_one()
        assert kept < len(version_row(session, version.key).content) / 3


@given(drawn=problems())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
def test_any_problem_is_loaded_as_it_was_saved(store, drawn):
    """Property: load(save(p)) = p, digest included."""
    name = f"p{len(saved.problems(store))}"
    version = saved.save_new_problem(store, drawn, author="ana", name=name)
    loaded = saved.load_problem(store, version.key)
    assert loaded == drawn
    assert reference(loaded).sha256 == version.sha256


def test_a_version_with_fields_of_a_later_sliceplan_is_refused_by_name(store, first):
    later = b'{"version": 1, "name": "x", "zones": []}'
    with writing(store) as session:
        version_row(session, first.key).content = later
    with pytest.raises(InputError, match=r"shop-front, version 1: zones is not a field here"):
        saved.load_problem(store, first.key)
