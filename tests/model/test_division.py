"""What `division` says of GPUs, against `geometry`, which places instances by rules of its own."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sliceplan.agent.model.plan_files import node_share
from sliceplan.solver.api import solve
from sliceplan.solver.formats.exports.planned_gpus import known_gpus
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.division import overcommitted, wrong_gpu, wrong_gpus
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.geometry import Placement, fits, placement_rules
from sliceplan.solver.model.plan import Partition, PlannedGpu
from sliceplan.solver.transition.inputs import refuse_unusable

WITH_MIG = [name for name, gpu in load_catalogue().items() if gpu.mig]
PLAN = solve(example_problems()["demo"])
SERVED = PLAN.gpus[0].partitions[0].serves[0]


def partition(mig_profile=None, start=None, sm_percent=None, serves=(SERVED,), **other):
    fields = {"mig_profile": mig_profile, "start": start, "sm_percent": sm_percent, "duty_cycle_ms": None, **other}
    return Partition(serves=tuple(serves), **fields)


def gpu(*partitions, gpu_type="A100-80GB", sharing="mig", **place):
    fields = {"id": f"{gpu_type}/0", "node": "n1", "index": 0, **place}
    return PlannedGpu(gpu=gpu_type, sharing=sharing, partitions=partitions, **fields)


def wrong(one):
    return [f"{path} {message}" for path, message in wrong_gpu(one, "gpus[0]")]


@st.composite
def instances(draw):
    """Draws a type and instances of it at legal places, one after the other; more or less than fit."""
    name = draw(st.sampled_from(WITH_MIG))
    places = [(p.name, start) for p in load_catalogue()[name].mig.profiles for start in p.starts]
    return name, draw(st.lists(st.sampled_from(places), min_size=1, max_size=8))


def fit_one_after_the_other(name, places):
    rules, layout = placement_rules(load_catalogue()[name].mig), ()
    for profile, start in places:
        added = Placement(start, profile)
        if not fits(rules, layout, added):
            return False
        layout = (*layout, added)
    return True


READERS = {
    "agent": lambda plan: node_share(plan, "n1", "plan.json"),
    "exports": lambda plan: known_gpus(plan, "plan.json"),
    "transition": lambda plan: refuse_unusable({"plan.json": plan}),
}


@settings(max_examples=300, deadline=None)
@given(instances())
def test_every_reader_refuses_exactly_the_instances_that_do_not_fit_together(drawn):
    """Property: of any instances of any GPU type, in any order."""
    name, places = drawn
    plan = PLAN.model_copy(update={"gpus": (gpu(*(partition(*place) for place in places), gpu_type=name),)})
    for reader, read in READERS.items():
        try:
            read(plan)
            refused = False
        except InputError:
            refused = True
        assert refused is not fit_one_after_the_other(name, places), (reader, name, places)


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_every_reader_refuses_two_workloads_on_one_partition(read):
    two = (SERVED, SERVED.model_copy(update={"workload": "other"}))
    for one in (
        gpu(partition("3g.40gb", 0, serves=two)),
        gpu(partition(serves=two), sharing="exclusive"),
        gpu(partition(sm_percent=50, serves=two), sharing="mps"),
    ):
        with pytest.raises(InputError, match=r"gpus\[0\].partitions\[0\].serves has 2 workloads"):
            read(PLAN.model_copy(update={"gpus": (one,)}))


def test_the_agent_refuses_turns_that_cannot_be():
    """Also in a plan that was signed: nothing that it says of a round is taken on trust."""
    two = (SERVED, SERVED.model_copy(update={"workload": "other"}))
    plan = PLAN.model_copy(update={"gpus": (gpu(partition("3g.40gb", 0, serves=two, duty_cycle_ms=20.0)),)})
    assert list(wrong_gpus(plan)) == []
    with pytest.raises(InputError) as caught:
        node_share(plan, "n1", "plan.json")
    assert "duty_cycle_ms is 20; the turns take" in str(caught.value)
    assert "ms gives" in str(caught.value)


@pytest.mark.parametrize(
    ("one", "message"),
    [
        (gpu(partition("7g.80gb", 0), partition("1g.10gb", 6)), "partitions[1] (1g.10gb at 6) overlaps partitions[0]"),
        (gpu(partition("3g.40gb", 2)), "partitions[0].start is 2; 3g.40gb may start at 0, 4"),
        (gpu(partition("3g.40gb")), "partitions[0].start is null; 3g.40gb may start at 0, 4"),
        (gpu(partition(None, 0)), "partitions[0].mig_profile is None; A100-80GB has no such profile"),
        (gpu(partition("1g.10gb+me", 0), partition("1g.10gb+me", 1)), "have 2 x 1g.10gb+me; at most 1 fit"),
        (gpu(partition("3g.40gb", 0, 50.0)), "sm_percent is 50; a MIG instance has no share: expected null"),
        (gpu(partition("3g.40gb", 0, serves=(), duty_cycle_ms=5.0)), "duty_cycle_ms is 5; nobody takes turns here"),
        (gpu(partition("3g.40gb", 0), gpu_type="T4"), "gpus[0].sharing is 'mig', but T4 has no MIG"),
        (gpu(partition("3g.40gb", 0), gpu_type="T5"), "gpus[0].gpu is 'T5'; not in the catalogue. Known: "),
        (gpu(partition("3g.40gb", 0), index=None), "gpus[0].index is null; a GPU with a node needs its index there"),
        (gpu(partition("3g.40gb", 0), node=None), "gpus[0].index is 0, and the node is null"),
        (gpu(partition(), partition(), sharing="exclusive"), "partitions are 2; a GPU that is used whole has one"),
        (gpu(partition("3g.40gb"), sharing="exclusive"), "mig_profile is '3g.40gb'; a GPU that is used whole has no"),
        (gpu(partition(sm_percent=50), sharing="exclusive"), "sm_percent is 50; a GPU that is used whole has no share"),
        (gpu(partition(), sharing="mps"), "sm_percent is null; a share of a GPU under MPS needs its percentage"),
        (gpu(partition(None, 0, 50.0), sharing="mps"), "start is 0; a partition of a GPU under MPS has no start"),
        (
            gpu(partition(sm_percent=50, serves=[SERVED.model_copy(update={"memory_mib": 1e6})]), sharing="mps"),
            "serves[0].memory_mib is 1e+06; A100-80GB has 81162.2 MiB",
        ),
    ],
)
def test_what_cannot_be_is_said_with_its_path(one, message):
    assert any(message in found for found in wrong(one)), wrong(one)


def test_gpus_have_names_and_places_of_their_own():
    first = gpu(partition("3g.40gb", 0))
    twice = PLAN.model_copy(update={"gpus": (first, first)})
    assert list(wrong_gpus(twice)) == [
        ("gpus[1].id", "is 'A100-80GB/0', and so is gpus[0].id; expected a name of its own"),
        ("gpus[1].index", "is 0, and gpus[0] is GPU 0 of n1, too"),
    ]


def test_shares_may_add_up_to_a_hundred_and_rounding():
    assert overcommitted(gpu(*[partition(sm_percent=100 / 7 + 1e-8)] * 7, sharing="mps")) is None
    message = overcommitted(gpu(partition(sm_percent=50.0), partition(sm_percent=50.00001), sharing="mps"))
    assert message == "take 100.00001 % of the SMs in all; there are 100 %"
