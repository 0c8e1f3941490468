"""The first screen: what it says of the answer, and what the way to one's own services asks for."""

import pandas as pd
from problems.instances import problem_of
from support.app_screens import press, screen, session_with, texts

from sliceplan.app.screens.start.own_services import name_for
from sliceplan.app.screens.start.screen import EXAMPLES
from sliceplan.app.screens.start.unknown_models import LEFT_OUT, nearest, stand_ins_of, unknown_in, with_known
from sliceplan.app.session.drafts import Drafts
from sliceplan.app.session.session import open_problem
from sliceplan.app.session.stand_ins import note_stand_ins, stand_ins_in
from sliceplan.solver.formats.problem_files import example_problems

DEMO = example_problems()["demo"]


def asked(cells, **chosen):
    """Returns the screen with the dialog open; `chosen`: for unknown models, by the keys of their choices."""
    page = screen("start", session_with("demo"))
    for key, value in chosen.items():
        page.session_state[key] = value
    page.session_state["own_cells"] = cells
    return page.button(key="door_own").click().run()


def test_a_table_without_a_column_that_services_need_says_which():
    page = asked("name\tnetwork\tqps\na\tvgg16\t50")
    assert not page.exception
    assert "no column for SLO (ms) was found" in texts(page.error)
    assert not any(button.key == "own_plan" for button in page.button)


def test_usual_names_of_columns_make_services():
    page = asked("service;model;req/s;p99 latency\nfront page;resnet50;1.250,5;180")
    assert not page.exception
    assert not page.error
    assert "Files and units call 'front page' front-page" in texts(page.caption)
    assert page.button(key="own_plan").label == "Plan this service"


OWN = "Service name\tModel\tPeak QPS\tp99 latency target\na\tvgg16\t50\t0.2s"


def column_keys(cells):
    """Returns the keys of the choices of columns for a table, by column."""
    first = tuple(cells.split("\n")[0].split("\t"))
    return {name: f"own_{abs(hash(first)):x}_{name}" for name in ("name", "model", "rate_rps", "slo_ms")}


def test_a_table_with_names_of_its_own_is_planned_and_can_be_read_otherwise():
    page, keys = asked(OWN), column_keys(OWN)
    assert not page.exception
    assert not page.error
    assert "'Peak QPS' is taken as Rate (req/s)." in texts(page.caption)
    assert page.button(key="own_plan").label == "Plan this service"
    assert [page.selectbox(key=key).value for key in keys.values()] == OWN.split("\n")[0].split("\t")
    assert page.selectbox(key=f"{keys['slo_ms']}_unit").value == "ms"
    page = asked(OWN, **{keys["slo_ms"]: "(none)"})
    assert "no column for SLO (ms) was found; choose it above" in texts(page.error)


def test_a_table_of_foreign_names_is_read_as_it_is_chosen_to_be():
    foreign = "Dienst\tNetz\tLast\tGrenze\na\tvgg16\t3000\t0.2"
    assert "the first line names no columns" in texts(asked(foreign).error)
    keys = column_keys(foreign)
    chosen = dict(zip(keys.values(), ("Dienst", "Netz", "Last", "Grenze"), strict=True))
    units = {f"{keys['rate_rps']}_unit": "rpm", f"{keys['slo_ms']}_unit": "s"}
    page = asked(foreign, **chosen, **units)
    assert not page.error
    assert page.button(key="own_plan").label == "Plan this service"
    assert "'Last' is converted to requests per second" in texts(page.caption)


def test_of_rows_without_names_no_column_is_asked_for():
    rows = "a\tvgg16\t50\t200\nb\tvgg16\t50\t200"
    assert not {one.key for one in asked(rows).selectbox} & set(column_keys(rows).values())


def test_rows_that_are_not_shown_are_counted():
    for services in (8, 12):
        page = asked("\n".join(["service\tmodel\trps\tslo", *(f"s{i}\tvgg16\t50\t200" for i in range(services))]))
        assert page.button(key="own_plan").label == f"Plan {services} services"
        assert ("the first 8 of 12; all of them are planned" in texts(page.caption)) == (services == 12)


def test_other_services_than_those_at_hand_are_a_problem_of_another_name():
    session = session_with("demo")
    first, second = (pd.DataFrame({"name": names}) for names in (["a", "b"], ["c", "d", "e"]))
    assert name_for(session, first) == "my-services"
    mine = problem_of([{"name": name, "model": "vgg16", "rate_rps": 5, "slo_ms": 900} for name in ("a", "b")])
    open_problem(session, mine.model_copy(update={"name": "my-services"}))
    assert name_for(session, first) == name_for(session, first.head(1)) == "my-services"
    assert name_for(session, second) == "my-services-2"
    open_problem(session, DEMO)
    assert name_for(session, first) == "my-services-2"


