"""The save bar and the screen History, run by Streamlit's own test driver."""

import itertools

import pytest
from problems.shop import shop, shop_plan
from support.app_screens import press, screen, session_with, settled, switch, texts

from sliceplan.app.access import writing
from sliceplan.app.access.identity import Identity, NotAllowedError, Role
from sliceplan.app.screens.workloads.saving import CONFLICT
from sliceplan.app.session.plan_origin import origin_in_words
from sliceplan.app.session.saved_plan import SAVED_PLAN
from sliceplan.app.session.session import Result, open_problem
from sliceplan.app.store import shared
from sliceplan.app.store.errors import UnreachableError
from sliceplan.app.store.plans import plans, save_plan
from sliceplan.app.store.problems import (
    latest_version,
    load_problem,
    restore_version,
    save_new_problem,
    save_problem,
    versions,
)
from sliceplan.app.store.records import VersionKey
from sliceplan.app.store.shared import shared_store
from sliceplan.app.store.sweeps import save_sweep
from sliceplan.app.tables.history import (
    VersionCost,
    changed_in_words,
    changes_table,
    contests_table,
    plan_changes_table,
    versions_table,
    where_in_words,
)
from sliceplan.app.tables.labels import SETTINGS
from sliceplan.app.widgets.texts import literal
from sliceplan.solver.api import solve
from sliceplan.solver.differences.merging import merged
from sliceplan.solver.differences.plans import difference
from sliceplan.solver.differences.problems import changes
from sliceplan.solver.model.digest import reference
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.sweep_report import SweepReport

DEMO = shop()
NUMBERS = itertools.count(1)


def with_rate(problem, rate, place=0):
    data = problem.model_dump()
    data["workloads"][place]["rate_rps"] = rate
    return Problem.model_validate(data)


@pytest.fixture
def saved():
    """The demo, saved under a name of the test's own."""
    return save_new_problem(shared_store(), DEMO, name=f"demo-{next(NUMBERS)}", author="ana", note="as shipped").key


def opened(name, key, problem=DEMO):
    """A screen whose tables began as a saved version, and state a problem by now."""
    session = session_with(DEMO)
    session.saved_as = key
    if problem is not DEMO:
        open_problem(session, problem, key)
    return screen(name, session)


def state(page):
    return page.session_state["session"]


def click(page, key):
    page.button(key=key).click().run()
    assert not page.exception
    return page


def field(page, label):
    (found,) = [one for one in page.text_input if one.label == label]
    return found


def part(page, name):
    page.segmented_control(key="history_part").set_value(name).run()
    assert not page.exception
    return page


def popovers_of(page):
    return [getattr(one.proto, "popover", one.proto) for one in page.get("popover")]


def frame(page, column):
    (found,) = [one.value for one in page.dataframe if column in one.value.columns]
    return found


def test_the_first_saving_asks_for_a_name_and_the_next_for_a_note():
    page = screen("workloads")
    assert "Not saved" in texts(page.markdown)
    name = f"first-{next(NUMBERS)}"
    field(page, "Name").set_value(name)
    field(page, "What it is for").set_value("for the board")
    click(page, "save_under_0_None")
    key = VersionKey(name, 1)
    assert state(page).saved_as == key
    assert f"**{name}, version 1** — as it was saved" in texts(page.markdown)
    page.number_input(key=f"headroom_{state(page).editor}").set_value(0.5).run()
    assert "changed since" in texts(page.markdown)
    field(page, "What changed, and why").set_value("more headroom")
    click(page, "save_version")
    version = latest_version(shared_store(), name)
    assert (version.key.number, version.note, version.parent) == (2, "more headroom", key)
    assert load_problem(shared_store(), version.key).settings.headroom == 0.5
    assert "as it was saved" in texts(page.markdown)


def test_a_name_that_is_taken_or_cannot_be_kept_is_refused_where_it_is_asked_for(saved):
    page = screen("workloads")
    field(page, "Name").set_value(saved.document)
    click(page, "save_under_0_None")
    assert f"a problem is already saved as '{saved.document}'" in texts(page.error)
    field(page, "Name").set_value("  ")
    click(page, "save_under_0_None")
    assert "Enter a name first." in texts(page.error)
    assert state(page).saved_as is None


