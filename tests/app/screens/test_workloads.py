"""The tables of a problem: edits, what they state, and the screen that shows them."""

import json
import re
from dataclasses import replace

import pandas as pd
import pytest
from problems.instances import ROOT
from problems.shop import shop
from support.app_screens import press, screen, session_with, settled, switch, texts

from sliceplan.app.screens.workloads.beginning import SHOWS
from sliceplan.app.screens.workloads.editors import note_edit
from sliceplan.app.screens.workloads.settings import GROUPS
from sliceplan.app.session import problem_state as stated_module
from sliceplan.app.session.problem_state import findings_of, redo, same_tables, state, stated, undo
from sliceplan.app.session.session import open_problem, tables_of
from sliceplan.app.session.uploaded import uploaded_problem
from sliceplan.app.store.records import VersionKey
from sliceplan.app.tables.catalogue import catalogue_table, free_name, model_facts, models_table, on_fleet
from sliceplan.app.tables.edits import rows_in_editor, with_edits
from sliceplan.app.tables.labels import in_words
from sliceplan.app.tables.matching import matching
from sliceplan.app.tables.names import IN_FILES
from sliceplan.app.tables.problem import MARK
from sliceplan.app.widgets.actions import ask, solve_now
from sliceplan.solver.formats.problem_files import dump_problem, example_problems
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.price_book import load_price_books
from sliceplan.solver.model.problem import Settings

DEMO = tables_of(example_problems()["demo"])


def edits(**changes):
    return {"edited_rows": {}, "added_rows": [], "deleted_rows": [], **changes}


def test_no_edits_leave_a_table_as_it_is():
    for frame in (DEMO.fleet, DEMO.workloads):
        assert with_edits(frame, edits()).equals(frame)


def test_edited_added_and_deleted_rows_keep_the_types_of_the_columns():
    added = [{"name": "new", "model": "vgg16", "rate_rps": 5, "min_replicas": 2}]
    changes = edits(edited_rows={"1": {"rate_rps": 7}, "2": {"name": None}}, added_rows=added, deleted_rows=[0, 2])
    frame = with_edits(DEMO.workloads, changes)
    assert frame.dtypes.equals(DEMO.workloads.dtypes)
    assert list(frame.index) == list(range(7))
    assert frame.loc[0, "rate_rps"] == 7
    assert frame.loc[0, "name"] == DEMO.workloads.loc[1, "name"]
    assert (frame.loc[6, "name"], frame.loc[6, "rate_rps"], frame.loc[6, "min_replicas"]) == ("new", 5.0, 2)
    assert pd.isna(frame.loc[6, "slo_ms"])


def test_ways_of_dividing_are_in_words_and_typed_in_either_spelling():
    for typed in ("mig, exclusive", "MIG, whole GPU", "mig,Whole GPU"):
        fleet = with_edits(DEMO.fleet, edits(edited_rows={0: {"sharing": typed}}))
        assert fleet.loc[0, "sharing"] == "MIG, whole GPU"
        problem, _ = stated(replace(DEMO, fleet=fleet))
        assert problem.fleet[0].sharing == ("mig", "exclusive")
    unknown = with_edits(DEMO.fleet, edits(edited_rows={0: {"sharing": "MIG, halves"}}))
    (finding,) = stated(replace(DEMO, fleet=unknown))[1]
    assert in_words(finding.message, "fleet") == "is 'halves'; expected whole GPU, MIG, MPS or CPU cores"
    said = "is 'mig'; no profile of it fits (T4 by exclusive, mps): mig needs points, cores points by cores"
    assert (
        in_words(said)
        == "is 'mig'; no profile of it fits (T4 by whole GPU, MPS): MIG needs points, cores points by cores"
    )


