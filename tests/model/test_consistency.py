"""Plans that contradict themselves are refused by whoever reads them, by the name of the field."""

import json

import pytest
from problems.igniter_instances import example
from support.command_line import assert_refused, sliceplan

from sliceplan.solver.api import solve
from sliceplan.solver.formats.plan_files import dump_plan, read_plan
from sliceplan.solver.model.errors import InputError

PLAN = dump_plan(solve(example()))


@pytest.fixture
def written(tmp_path):
    """Writes the plan with a change, and returns its file."""

    def write(change):
        plan = json.loads(PLAN)
        change(plan)
        file = tmp_path / "plan.json"
        file.write_text(json.dumps(plan))
        return file

    return write


def served(plan):
    return plan["gpus"][0]["partitions"][0]["serves"][0]


CONTRADICTIONS = {
    "gpus_used": lambda plan: plan.update(gpus_used=7),
    "gap": lambda plan: plan.update(gap=0.1),
    "status": lambda plan: plan.update(status="feasible"),
    "bound.cost_per_hour": lambda plan: plan["bound"].update(cost_per_hour=99.0),
    "unserved": lambda plan: plan["unserved"].append({"workload": "vgg19", "reason": "none"}),
    "metrics.gpus": lambda plan: plan["metrics"]["gpus"].pop(),
    "rate_rps": lambda plan: served(plan).update(rate_rps=1e6),
    "causes_ms": lambda plan: served(plan)["causes_ms"].update(active=1e3),
}


def test_a_plan_that_agrees_with_itself_is_read(written):
    assert dump_plan(read_plan(written(dict.copy))) == PLAN


@pytest.mark.parametrize("field", CONTRADICTIONS)
def test_a_plan_that_contradicts_itself_is_not_read(field, written):
    with pytest.raises(InputError) as error:
        read_plan(written(CONTRADICTIONS[field]))
    assert any(field in str(finding) for finding in error.value.findings)


@pytest.mark.parametrize(
    "arguments", [("show",), ("transition", None), ("assign", "--nodes", "n1:4"), ("export", "--format", "csv")]
)
def test_commands_refuse_it(arguments, written):
    file = written(CONTRADICTIONS["gpus_used"])
    command, *options = [file if one is None else one for one in arguments]
    assert_refused(sliceplan(command, file, *options), "gpus_used is 7, but it lists")