def test_both_sides_of_a_conflict_are_shown_and_merged(saved):
    page = opened("workloads", saved, with_rate(DEMO, 2200.0))
    save_problem(shared_store(), with_rate(DEMO, 77.0, place=1), parent=saved, author="cleo", note="less traffic")
    page.run()
    assert "cleo saved version 2" in texts(page.caption)
    click(page, "save_version")
    assert "cleo saved version 2" in texts(page.warning)
    assert "less traffic" in texts(page.warning)
    sides = [one.value for one in page.dataframe if "before" in one.value.columns]
    assert [list(side["after"]) for side in sides] == [["77"], ["2200"]]
    assert "merging keeps both" in texts(page.caption)
    click(page, "merge")
    third = latest_version(shared_store(), saved.document)
    assert (third.key.number, third.note) == (3, "merged with version 2 by cleo")
    rates = [one.rate_rps for one in load_problem(shared_store(), third.key).workloads[:2]]
    assert rates == [2200.0, 77.0]
    assert state(page).saved_as == third.key
    assert not CONFLICT.is_there(state(page))


@pytest.mark.parametrize(("side", "rate"), [("theirs", 77.0), ("mine", 2200.0)])
def test_contested_places_keep_the_side_that_was_chosen(saved, side, rate):
    page = opened("workloads", saved, with_rate(DEMO, 2200.0))
    save_problem(shared_store(), with_rate(DEMO, 77.0), parent=saved, author="cleo")
    click(page, "save_version")
    (contested,) = [one.value for one in page.dataframe if "theirs" in one.value.columns]
    assert contested.to_dict("records")[0] | {"where": ""} == {
        "where": "",
        "before": "110",
        "theirs": "77",
        "mine": "2200",
    }
    page.radio(key="contested").set_value(side).run()
    click(page, "merge")
    assert load_problem(shared_store(), VersionKey(saved.document, 3)).workloads[0].rate_rps == rate


def test_mine_can_go_on_top_or_under_another_name_or_be_discarded(saved):
    store = shared_store()
    mine, theirs = with_rate(DEMO, 2200.0), with_rate(DEMO, 77.0)
    save_problem(store, theirs, parent=saved, author="cleo")

    page = click(opened("workloads", saved, mine), "save_version")
    click(page, "discard_mine")
    assert state(page).problem == theirs
    assert state(page).past[-1].tables.workloads["rate_rps"][0] == 2200.0
    assert len(versions(store, saved.document)) == 2

    page = click(opened("workloads", saved, mine), "save_version")
    other = f"other-{next(NUMBERS)}"
    page.text_input(key="save_as_name_conflict").set_value(other)
    click(page, "save_under_conflict")
    assert latest_version(store, other).parent == saved

    page = click(opened("workloads", saved, mine), "save_version")
    click(page, "save_on_top")
    assert load_problem(store, VersionKey(saved.document, 3)) == mine
    assert state(page).saved_as == VersionKey(saved.document, 3)


def test_who_saves_during_a_merge_makes_another_conflict_and_nothing_is_lost(saved):
    store = shared_store()
    page = opened("workloads", saved, with_rate(DEMO, 2200.0))
    second = save_problem(store, with_rate(DEMO, 77.0, place=1), parent=saved, author="cleo")
    click(page, "save_version")
    save_problem(store, with_rate(DEMO, 88.0, place=2), parent=second.key, author="dan")
    click(page, "merge")
    assert "dan saved version 3" in texts(page.warning)
    assert state(page).problem.workloads[0].rate_rps == 2200.0
    assert state(page).problem.workloads[1].rate_rps == 77.0
    click(page, "merge")
    assert len(versions(store, saved.document)) == 4


