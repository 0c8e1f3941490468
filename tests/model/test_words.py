"""How boards are counted in words: a CPU is no GPU, in headlines, on nodes and in columns."""

import json

import pytest
from support.command_line import call
from support.exported import demo

from sliceplan.solver.formats.plan_files import dump_plan
from sliceplan.solver.model.words import boards_in_cell, boards_in_words, counted_boards
from sliceplan.solver.wording.summary import plan_result, plan_summary, whose_prices

COUNTS = [(0, 0, "0 GPUs"), (1, 0, "1 GPU"), (1200, 0, "1,200 GPUs"), (0, 2, "2 CPUs"), (1, 1, "1 GPU, 1 CPU")]


@pytest.mark.parametrize(("gpus", "cpus", "words"), COUNTS)
def test_gpus_and_cpus_are_counted_apart(gpus, cpus, words):
    assert counted_boards(gpus, cpus) == words


def with_cpu(node=None):
    """Returns the demo's plan as its file has it, with a CPU beside its GPUs."""
    data = json.loads(dump_plan(demo()))
    whole = {"mig_profile": None, "start": 0, "sm_percent": None, "duty_cycle_ms": None, "cores": 4}
    part = whole | {"serves": [data["gpus"][0]["partitions"][0]["serves"][0]]}
    cpu = {"id": "EPYC-9654/0", "gpu": "EPYC-9654", "node": node, "index": 0, "sharing": "cores", "partitions": [part]}
    return data | {"gpus": [*data["gpus"], cpu], "gpus_used": len(data["gpus"]) + 1, "metrics": None}


def test_a_plan_s_headline_and_columns_count_them_apart():
    plan = type(demo()).model_validate(with_cpu())
    assert plan_result(plan, plan.gap).startswith("3 GPUs, 1 CPU, $10.29 per hour")
    assert plan_summary(plan, plan.gap) == f"{plan_result(plan, plan.gap)}, {whose_prices(plan)}"
    assert (boards_in_words(plan.gpus), boards_in_cell(plan.gpus)) == ("3 GPUs, 1 CPU", "3 GPUs, 1 CPU")
    assert boards_in_cell(plan.gpus[:3]) == "3"


def test_assign_counts_a_node_with_both_once(file, tmp_path):
    nodes = ("--nodes", "n1:4:A100-80GB", "--nodes", "n1:1:EPYC-9654")
    path = file(with_cpu(), "both.json")
    done = call("sliceplan.solver.cli", "assign", path, *nodes, "-o", tmp_path / "placed.json")
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1].endswith("placed.json: 3 GPUs, 1 CPU on 1 node.")
