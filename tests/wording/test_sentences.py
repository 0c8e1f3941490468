"""
A service may be called by any word of the sentences about it, and its label stands for the service alone.

The oracle is the sentence about a service whose name is no word of any: with the label in that name's place it is what
has to be said. Records are renamed in their JSON, so nothing here knows how sentences are built.
"""

import re

import pytest

from sliceplan.solver.api import solve
from sliceplan.solver.api.moving import replan, transition
from sliceplan.solver.check import check
from sliceplan.solver.commands.reviewing import violations_in_words
from sliceplan.solver.formats.problem_files import problem_from
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.metrics.caveats import caveats
from sliceplan.solver.model.digest import reference
from sliceplan.solver.model.errors import NoPlanError
from sliceplan.solver.model.plan import PlanViolation
from sliceplan.solver.transition.risks import risks
from sliceplan.solver.what_if.points import why_no_plan
from sliceplan.solver.wording.reasons import reasons
from sliceplan.solver.wording.shown_names import as_shown, text_as_shown
from sliceplan.solver.wording.transition_text import summary

PLAIN, LABEL = "zqx9", "写真 [of] {services}"
NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")


def problem(*services, gpu="A100-80GB", count=4, sharing="mig", **settings):
    keys = ("name", "model", "rate_rps", "slo_ms")
    data = {
        "version": 1,
        "name": "words",
        "fleet": [{"gpu": gpu, "count": count, "sharing": [sharing]}],
        "workloads": [dict(zip(keys, one, strict=False)) for one in services],
        "settings": settings,
    }
    return problem_from(data, "words.yaml")


def called(record, name):
    """Returns a record in which the service has another name."""
    return type(record).model_validate_json(record.model_dump_json().replace(f'"{PLAIN}"', f'"{name}"'))


SHARED = problem((PLAIN, "ssd", 20, 100), ("zz", "resnet50", 50, 100), gpu="V100-SXM2-16GB", sharing="mps")
SMALL = problem((PLAIN, "resnet50", 300, 100), ("zz", "bert", 20, 300))
LARGE = problem((PLAIN, "resnet50", 5000, 100), ("zz", "bert", 150, 300))
HASTY = problem((PLAIN, "resnet50", 300, 0.5), ("zz", "bert", 20, 300))


@pytest.fixture(scope="module")
def plans():
    return {"shared": solve(SHARED), "small": solve(SMALL), "large": solve(LARGE), "hasty": solve(HASTY)}


def extrapolations(plans, name, names):
    found = caveats(called(SHARED, name), called(plans["shared"], name), shipped_profiles())
    plan = called(plans["shared"], name).model_copy(update={"warnings": tuple(one.text for one in found)})
    return as_shown(plan, names).warnings


def wrong(plans, name, names):
    data = plans["small"].model_dump(mode="json")
    for gpu in data["gpus"]:
        for part in gpu["partitions"]:
            for served in part["serves"]:
                served |= {"capacity_rps": 5.0, "latency_ms": 1e6}
    plan = called(type(plans["small"]).model_validate(data), name)
    asked = called(SMALL, name)
    narrow = [
        one.model_copy(update={"batch_sizes": (1,), "gpus": ("H100-80GB",)}) if one.name == name else one
        for one in asked.workloads
    ]
    asked = asked.model_copy(update={"workloads": tuple(narrow)})
    return found_wrong(asked, plan, names)


def found_wrong(asked, plan, names):
    """Returns what is wrong with a plan as an answer to a problem, but for words about the file itself."""
    found = check(asked, plan.model_copy(update={"problem": reference(asked)}), shipped_profiles())
    return list(violations_in_words([one for one in found if one.where != "plan"], names))


def shared_and_wrong(plans, name, names):
    data = plans["shared"].model_dump(mode="json")
    for gpu in data["gpus"]:
        for part in gpu["partitions"]:
            part["serves"] = part["serves"] * 2
    plan = called(type(plans["shared"]).model_validate(data), name)
    return found_wrong(called(SHARED, name), plan, names)


def without_a_plan(plans, name, names):
    plan = called(plans["hasty"], name)
    return [*reasons(as_shown(plan, names)), text_as_shown(why_no_plan(plan), names)]


def not_replanned(plans, name, names):
    found = []
    for asked, most in ((HASTY, None), (LARGE, 0)):
        try:
            replan(called(asked, name), called(plans["small"], name), most_moves=most, time_limit_s=5)
        except NoPlanError as error:
            found.append(text_as_shown(str(error), names))
    assert found
    return found


def on_the_way(plans, name, names):
    old, new = called(plans["small"], name), called(plans["large"], name)
    planned = transition(old, new)
    missed = PlanViolation(gpu=new.gpus[0].id, workload=name, message="x", excess=1.0)
    bad = new.model_copy(update={"violations": (missed,)})
    seen = as_shown(list(risks(planned.transition, old, bad)), names)
    return [*(one.text for one in seen), *summary(as_shown(planned.transition, names))]


def in_turns(_, name, names):
    message = f"the turns of {name}, zz take 5 ms; their round has 4 ms"
    return [as_shown(PlanViolation(gpu="A/0", workload=None, message=message, excess=0.1), names).message]


@pytest.mark.parametrize(
    "told", [extrapolations, wrong, shared_and_wrong, without_a_plan, not_replanned, on_the_way, in_turns]
)
def test_a_name_that_is_a_word_is_replaced_where_it_names_the_service_and_nowhere_else(plans, told):
    lines = list(told(plans, PLAIN, {}))
    assert any(PLAIN in line for line in lines)
    expected = [line.replace(PLAIN, LABEL) for line in lines]
    assert list(told(plans, PLAIN, {PLAIN: LABEL})) == expected
    words = {word for line in lines for word in re.findall(r"[\w.-]+", line) if NAME.fullmatch(word)} - {PLAIN, "zz"}
    for word in sorted(words):
        assert sorted(told(plans, word, {word: LABEL})) == sorted(expected), word