def test_edits_of_some_rows_are_made_in_the_whole_table():
    """The oracle makes the same edits by name, in a table of all rows."""
    some = [1, 4, 6]
    names = list(DEMO.workloads["name"])
    changes = edits(edited_rows={0: {"rate_rps": 7}, 2: {"name": "new"}}, deleted_rows=[1], added_rows=[{"name": "x"}])
    found = with_edits(DEMO.workloads, changes, some)
    assert list(found["name"]) == [*names[:4], names[5], "new", names[7], "x"]
    rates = dict(zip(DEMO.workloads["name"], DEMO.workloads["rate_rps"], strict=True))
    expected = rates | {names[1]: 7.0, "new": rates[names[6]]}
    assert all(row["rate_rps"] == expected[row["name"]] for row in found.iloc[:-1].to_dict("records"))
    late = edits(edited_rows={3: {"rate_rps": 1}}, deleted_rows=[5])
    assert with_edits(DEMO.workloads, late, some).equals(DEMO.workloads)


def test_rows_of_an_editor_are_found_in_the_table_after_its_edits():
    """The oracle looks for each row's name in the table; the new row without a name is the last but one."""
    names = list(DEMO.workloads["name"])
    changes = edits(edited_rows={0: {"rate_rps": 7}}, deleted_rows=[1], added_rows=[{"rate_rps": 5}, {"name": "x"}, {}])
    for seen in (None, [1, 4, 6]):
        after = list(with_edits(DEMO.workloads, changes, seen)["name"])
        shown = [names[row] for row in (range(len(names)) if seen is None else seen)]
        rows = rows_in_editor(DEMO.workloads, changes, seen)
        assert [after[row] for row in rows[:-3]] == [shown[0], *shown[2:]]
        assert [row - len(after) for row in rows[-3:]] == [-2, -1, 0]


def test_services_are_found_by_parts_of_name_model_and_gpu_type():
    services = pd.DataFrame(
        {"name": ["Suche", "ÉTÉ", None], "model": ["bert", "resnet50", "bert"], "gpus": [None, "A100-80GB, T4", ""]}
    )
    for text, rows in (("", [0, 1, 2]), ("BERT", [0, 2]), ("été t4", [1]), ("suche bert", [0]), ("vgg", [])):
        assert matching(services, text) == rows


def test_some_services_can_be_looked_for_and_stay_looked_for():
    problem = example_problems()["parvagpu-s6"]
    page = screen("workloads", session_with(problem))
    session = page.session_state["session"]
    page.text_input(key=f"workloads_filter_{session.editor}").set_value("resnet").run()
    assert not page.exception
    models = [one.model for one in problem.workloads]
    wanted = [number for number, model in enumerate(models) if "resnet" in model]
    assert f"{len(wanted)} of {len(models)} services" in texts(page.caption)
    (shown,) = [one.value for one in page.dataframe if "model" in one.value.columns]
    assert list(shown["model"]) == [models[number] for number in wanted]
    switch(page, "plan")
    switch(page, "workloads")
    assert page.text_input(key=f"workloads_filter_{session.editor}").value == "resnet"
    open_problem(session, example_problems()["parvagpu-s5"])
    page.run()
    assert page.text_input(key=f"workloads_filter_{session.editor}").value == ""


def test_few_services_are_not_looked_for():
    page = screen("workloads", session_with("demo"))
    assert not [one for one in page.text_input if str(one.key).startswith("workloads_filter")]


def test_empty_rows_at_the_end_are_no_services_yet():
    empty = {"name": None, "rate_rps": None}
    assert with_edits(DEMO.workloads, edits(added_rows=[{}, empty, {"name": ""}])).equals(DEMO.workloads)
    assert len(with_edits(DEMO.workloads, edits(added_rows=[{}, {"name": "new"}, {}]))) == len(DEMO.workloads) + 2


def test_a_fraction_in_a_column_of_integers_is_kept_and_found():
    session = session_with("demo")
    frame = with_edits(session.tables.workloads, edits(edited_rows={0: {"max_replicas": 1.5}}))
    problem, findings = stated(type(DEMO)("x", session.tables.fleet, frame, session.tables.settings))
    assert problem is None
    assert [finding.path for finding in findings] == ["workloads[0].max_replicas"]


