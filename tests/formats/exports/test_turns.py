"""Plans whose services take turns: every format says what it can of them, or refuses and names the partition."""

import io

import pytest
from problems.rounds import two_in_a_round, with_round
from rich.console import Console
from support.exported import changed, equal_shares, exported

from sliceplan.solver.api.exporting import export_formats
from sliceplan.solver.commands.terminal import draw_plan
from sliceplan.solver.formats.exports.target import Options
from sliceplan.solver.model.division import in_turn
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.transition.inputs import refuse_unreplannable, refuse_unusable

LAYOUTS = ("json", "mig-parted", "mig-parted-checkpoint", "node-labels", "mig-manager", "device-plugin", "csv")
"""Formats that say how GPUs are divided, or everything; what serves on them stands elsewhere."""

OF_CORES = ("systemd-cores", "docker-cores", "kubernetes-cores")
"""Formats of CPUs, which a plan without any is refused by."""

UUIDS = {("n1", 0): "GPU-00000000-0000-0000-0000-000000000000"}


def on_a_node(plan, serves=2):
    """Returns the plan with its GPU on a node, and only the first services of its round."""
    plan = with_round(plan, serves=plan.gpus[0].partitions[0].serves[:serves])
    (gpu,) = plan.gpus
    return plan.model_copy(update={"gpus": (gpu.model_copy(update={"node": "n1", "index": 0}),)})


@pytest.mark.parametrize(("serves", "said"), [(2, "a, b in turn"), (1, "a with a batch every 40 ms")])
@pytest.mark.parametrize("turns", ["fixed", "any"])
def test_who_cannot_express_turns_says_so_and_where(turns, serves, said):
    problem, plan = two_in_a_round(turns)
    plan = on_a_node(plan, serves)
    assert in_turn(plan.gpus[0].partitions[0]) == said
    options = Options(source="plan", problem=problem, images={"": "image"}, uuids=UUIDS)
    for name, target in export_formats().items():
        if name in OF_CORES:
            continue
        if name in (*LAYOUTS, "commands"):
            assert target.export(plan, options).files
            continue
        with pytest.raises(InputError) as caught:
            target.export(plan, options)
        assert f"A100-80GB/0 partitions[0] serves {said}" in str(caught.value), name
    refuse_unusable({"plan": plan})
    with pytest.raises(InputError) as caught:
        refuse_unreplannable("plan", plan)
    assert f"plan: gpus[0].partitions[0].serves are {said}; replanning knows services that" in str(caught.value)


def test_who_serves_back_to_back_is_in_no_round():
    _, plan = two_in_a_round()
    partition = plan.gpus[0].partitions[0]
    alone = partition.model_copy(update={"duty_cycle_ms": None, "turns": None, "serves": partition.serves[:1]})
    assert in_turn(alone) is None


def in_turn_on_shares(mib):
    """Returns equal MPS shares, on the first of which two services of so much memory take turns."""

    def edit(data):
        part, other = data["gpus"][0]["partitions"][:2]
        part["serves"] = [{**part["serves"][0], "memory_mib": mib}, {**other["serves"][0], "memory_mib": mib}]
        part["serves"][1]["workload"] = "another"
        part["duty_cycle_ms"] = 1000.0

    return changed(equal_shares(25), edit)


def test_models_that_take_turns_on_a_share_are_in_its_memory_together():
    """A quarter of 16 GiB holds one of 2,500 MiB and no two."""
    assert exported("device-plugin", in_turn_on_shares(2000)).files
    with pytest.raises(InputError, match=r"another in turn, which take 5000 MiB together; the plugin gives 4039.68 to"):
        exported("device-plugin", in_turn_on_shares(2500))


@pytest.mark.parametrize(("turns", "order"), [("fixed", "in fixed slots"), ("any", "in any order")])
@pytest.mark.parametrize("serves", [1, 2])
def test_a_plan_is_drawn_with_the_order_of_its_turns(turns, order, serves):
    _, plan = two_in_a_round(turns)
    text = io.StringIO()
    Console(file=text, width=100).print(draw_plan(on_a_node(plan, serves)))
    assert (f"MIG, turns {order}" in text.getvalue()) == (serves == 2)