def test_a_problem_of_ones_own_is_not_replaced_without_a_word():
    cells = "service\tmodel\trps\tslo\na\tvgg16\t50\t200"
    assert "not saved" not in texts(asked(cells).caption)
    session = session_with("demo")
    open_problem(session, DEMO.model_copy(update={"name": "my-services"}))
    page = screen("start", session)
    page.session_state["own_cells"] = cells
    page.button(key="door_own").click().run()
    assert "This takes the place of **my-services**, which is not saved. *Undo*" in texts(page.caption)


UNKNOWN = "service\tmodel\trps\tslo (ms)\nfind\tbert-base\t50\t200\nchat\tllama-7b\t5\t2000"


def test_a_model_that_nobody_measured_is_planned_as_another_or_left_out():
    page = asked(UNKNOWN)
    assert not page.exception
    assert not page.error
    assert "How fast bert-base, llama-7b are on A100-80GB is not known" in texts(page.warning)
    assert page.selectbox(key="own_as_A100-80GB_bert-base").value == "bert"
    assert not any(button.key == "own_plan" for button in page.button)
    page = asked(UNKNOWN, **{"own_as_A100-80GB_llama-7b": LEFT_OUT})
    assert page.button(key="own_plan").label == "Plan this service"
    page = asked(UNKNOWN, **{"own_as_A100-80GB_llama-7b": "vgg16"})
    assert page.button(key="own_plan").label == "Plan 2 services"


def test_a_plan_says_which_models_stand_in_for_others_until_they_do_no_more(tmp_path):
    rows = pd.DataFrame({"name": ["find", "chat", "gone", "known"], "model": ["bert-base", "llama-7b", "x", "bert"]})
    chosen = {"bert-base": "bert", "llama-7b": "vgg16", "x": LEFT_OUT}
    services = [
        {"name": name, "model": model, "rate_rps": 5, "slo_ms": 900}
        for name, model in with_known(rows, chosen)[["name", "model"]].itertuples(index=False)
    ]
    session = session_with(problem_of(services))
    note_stand_ins(session, stand_ins_of(rows, chosen))
    page = press(screen("plan", session), "solve")
    assert not page.exception
    assert "find runs bert-base, and is planned as bert - chat runs llama-7b, and is planned as vgg16" in " ".join(
        texts(page.warning).split()
    )
    assert "gone" not in texts(page.warning)
    drafts = Drafts(tmp_path)
    drafts.note("a" * 16, session)
    drafts.written()
    again = drafts.session_of("a" * 16, session.user)
    assert stand_ins_in(again, again.problem) == stand_ins_in(session, session.problem) != ()
    # A service that gets another model, or another problem, has none.
    other = session.problem.model_dump()
    other["workloads"][0]["model"] = "resnet50"
    assert [one.service for one in stand_ins_in(session, type(session.problem).model_validate(other))] == ["chat"]
    assert stand_ins_in(session, example_problems()["demo"]) == ()


def test_names_that_are_like_no_other_have_no_nearest():
    known = ("bert", "mobilenetv2", "resnet50")
    assert [nearest(name, known) for name in ("BERT-base", "mobilenet", "llama-7b")] == ["bert", "mobilenetv2", None]
    rows = pd.DataFrame({"name": ["a", "b", "c"], "model": ["x", "bert", "y"]})
    assert unknown_in(rows, known) == ["x", "y"]
    assert with_known(rows, {"x": "resnet50", "y": LEFT_OUT}).to_dict("list") == {
        "name": ["a", "b"],
        "model": ["resnet50", "bert"],
    }


def test_four_examples_differ_in_what_they_show():
    problems = [example_problems()[name] for name in EXAMPLES]
    ways = [frozenset(way for entry in one.fleet for way in entry.sharing) for one in problems]
    aims = [one.settings.objective for one in problems]
    assert len(set(zip(ways, aims, strict=True))) == len(EXAMPLES) == 4
    assert {"mig"} in ways
    assert {"mps"} in ways
    assert "capacity" in aims
    page = screen("start", session_with("demo"))
    assert {f"door_{name}" for name in EXAMPLES} <= {button.key for button in page.button}


def test_what_gpus_could_carry_stands_beside_what_they_cost():
    page = press(screen("start", session_with("capacity")), "solve")
    assert not page.exception
    metrics = {one.label: one.value for one in page.metric}
    assert metrics["It costs"] == "$13.72 / hour"
    assert metrics["Could carry, requests/s"] == metrics["Proven most, requests/s"] == "12,563.5"
    assert "Without sharing" not in metrics


def test_what_is_promised_and_drawn_is_said_for_a_first_reader_and_of_mig_only_where_it_is_used():
    cut, shared = (press(screen("start", session_with(name)), "solve") for name in ("demo", "igniter"))
    assert "99 % of requests are answered within their latency limit (SLO)" in texts(cut.markdown)
    assert "1g.10gb is 1 of 7 compute slices" in texts(cut.caption)
    assert "divided into partitions to scale" in texts(shared.caption)
    assert "compute slices" not in texts(shared.caption)
    assert "grey" not in texts(cut.caption)
    assert "Why not one GPU less?" in texts(cut.markdown)