def test_opening_the_screen_changes_nothing_and_asks_for_no_second_run():
    session = session_with("mixed")
    before = (session.tables, session.past)
    page = screen("workloads", session)
    assert not page.exception
    assert (session.tables, session.past) == before


def test_the_same_tables_are_no_change():
    session = session_with("demo")
    past = session.past
    state(session, tables_of(example_problems()["demo"]))
    assert session.past is past
    assert same_tables(session.tables, DEMO)
    assert findings_of(session) == ()


def renamed(session, name):
    state(session, replace(session.tables, name=name))


def test_undo_and_redo_go_through_what_was_changed():
    session = session_with("demo")
    for name in ("one", "two"):
        renamed(session, name)
    undo(session)
    assert (session.tables.name, session.problem.name) == ("one", "one")
    undo(session)
    assert session.tables.name == "demo"
    redo(session)
    redo(session)
    assert session.tables.name == session.problem.name == "two"
    redo(session)
    assert session.tables.name == "two"


def test_what_is_solved_is_what_an_undo_in_the_same_run_leaves():
    """Streamlit calls what two quick presses ask for in one run, the later press first."""
    session = session_with("demo")
    renamed(session, "changed")
    page = screen("workloads", session)
    ask(session, solve_now)
    undo(session)
    settled(page.run())
    assert session.results["solve"].problem.name == "demo"


def test_undo_of_a_problem_that_was_just_opened_brings_back_what_the_tables_stated_before():
    """The press may come before the screen is drawn with the opened problem, which then stayed the one to be solved."""
    session = session_with("demo")
    renamed(session, "changed")
    open_problem(session, example_problems()["mixed"])
    undo(session)
    assert session.tables.name == session.problem.name == "changed"


def test_what_an_editor_says_again_after_an_undo_does_not_undo_that():
    """A browser that has not drawn the new editors yet sends what stood in the old ones with the next press."""
    session = session_with("demo")
    shown = session.editor
    note_edit(session, shown, name="changed")
    undo(session)
    note_edit(session, shown, name="changed")
    assert session.tables.name == session.problem.name == "demo"
    note_edit(session, session.editor, name="changed")
    assert session.tables.name == "changed"


def test_a_setting_that_is_sent_again_after_an_undo_stays_undone():
    session = session_with("demo")
    page = screen("workloads", session)
    late = page.number_input(key=f"max_processes_{session.editor}")
    late.set_value(2).run()
    assert session.problem.settings.max_processes == 2
    undo(session)
    late.set_value(1).run()
    assert session.problem.settings.max_processes == example_problems()["demo"].settings.max_processes


def test_a_change_after_undo_takes_the_place_of_what_was_undone():
    session = session_with("demo")
    renamed(session, "one")
    undo(session)
    renamed(session, "other")
    redo(session)
    assert session.tables.name == "other"
    undo(session)
    assert session.tables.name == "demo"


def test_undo_brings_back_wrong_tables_as_wrong_ones():
    session = session_with("demo")
    state(session, replace(session.tables, name="-wrong-"))
    renamed(session, "right")
    assert session.problem is not None
    undo(session)
    assert session.problem is None
    assert [finding.path for finding in findings_of(session)] == ["name"]


def test_undo_knows_which_saved_version_the_tables_began_as():
    session = session_with("demo")
    session.saved_as = VersionKey("demo", 1)
    open_problem(session, example_problems()["mixed"], VersionKey("mixed", 7))
    renamed(session, "mine")
    session.saved_as = VersionKey("mine", 8)
    undo(session)
    assert session.saved_as == VersionKey("mine", 8)
    undo(session)
    assert (session.tables.name, session.saved_as) == ("demo", VersionKey("demo", 1))
    redo(session)
    assert (session.tables.name, session.saved_as) == ("mixed", VersionKey("mine", 8))


