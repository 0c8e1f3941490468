"""Which part of a plan a node takes, and what of it cannot be."""

import pytest
from problems.small_plans import gpu_of, partition_of, plan_of

from sliceplan.agent.model.board import MOST_GPUS
from sliceplan.agent.model.node import GpuState, Instance, Service
from sliceplan.agent.model.plan_files import node_share
from sliceplan.solver.model.errors import InputError

A100 = "A100-80GB"
CUT = (partition_of("3g.40gb@0", "a", 10), partition_of("3g.40gb@4", "b", 10))


def on(index, *partitions, node="n1", **fields):
    gpu = gpu_of(f"{A100}/{index}", *(partitions or CUT), node=node, index=index)
    return gpu.model_copy(update=fields)


def refused(*gpus, node="n1"):
    with pytest.raises(InputError) as error:
        node_share(plan_of(*gpus), node, "p.json")
    return [str(finding) for finding in error.value.findings]


def test_a_node_takes_its_own_gpus():
    state = node_share(plan_of(on(0), on(1, node="n2"), on(2, partition_of(None, "c", 10))), "n1", "p.json")
    instances = frozenset({Instance(0, "3g.40gb"), Instance(4, "3g.40gb")})
    assert list(node_share(plan_of(on(MOST_GPUS - 1)), "n1", "p.json")) == [MOST_GPUS - 1]
    assert state == {
        0: GpuState(A100, True, instances, frozenset({Service("a", 0), Service("b", 4)})),
        2: GpuState(A100, False, services=frozenset({Service("c")})),
    }


def test_a_plan_without_nodes_or_without_this_one_is_refused():
    assert (
        "is not assigned to nodes; run: sliceplan assign p.json --nodes n1:COUNT"
        in refused(gpu_of("T4/0", *CUT[:1]))[0]
    )
    assert "has nothing for the node 'n3'" in refused(on(0), node="n3")[0]


def test_a_gpu_is_there_once():
    (said,) = refused(on(0), on(0, partition_of(None, "c", 1)), on(1))
    assert "lists GPU 0 of n1 twice" in said


@pytest.mark.parametrize(
    ("gpu", "said"),
    [
        (on(0, sharing="cores"), "not a CPU of the catalogue"),
        (on(MOST_GPUS), "no node has more than"),
        (on(0, partition_of(60, "a", 1), partition_of(60, "b", 1)), "gpus[0].partitions"),
    ],
)
def test_what_the_agent_cannot_set_up_is_named(gpu, said):
    assert any(said in one for one in refused(gpu))