def test_a_plan_is_saved_beside_its_version_and_shown_again(saved):
    page = press(opened("workloads", saved), "solve")
    field(page, "What the plan is for").set_value("for the order")
    click(page, "save_this_plan")
    (record,) = plans(shared_store(), saved.document)
    assert (record.problem, record.note, record.gpus_used) == (saved, "for the order", 3)
    state(page).results = {}
    switch(page, "history")
    part(page, "Plans")
    assert frame(page, "planner")["plan"].tolist() == [record.id]
    click(page, "show_plan")
    assert state(page).answer.plan.gpus_used == 3
    assert f"plan {record.id}" in texts(page.success)
    click(page, "plan_runs")
    assert state(page).running.problem == DEMO
    said = f"plan {record.id} for {saved}, saved {record.saved_at:%Y-%m-%d %H:%M} UTC by "
    assert origin_in_words(state(page), state(page).answer).startswith(said)
    assert origin_in_words(state(page), state(page).running).startswith(said)
    click(page, "archive_plan")
    assert plans(shared_store(), saved.document) == ()


def test_a_plan_of_another_problem_waits_until_that_is_saved(saved):
    page = press(opened("workloads", saved, with_rate(DEMO, 2200.0)), "solve")
    popovers = {one.label: one for one in popovers_of(page)}
    assert popovers["Save plan"].disabled
    assert "is for another problem" in popovers["Save plan"].help
    assert not popovers["Save"].disabled


def chosen_version(page):
    return next(one for one in page.selectbox if one.label == "Version")


def test_what_changed_in_the_chosen_version_stands_in_full_below_it(saved):
    save_problem(shared_store(), with_rate(DEMO, 77), parent=saved, author="bo", note="")
    page = opened("history", saved)
    said = "Against the version before: search-embedding, Rate (req/s): 110 → 77."
    assert said in texts(page.caption)
    chosen_version(page).set_value(saved).run()
    assert not page.exception
    assert "Against the version before" not in texts(page.caption)  # the first one has none


def test_an_old_version_is_opened_compared_and_restored(saved):
    save_problem(shared_store(), with_rate(DEMO, 77.0), parent=saved, author="cleo", note="less")
    page = opened("history", VersionKey(saved.document, 2))
    table = frame(page, "what changed")
    assert list(table["note"]) == ["less", "as shipped"]
    assert "from" not in table  # each from the one before
    part(page, "Differences")
    differences = next(one.value for one in page.dataframe if "before" in one.value.columns)
    assert (differences["before"][0], differences["after"][0]) == ("110", "77")
    part(page, "Versions")
    assert chosen_version(page).value.number == 2
    chosen_version(page).set_value(saved).run()
    click(page, "open_version")
    assert (state(page).problem, state(page).saved_as) == (DEMO, saved)
    click(page, "restore_version")
    third = latest_version(shared_store(), saved.document)
    assert (third.key.number, third.restored_from) == (3, 1)
    assert "it is saved again as version 3, now the latest" in texts(page.success)
    assert chosen_version(page).value == third.key


def test_versions_say_what_changed_what_they_cost_and_how_much_more_than_the_one_before(saved):
    store = shared_store()
    more = with_rate(DEMO, 2200.0)
    second = save_problem(store, more, parent=saved, author="cleo", note="sale")
    plan = solve(DEMO)
    save_plan(store, plan, problem=saved, author="ana")
    page = opened("history", second.key)
    table = frame(page, "what changed").set_index("version")
    name = DEMO.labels.get(DEMO.workloads[0].name, DEMO.workloads[0].name)
    assert table.loc[2, "what changed"] == f"{name}, Rate (req/s): 110 → 2200"
    assert table.loc[1, "cost per hour"] == plan.cost_per_hour
    assert table["cost per hour"].isna().to_dict() == {2: True, 1: False}
    assert set(table["cost change"]) == {""}
    settled(click(page, "version_costs"))
    table = frame(page, "what changed").set_index("version")
    other = solve(more)
    usd, gpus = other.cost_per_hour - plan.cost_per_hour, other.gpus_used - plan.gpus_used
    assert (usd, gpus) == (pytest.approx(table.loc[2, "cost per hour"] - plan.cost_per_hour), 3)
    assert table.loc[2, "cost change"] == f"+${usd:,.2f}, +3 GPUs"
    assert "version_costs" not in [button.key for button in page.button]