def test_undo_without_a_change_does_nothing():
    session = session_with("demo")
    session.past = ()
    undo(session)
    assert session.tables.name == "demo"


def test_files_of_another_kind_get_a_word_that_says_what_to_upload():
    plan = (ROOT / "plans" / "demo.plan.json").read_bytes()
    with pytest.raises(InputError, match=r"is a plan, the answer to a problem.*\(demo\)"):
        uploaded_problem("demo.plan.json", plan)
    with pytest.raises(InputError, match="is a file of profiles"):
        uploaded_problem("own.yaml", b"version: 1\nprofiles: []\n")


def test_a_file_that_is_too_large_or_no_text_is_refused():
    with pytest.raises(InputError, match="at most 5 MiB are read"):
        uploaded_problem("big.yaml", b" " * (5 * 2**20 + 1))
    with pytest.raises(InputError, match=r"is not UTF-8 text \(byte 0\)"):
        uploaded_problem("x.yaml", b"\xff\xfe")


def test_an_uploaded_problem_is_what_was_downloaded():
    assert uploaded_problem("demo.yaml", (ROOT / "plans" / "demo.yaml").read_bytes()) == example_problems()["demo"]


def choose_file(page, content):
    page.file_uploader(key="upload").set_value(("mine.yaml", content, "application/yaml"))
    return page


def test_a_file_that_is_chosen_is_opened_before_a_press_of_the_same_run_solves():
    page = screen("workloads")
    mine = shop().model_copy(update={"name": "mine"})
    choose_file(page, dump_problem(mine).encode())
    page.button(key="solve").click().run()
    settled(page)
    session = page.session_state["session"]
    assert session.tables.name == session.answer.problem.name == "mine"
    assert [one.tables.name for one in session.past[-1:]] == ["demo"]
    page.button(key="undo").click().run()  # the file is still chosen, and not opened once more
    assert session.tables.name == "demo"


def test_a_wrong_file_changes_nothing_and_its_findings_go_with_it():
    page = choose_file(screen("workloads"), b"version: 1\nname: x\nfleet: []\nworkloads: []\n").run()
    assert "mine.yaml was not opened" in texts(page.error)
    assert page.session_state["session"].tables.name == "demo"
    page.file_uploader(key="upload").set_value(None).run()
    assert not page.error
    assert not page.exception


def folds(page):
    """Returns the folds of the screen by the first word of their titles."""
    return {one.label.replace(":", " ").split()[0]: one for one in page.expander}


def test_ways_to_begin_are_folded_below_the_tables():
    page = screen("workloads", session_with(shop().model_copy(update={"name": "ours"})))
    folded = folds(page)["Problem"]
    assert not folded.proto.expanded
    folded.button(key="load_example").click().run()
    assert not page.exception
    assert page.session_state["session"].tables.name in example_problems()


def test_folds_say_what_is_in_them_and_open_by_themselves_where_that_is_nothing():
    session = session_with("mixed")
    page = screen("workloads", session)
    assert folds(page)["Fleet"].label == "Fleet: 4 A100-80GB, 4 V100-SXM2-16GB, 1 T4; prices of aws-us-east-1"
    assert folds(page)["Settings"].label == "Settings: fewest dollars, 99 % of requests in time"
    assert not folds(page)["Fleet"].proto.expanded
    page.number_input(key=f"headroom_{session.editor}").set_value(0.2).run()
    assert folds(page)["Settings"].label.endswith(", 20 % headroom")
    state(session, replace(session.tables, fleet=session.tables.fleet[:0]))
    page.run()
    assert folds(page)["Fleet"].label.startswith("Fleet: no GPUs")
    assert folds(page)["Fleet"].proto.expanded


def test_every_setting_is_asked_once():
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(Settings.model_fields)


