"""What a plan wants of a GPU, and what no board can hold."""

import pytest
from problems.instances import ROOT

from sliceplan.agent.model.board import MOST_GPUS, beyond_the_board
from sliceplan.agent.model.node import planned_state
from sliceplan.solver.formats.plan_files import read_plan

(GPU, *_) = read_plan(ROOT / "plans" / "igniter.plan.json").gpus


def test_replicas_are_numbered_alike_whatever_the_order_and_whether_their_memory_is_known():
    first = GPU.partitions[0]
    parts = [
        first.model_copy(update={"serves": (first.serves[0].model_copy(update={"memory_mib": memory_mib}),)})
        for memory_mib in (None, 500.0, 200.0)
    ]
    wanted = [
        planned_state(GPU.model_copy(update={"partitions": tuple(order)})).services
        for order in (parts, parts[::-1], [parts[1], parts[2], parts[0]])
    ]
    assert wanted[0] == wanted[1] == wanted[2]
    assert {(one.replica, one.memory_mib) for one in wanted[0]} == {(1, None), (2, 200.0), (3, 500.0)}


@pytest.mark.parametrize(("index", "is_wrong"), [(None, False), (MOST_GPUS - 1, False), (MOST_GPUS, True)])
def test_a_node_has_no_more_gpus_than_an_agent_looks_for(index, is_wrong):
    said = list(beyond_the_board(GPU.model_copy(update={"index": index}), "gpus[0]"))
    assert any(path == "gpus[0].index" for path, _ in said) == is_wrong