def test_a_version_that_is_as_an_earlier_one_costs_the_same(saved):
    store = shared_store()
    second = save_problem(store, with_rate(DEMO, 2200.0), parent=saved, author="cleo")
    restore_version(store, saved, parent=2, author="cleo")
    save_plan(store, solve(DEMO), problem=saved, author="ana")
    save_plan(store, solve(with_rate(DEMO, 2200.0)), problem=second.key, author="ana")
    table = versions_table(
        versions(store, saved.document),
        {one.sha256: VersionCost(10.0 + one.key.number % 2, 4) for one in versions(store, saved.document)},
    )
    assert list(table["version"]) == [3, 2, 1]
    assert list(table["cost per hour"]) == [11.0, 10.0, 11.0]
    assert list(table["cost change"]) == ["+$1.00", "-$1.00", ""]


def test_a_version_says_what_it_is_from_where_that_is_not_the_one_before(saved):
    store = shared_store()
    save_problem(store, with_rate(DEMO, 2200.0), parent=saved, author="cleo")
    restore_version(store, saved, parent=2, author="cleo", note="the board said no")
    table = versions_table(versions(store, saved.document))
    assert list(table["from"]) == ["restored from version 1", "", ""]
    other = f"other-{next(NUMBERS)}"
    save_new_problem(store, DEMO, name=other, author="cleo", copied=saved)
    assert list(versions_table(versions(store, other))["from"]) == [f"copy of {saved}"]


def test_changes_are_said_in_a_few_words():
    fewer = Problem.model_validate({**DEMO.model_dump(), "workloads": DEMO.model_dump()["workloads"][1:]})
    name = DEMO.workloads[0].name
    assert changed_in_words(changes(DEMO, fewer), {}) == f"{name} removed"
    assert changed_in_words(changes(fewer, DEMO), {name: "Suche"}) == "Suche added; services: another order"
    assert changed_in_words([], {}) == "nothing"
    three = with_rate(with_rate(with_rate(DEMO, 1.0), 2.0, 1), 3.0, 2)
    assert changed_in_words(changes(DEMO, three), {}).endswith(" and 1 more")
    data = DEMO.model_dump()
    data["settings"]["headroom"] = 0.5
    assert changed_in_words(changes(DEMO, Problem.model_validate(data)), {}) == "Headroom: 0 → 0.5"


def test_any_two_plans_are_compared(saved):
    store = shared_store()
    page = press(opened("workloads", saved), "solve")
    plan = state(page).answer.plan
    save_plan(store, plan, problem=saved, author="ana", note="exact")
    other = plan.model_copy(update={"planner": "other", "gpus": plan.gpus[:2], "gpus_used": 2})
    save_plan(store, other, problem=saved, author="ana", note="too few")
    switch(page, "history")
    part(page, "Differences")
    page.segmented_control(key="history_compare").set_value("Two plans").run()
    assert not page.exception
    table = next(one.value for one in page.dataframe if "before" in one.value.columns)
    assert {"figure", "GPUs", "moved"} <= set(table["what"])


def test_a_saved_sweep_is_shown_again(saved):
    axis = {"kind": "rate", "values": [1.0]}
    problem = reference(DEMO).model_dump()
    report = SweepReport.model_validate(
        {"version": 1, "problem": problem, "axes": [axis], "points": [], "steps": [], "missing": 1}
    )
    save_sweep(shared_store(), report, problem=saved, author="ana")
    page = click(part(opened("history", saved), "Sweeps"), "show_sweep")
    assert state(page).results["sweep"].value == report
    click(page, "archive_sweep")
    assert "No sweep is saved" in texts(page.info)


def problems_shown(page):
    (chooser,) = [one for one in page.selectbox if one.label == "Problem"]
    return chooser.options