def test_a_fold_with_a_wrong_row_is_marked():
    session = session_with("demo")
    page = screen("workloads", session)
    assert not folds(page)["Fleet"].icon
    wrong = with_edits(session.tables.fleet, edits(edited_rows={0: {"gpu": "A100-8GB"}}))
    state(session, replace(session.tables, fleet=wrong))
    page.run()
    assert "error" in folds(page)["Fleet"].icon


def test_every_example_says_what_it_shows():
    assert set(SHOWS) == set(example_problems())


def test_the_catalogue_begins_with_gpus_that_can_be_planned():
    table = catalogue_table(load_catalogue().values(), shipped_profiles(), load_price_books()["aws-us-east-1"])
    assert set(table["gpu"]) == set(load_catalogue())
    assert list(table["profiled models"]) == sorted(table["profiled models"], reverse=True)
    (t4,) = table[table["gpu"] == "T4"].to_dict("records")
    assert (t4["SMs"], t4["MIG profiles"], t4["profiled models"]) == (40, "no MIG", 4)


def test_models_are_offered_for_what_the_fleet_can_do():
    facts = model_facts(shipped_profiles())
    assert {one.model for one in on_fleet(facts, {"T4": ["mps"]})} == {"alexnet", "resnet50", "vgg19", "ssd"}
    assert on_fleet(facts, {"T4": ["mig"]}) == []
    (bert,) = [one for one in on_fleet(facts, {"A100-80GB": ["mig"]}) if one.model == "bert"]
    assert bert.kind == "fitted"
    assert 0 < bert.least_ms < bert.most_ms
    assert len(models_table(facts)) == len(facts)


def test_a_name_that_is_taken_gets_the_first_free_number():
    assert free_name("a", []) == "a"
    assert free_name("a", ["a", "a-2", "b"]) == "a-3"


def test_wrong_rows_are_shown_with_the_wrong_cells_and_undo_mends_them():
    session = session_with("demo")
    added = [{}, {"name": "late", "model": "vgg16", "rate_rps": 5, "slo_ms": 300}]
    wrong = with_edits(session.tables.workloads, edits(edited_rows={2: {"model": "vgg-16"}}, added_rows=added))
    state(session, replace(session.tables, workloads=wrong))
    session.editor += 1
    page = screen("workloads", session)
    assert not page.exception
    assert "2 rows of this table cannot be used" in texts(page.error)
    (marks,) = [frame.value for frame in page.dataframe if MARK in frame.value.columns]
    assert list(marks["row"]) == ["3", "9"]
    assert "Did you mean 'vgg16'?" in marks[MARK].iloc[0]
    assert "is empty" in marks[MARK].iloc[1]
    (over,) = [one.proto.body for one in page.get("html") if "row_marks" in one.proto.body]
    assert re.findall(r"--row: (\d+)", over) == ["2", "8"]
    assert "Did you mean &#x27;vgg16&#x27;?" in over
    (cards,) = [
        one.proto.body for one in page.get("html") if "style-match" in one.proto.body and "cards" in one.proto.body
    ]
    assert cards.count('class="wrong"') == 2
    page.button(key="undo").click().run()
    assert not page.error
    assert not page.button(key="solve").disabled
    page.button(key="redo").click().run()
    assert page.error


def test_a_problem_is_renamed_and_a_wrong_name_is_explained():
    page = screen("workloads", session_with("demo"))
    session = page.session_state["session"]
    page.text_input(key=f"name_{session.editor}").set_value("mine").run()
    assert session.problem.name == "mine"
    page.text_input(key=f"name_{session.editor}").set_value("not a name").run()
    assert "name is 'not a name'" in texts(page.error)


def test_empty_tables_say_what_to_do():
    session = session_with("demo")
    state(session, replace(session.tables, fleet=session.tables.fleet[:0], workloads=session.tables.workloads[:0]))
    session.editor += 1
    page = screen("workloads", session)
    assert not page.exception
    assert "Press *Add GPUs*" in texts(page.info)
    assert "Press *Add a service*" in texts(page.info)


