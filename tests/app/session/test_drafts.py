"""What somebody works on outlives the server: as it was typed, for nobody else, and never instead of what is newer."""

import json
import os
import stat
from dataclasses import replace

import pandas as pd
import pytest

from sliceplan.app.session.current import new_session
from sliceplan.app.session.drafts import Drafts, opened, text_of
from sliceplan.app.session.problem_state import same_tables, state
from sliceplan.app.session.session import Result, open_problem, tables_of
from sliceplan.app.store.drafts import MOST, drafts_folder, read_draft, write_draft
from sliceplan.app.store.records import VersionKey
from sliceplan.solver.api import solve
from sliceplan.solver.formats.problem_files import example_problems

TOKEN = "abcdefgh12345678"


@pytest.fixture
def drafts(tmp_path):
    return Drafts(tmp_path / "drafts")


def kept(drafts, session, user="ann"):
    drafts.note(TOKEN, session)
    drafts.written()
    return drafts.session_of(TOKEN, user)


@pytest.mark.parametrize("name", sorted(example_problems()))
def test_every_example_is_there_again_as_it_was(drafts, name):
    problem = example_problems()[name]
    session = new_session("ann")
    open_problem(session, problem, VersionKey("shop", 3))
    again = kept(drafts, session)
    assert again.problem == session.problem == problem
    assert same_tables(again.tables, session.tables)
    assert again.saved_as == VersionKey("shop", 3)
    assert again.answer is None


def test_rows_that_are_wrong_are_there_as_they_were_typed(drafts):
    session = new_session("ann")
    wrong = session.tables.workloads.copy()
    wrong.loc[0, "rate_rps"] = -5.0
    wrong.loc[1, "model"] = "no such model"
    wrong.loc[2, "name"] = None
    wrong = pd.concat([wrong, pd.DataFrame([{"name": "日本 'x'"}], columns=wrong.columns)], ignore_index=True)
    state(session, replace(session.tables, workloads=wrong))
    assert session.problem is None
    again = kept(drafts, session)
    assert again.problem is None
    assert again.tables.workloads["rate_rps"].tolist()[0] == -5.0
    assert again.tables.workloads["model"].tolist()[1] == "no such model"
    assert again.tables.workloads["name"].tolist()[-1] == "日本 'x'"
    assert again.tables.workloads["name"].isna().tolist()[2]


def test_the_plan_is_there_again(drafts):
    session = new_session("ann")
    plan = solve(session.problem)
    session.results["solve"] = Result(session.problem, plan)
    again = kept(drafts, session)
    assert again.answer.plan == plan
    assert not again.is_outdated(again.answer.problem)


def test_the_latest_change_is_what_is_kept(drafts):
    session = new_session("ann")
    for rate in (10.0, 20.0, 30.0):
        tables = session.tables.workloads.copy()
        tables.loc[0, "rate_rps"] = rate
        state(session, replace(session.tables, workloads=tables))
        drafts.note(TOKEN, session)
    drafts.written()
    assert drafts.session_of(TOKEN, "ann").problem.workloads[0].rate_rps == 30.0


def test_what_did_not_change_is_not_written_again(drafts):
    session = new_session("ann")
    kept(drafts, session)
    os.utime(drafts.folder / f"{TOKEN}.json", (1, 1))
    kept(drafts, session)
    assert (drafts.folder / f"{TOKEN}.json").stat().st_mtime == 1


def test_nobody_opens_the_draft_of_another_user_or_leaves_the_folder(drafts):
    session = new_session("ann")
    assert kept(drafts, session, "bob") is None
    (drafts.folder.parent / "other.json").write_text(text_of(drafts._noted[TOKEN]))
    for token in ("../other", "", "x" * 65, "abcdefgh/../12345678", "unknown-token-1234"):
        assert drafts.session_of(token, "ann") is None
    assert stat.S_IMODE(drafts.folder.stat().st_mode) == 0o700


def test_a_damaged_draft_is_none(drafts):
    session = new_session("ann")
    session.results["solve"] = Result(session.problem, solve(session.problem))
    kept(drafts, session)
    text = text_of(drafts._noted[TOKEN])
    whole = json.loads(text)
    assert opened(text, "ann") is not None
    for key in whole:
        without = opened(json.dumps({name: value for name, value in whole.items() if name != key}), "ann")
        # Drafts of earlier versions do not say how a search went, nor which models stand in for others.
        assert (without is not None) == (key in ("improved", "stand_ins"))
        for value in (5, "x", [[1]], {"a": 1}):
            opened(json.dumps(whole | {key: value}), "ann")  # whatever it is, nothing is raised
    for damaged in ("", "{", "[]", "null", text[: len(text) // 2], '{"version": 2, "user": "ann"}'):
        assert opened(damaged, "ann") is None


def test_a_folder_that_cannot_be_written_hinders_nobody(tmp_path):
    (tmp_path / "drafts").write_text("a file")
    assert kept(Drafts(tmp_path / "drafts"), new_session("ann")) is None


def test_the_oldest_drafts_go_first(tmp_path, monkeypatch):
    monkeypatch.setattr("sliceplan.app.store.drafts.MOST", 3)
    for number in range(5):
        write_draft(tmp_path, f"token-number-{number}", "{}")
        os.utime(tmp_path / f"token-number-{number}.json", (number, number))
    assert [read_draft(tmp_path, f"token-number-{i}") for i in range(5)] == [None, None, "{}", "{}", "{}"]
    assert MOST > 100


def test_drafts_lie_beside_the_store(monkeypatch, tmp_path):
    monkeypatch.setenv("SLICEPLAN_DATABASE", f"sqlite:///{tmp_path}/store.sqlite3")
    assert drafts_folder() == tmp_path / "drafts"
    monkeypatch.setenv("SLICEPLAN_DATABASE", "postgresql://me@db/plans")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert drafts_folder() == tmp_path / "data" / "sliceplan" / "drafts"


def test_a_problem_of_very_many_rows_is_not_kept(drafts, monkeypatch):
    monkeypatch.setattr("sliceplan.app.session.drafts.MOST_ROWS", 3)
    assert kept(drafts, new_session("ann")) is None
    assert tables_of(new_session("ann").problem).name == "demo"