def test_an_archived_problem_is_out_of_sight_and_can_be_taken_back(saved):
    page = click(opened("history", saved), "archive_problem")
    assert saved.document not in problems_shown(page)
    page.toggle(key="history_archived").set_value(True).run()
    page.selectbox(key=f"history_problem_{saved.document}").set_value(saved.document).run()
    click(page, "unarchive_problem")
    page.toggle(key="history_archived").set_value(False).run()
    assert saved.document in problems_shown(page)


def test_a_viewer_sees_all_of_it_and_saves_nothing(saved, monkeypatch):
    viewer = Identity("vera", Role.VIEWER)
    for part in ("workloads.save_bar", "workloads.saving", "workloads.conflict", "history.screen"):
        monkeypatch.setattr(f"sliceplan.app.screens.{part}.current_identity", lambda: viewer)
    page = press(opened("workloads", saved, with_rate(DEMO, 2200.0)), "solve")
    assert all(one.disabled for one in popovers_of(page))
    # The buttons are not what keeps viewers out: this click comes although its popover is shut.
    click(page, "save_version")
    assert "vera is a viewer" in texts(page.error)
    switch(page, "history")
    assert page.button(key="archive_problem").disabled
    assert latest_version(shared_store(), saved.document).key == saved


def test_every_function_that_writes_asks_for_the_role():
    viewer = Identity("vera", Role.VIEWER)
    key, plan = VersionKey("demo", 1), read_plan_of_demo()
    calls = {
        "save_new_problem": lambda: writing.save_new_problem(None, DEMO, name="x", by=viewer),
        "save_problem": lambda: writing.save_problem(None, DEMO, parent=key, by=viewer),
        "restore_version": lambda: writing.restore_version(None, key, parent=1, by=viewer),
        "archive_problem": lambda: writing.archive_problem(None, "x", by=viewer),
        "unarchive_problem": lambda: writing.unarchive_problem(None, "x", by=viewer),
        "save_plan": lambda: writing.save_plan(None, plan, problem=key, by=viewer),
        "archive_plan": lambda: writing.archive_plan(None, 1, by=viewer),
        "unarchive_plan": lambda: writing.unarchive_plan(None, 1, by=viewer),
        "save_sweep": lambda: writing.save_sweep(None, None, problem=key, by=viewer),
        "archive_sweep": lambda: writing.archive_sweep(None, 1, by=viewer),
        "unarchive_sweep": lambda: writing.unarchive_sweep(None, 1, by=viewer),
    }
    written = {name for name, value in vars(writing).items() if getattr(value, "__module__", "") == writing.__name__}
    assert written == set(calls)
    for call in calls.values():
        with pytest.raises(NotAllowedError, match="vera is a viewer: saving, archiving and restoring take the role"):
            call()


def read_plan_of_demo():
    return shop_plan()


def test_without_a_store_the_tables_and_the_solver_work_on(monkeypatch, saved):
    def unreachable():
        raise UnreachableError("postgresql://db/plans cannot be opened: connection refused")

    monkeypatch.setattr(shared, "_shared_store", unreachable)
    page = press(opened("workloads", saved), "solve")
    assert not page.exception
    assert "Nothing can be saved now" in texts(page.warning)
    assert "connection refused" in texts(page.warning)
    assert state(page).answer.plan.gpus_used == 3
    switch(page, "history")
    assert "What is saved cannot be shown" in texts(page.error)


def test_what_people_type_commands_nothing():
    assert literal("![x](http://evil/x.png) *a*") == "!\\[x\\](http:\u2060//evil/x.png) \\*a\\*"
    assert literal("two\n\n# lines") == r"two \# lines"


def test_what_was_added_or_removed_has_one_side_only():
    fewer = Problem.model_validate({**DEMO.model_dump(), "workloads": DEMO.model_dump()["workloads"][1:]})
    removed, added = changes_table(changes(DEMO, fewer)), changes_table(changes(fewer, DEMO))
    assert (removed["what"][0], removed["after"][0]) == ("removed", "")
    assert (added["what"][0], added["before"][0]) == ("added", "")
    contests = contests_table(merged(DEMO, fewer, with_rate(DEMO, 5.0)).contests)
    assert (contests["mine"][0], contests["theirs"][0]) == ("removed", "5")