def test_tables_are_validated_once_for_each_change(monkeypatch):
    counted = []
    monkeypatch.setattr(stated_module, "resolve", lambda *_: counted.append(1))
    page = screen("workloads", session_with("demo"))
    page.run()
    session = page.session_state["session"]
    assert len(counted) == 1
    page.number_input(key=f"headroom_{session.editor}").set_value(0.5).run()
    page.run()
    assert len(counted) == 2


def test_another_price_book_changes_the_problem_and_what_stands_beside_the_fleet_and_undo_brings_it_back():
    session = session_with(example_problems()["demo"])
    page = screen("workloads", session)
    assert "AWS us-east-1, on demand" in texts(page.caption)
    assert "3.43 (2026-11-09)" in texts(page.caption)
    page.selectbox(key=f"prices_{session.editor}").set_value("gcp-us-central1").run()
    assert session.problem.prices == "gcp-us-central1"
    assert "Google Cloud us-central1" in texts(page.caption)
    assert "5.07 (2026-09)" in texts(page.caption)
    page.selectbox(key=f"prices_{session.editor}").set_value("coreweave").run()
    page.selectbox(key=f"prices_{session.editor}").set_value("aws-us-east-1").run()
    assert session.problem.prices is None, "the default is not written into the problem"
    undo(session)
    assert session.problem.prices == "coreweave"


def test_a_factor_and_a_book_of_its_own_survive_the_tables():
    book = load_price_books()["azure-eastus"].model_copy(update={"name": "ours"})
    demo = example_problems()["demo"]
    fleet = (demo.fleet[0].model_copy(update={"price_factor": 0.5}),)
    problem = demo.model_copy(update={"fleet": fleet, "prices": "ours", "price_books": (book,)})
    assert stated(tables_of(problem)) == (problem, ())
    assert not same_tables(tables_of(problem), tables_of(demo.model_copy(update={"fleet": fleet})))


def columns_drawn(page):
    """Returns the columns of services that the browser is told to draw."""
    (services,) = [one.proto for one in page.dataframe if '"slo_ms"' in one.proto.columns]
    told = json.loads(services.columns)
    return [name for name in page.session_state["session"].tables.workloads.columns if not told[name].get("hidden")]


def test_columns_that_nothing_stands_in_are_drawn_on_request_and_others_always():
    page = screen("workloads", session_with("demo"))
    assert columns_drawn(page) == ["name", "model", "rate_rps", "slo_ms"]
    next(one for one in page.toggle if one.label == "More columns").set_value(True).run()
    assert not page.exception
    assert {"min_replicas", "batch_sizes", "memory_mib", "value"} < set(columns_drawn(page))
    assert IN_FILES not in columns_drawn(page)
    next(one for one in page.toggle if one.label == "More columns").set_value(False).run()
    problem = example_problems()["demo"]
    valued = tuple(one.model_copy(update={"value": 2.0}) for one in problem.workloads)
    page = screen("workloads", session_with(problem.model_copy(update={"workloads": valued})))
    assert columns_drawn(page) == ["name", "model", "rate_rps", "slo_ms", "value"]


def test_fleet_promise_and_solve_stand_above_the_services():
    page = screen("workloads", session_with("demo"))
    assert "On any number of A100-80GB, at prices of aws-us-east-1." in texts(page.markdown)
    assert "Promised: 99 % of requests in time." in texts(page.markdown)
    assert page.button(key="now_beside").label == "Solve now"


def test_the_price_of_another_problem_s_plan_does_not_stand_under_the_name_of_this_one():
    page = press(screen("workloads", session_with("demo")), "solve")
    assert "$13.72 per hour" in texts(page.sidebar.caption)
    open_problem(page.session_state["session"], example_problems()["parvagpu-s5"])
    page.run()
    assert texts(page.sidebar.caption) == "Not solved yet."
