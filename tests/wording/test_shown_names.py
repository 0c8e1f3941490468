"""Labels in place of names: everywhere in records, in sentences as words of their own, and the way back."""

import json
import pkgutil
from importlib import import_module

import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems.instances import problems
from problems.shop import shop

from sliceplan.solver import model
from sliceplan.solver.api import solve
from sliceplan.solver.comparison.rows import Comparison
from sliceplan.solver.model.base import Record
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.plan import Bound
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.wording.shown_names import _speaking, as_shown, shown_name, shown_names, text_as_shown

LABELS = ("写真", "chat encoder", "<b>&\"'$*[", "поиск", "ø", "Ж Ж")


def labelled(problem):
    services = [one.model_copy(update={"label": label}) for one, label in zip(problem.workloads, LABELS, strict=False)]
    return problem.model_copy(update={"workloads": (*services, *problem.workloads[len(services) :])})


@given(problems(max_workloads=4))
def test_a_problem_says_labels_and_nothing_else_is_other(problem):
    called = labelled(problem)
    shown = as_shown(called, shown_names(called))
    assert [one.name for one in shown.workloads] == [shown_name(one) for one in called.workloads]
    back = [
        one.model_copy(update={"name": old.name}) for one, old in zip(shown.workloads, problem.workloads, strict=True)
    ]
    assert shown.model_copy(update={"workloads": tuple(back)}) == problem


def test_a_plan_says_labels_wherever_it_said_names():
    """The oracle replaces texts in the plan's JSON: all that is a name of a service, and each in a sentence."""
    problem = labelled(shop())
    plan = solve(problem)
    names = shown_names(problem)
    shown = as_shown(plan, names)
    assert plan.labels == names
    text = plan.called({}).model_dump_json()
    assert any(name in text for name in names)
    said = shown.model_dump_json()
    for name, label in names.items():
        assert f'"{name}"' not in said
        assert text.count(f'"{name}"') == said.count(json.dumps(label, ensure_ascii=False))
    back = as_shown(shown, {label: name for name, label in names.items()})
    assert back.called(names) == plan


def test_without_labels_a_record_is_itself():
    problem = shop()
    assert as_shown(problem, shown_names(problem)) is problem


def test_records_in_dataclasses_and_lists_are_made_anew():
    problem = labelled(shop())
    plan = solve(problem)
    bound = Bound(cost_per_hour=None, gpus=None, method="")
    comparison = Comparison((plan,), bound)
    names = shown_names(problem)
    assert as_shown(comparison, names).rows == (as_shown(plan, names),)
    assert as_shown([plan], names) == [as_shown(plan, names)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("chat: is late", "写真: is late"),
        ("chat, chat-2 and x and 1,003 more: no chat", "写真, B and x and 1,003 more: no chat"),
        ("A100-80GB/0 chat: takes 5 ms", "A100-80GB/0 写真: takes 5 ms"),
        ("chat on A100-80GB/n1-0: a share of 5 %", "写真 on A100-80GB/n1-0: a share of 5 %"),
        ("the turns of chat, x take 5 ms, chat", "the turns of 写真, x take 5 ms, chat"),
        ("late: chat\nchat: no chat", "late: chat\n写真: no chat"),
        ("chat is late", "chat is late"),
        ("chat on A100-80GB is estimated", "chat on A100-80GB is estimated"),
        ("no chat: chat", "no chat: chat"),
        ("chats: x", "chats: x"),
        ("my-chat, chat-3, chat.x: y", "my-chat, chat-3, chat.x: y"),
    ],
)
def test_in_sentences_of_files_names_are_found_in_their_places(text, said):
    assert text_as_shown(text, {"chat": "写真", "chat-2": "B"}) == said


@given(st.text("ab -.", max_size=20))
def test_a_sentence_without_labels_stays(text):
    assert text_as_shown(text, {}) == text


def test_every_field_that_is_called_as_services_are_says_what_it_holds():
    """So that a new record's services are shown by their labels, too."""
    for found in pkgutil.iter_modules(model.__path__):
        import_module(f"{model.__name__}.{found.name}")
    for record in _below(Record):
        for name, field in record.model_fields.items():
            texts = "str" in str(field.annotation) or "Name" in str(field.annotation)
            if name in ("workload", "workloads", "service") and texts and record.__module__.startswith(model.__name__):
                assert record is Problem or dict(_speaking(record)).get(name), f"{record.__name__}.{name}"


def _below(kind):
    for one in kind.__subclasses__():
        yield one
        yield from _below(one)


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("", "at least 1"),
        ("x" * 81, "at most 80"),
        (" a", "no space at its beginning or end"),
        ("a\u202eb", "cannot be seen"),
        ("a\x00", "cannot be seen"),
        ("a\nb", "cannot be seen"),
        ("\u200cab", r"\\u200c, which cannot be seen at an end"),
        ("a \u200db", r"\\u200d, which cannot be seen at an end, nor beside a space"),
        ("a\u200d\u200cb", "cannot be seen at an end, nor beside a space or another"),
        ("video", "labels that are names of others"),
    ],
)
def test_labels_that_are_none_are_refused(label, message):
    from sliceplan.solver.formats.problem_files import problem_from

    data = shop().model_dump(mode="json")
    data["workloads"][0]["label"] = label if label != "video" else data["workloads"][1]["name"]
    with pytest.raises(InputError, match=message):
        problem_from(data, "shop.yaml")