def test_places_and_settings_that_differ_are_called_as_on_the_page():
    other = with_rate(DEMO, 5.0).model_copy(
        update={"settings": DEMO.settings.model_copy(update={"objective": "capacity", "headroom": 0.2})}
    )
    table = changes_table(changes(DEMO, other))
    rows = {row["where"]: (row["before"], row["after"]) for row in table.to_dict("records")}
    assert rows == {
        "What to aim for": ("Fewest dollars", "Most requests on these GPUs"),
        SETTINGS["headroom"].text: ("0", "0.2"),
        f"{DEMO.workloads[0].name}, Rate (req/s)": (f"{DEMO.workloads[0].rate_rps:g}", "5"),
    }
    assert where_in_words(("workloads", "search")) == "service search"
    assert where_in_words(("workloads",)) == "services"
    assert where_in_words(("fleet", "T4", "nodes", "a")) == "T4, Nodes, a"
    assert where_in_words(("prices",)) == "prices"


def test_plans_that_are_alike_have_no_rows():
    plan = read_plan_of_demo()
    assert plan_changes_table(difference(plan, plan)).empty


@pytest.fixture
def nothing_saved(tmp_path, monkeypatch):
    """A store of the test's own, in which nothing is."""
    from sliceplan.app.store.opening import open_store

    monkeypatch.setenv("SLICEPLAN_DATABASE", f"sqlite:///{tmp_path}/store.sqlite3")
    store = open_store()
    monkeypatch.setattr(shared, "_shared_store", lambda: store)
    return store


def test_where_nothing_is_saved_one_press_keeps_the_plan_at_hand(nothing_saved):
    page = screen("history", session_with(DEMO))
    assert "Nothing is saved yet" in texts(page.info)
    assert "keep_plan" not in [one.key for one in page.button]
    page = click(press(page, "solve"), "keep_plan")
    assert "is saved, with its plan" in texts(page.success)
    (plan,) = plans(nothing_saved, DEMO.name)
    assert plan.problem == state(page).saved_as == VersionKey(DEMO.name, 1)
    assert load_problem(nothing_saved, plan.problem) == DEMO


@pytest.mark.usefixtures("nothing_saved")
def test_who_may_not_save_cannot_keep_the_plan_at_hand(monkeypatch):
    session = session_with(DEMO)
    session.results["solve"] = Result(DEMO, shop_plan())
    monkeypatch.setattr("sliceplan.app.screens.history.first.current_identity", lambda: Identity("eve", Role.VIEWER))
    assert screen("history", session).button(key="keep_plan").disabled


def test_both_sides_of_a_transition_say_which_version_they_are_and_whether_it_is_saved(saved):
    page = opened("transition", saved)
    (version,) = versions(shared_store(), saved.document)
    state(page).results["solve"] = Result(DEMO, shop_plan())
    said = f"Version 1 of {saved.document}, saved {version.saved_at:%Y-%m-%d %H:%M} UTC by ana"
    page.run()
    assert f"{said}; the plan itself is not saved." in texts(page.caption)
    SAVED_PLAN.keep(state(page), (saved, state(page).answer.plan))
    page.run()
    assert f"{said}, with this plan." in texts(page.caption)
    page.button(key="running_is_last").click().run()
    assert f"{said}, with this plan. Set as what runs 20" in texts(page.caption)
    changed = with_rate(DEMO, 77)
    state(page).results["solve"] = Result(changed, solve(changed))
    settled(page.run())
    assert not page.exception
    lines = [texts([one]) for one in page.main.caption]
    assert [one for one in lines if one.startswith(said)] == [one for one in lines if "Set as what runs" in one]
    assert "Not saved yet." in lines
    newer = save_problem(shared_store(), DEMO, parent=saved, author="bo", note="again").key
    page.run()
    assert newer.number == 2
    assert f"Version 2 of {newer.document}, saved" in texts(page.caption)  # the same problem, saved later
