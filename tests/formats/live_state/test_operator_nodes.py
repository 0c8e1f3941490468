"""Nodes as the GPU operator makes and labels them: their type, their layout, and what is said to be assumed."""

import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sliceplan.solver.formats.live_state.live_gpus import joined, running_plan
from sliceplan.solver.formats.live_state.node_json import read_node
from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.driver_names import CATALOGUE_NAMES, SAME_NAME
from sliceplan.solver.model.errors import InputError

CATALOGUE = load_catalogue()
PRODUCTS = {
    **{gpu: f"NVIDIA {name}".replace(" ", "-") for name, gpu in CATALOGUE_NAMES.items()},
    **{gpu: f"NVIDIA-{name}" for name, gpus in SAME_NAME.items() for gpu in gpus},
}
MIG_TYPES = sorted(name for name, gpu in CATALOGUE.items() if gpu.mig)
PROMPTS = (
    "",
    "$ kubectl get node n1 -o json\n",
    "[ops@bastion ~]$ kubectl get node n1 -o json\n",
    "(venv) root@n1:~# kubectl get node n1 -o json\n\n",
)
AFTER = ("", "\n[ops@bastion ~]$ \n", "\n$ exit\n")


def balanced(gpu):
    """Returns the operator's all-balanced instances of a type, after mig-parted's balanced.go; None: it has none."""
    parts = {7: [1, 1, 2, 3], 4: [1, 1, 2]}.get(max(one.compute_slices for one in CATALOGUE[gpu].mig.profiles))
    if parts is None:
        return None
    base = [one for one in CATALOGUE[gpu].mig.profiles if "+" not in one.name and "-" not in one.name]
    return [max((one for one in base if one.compute_slices == g), key=lambda one: one.max_count) for g in parts]


def driver_places(profiles):
    """Returns where the driver puts instances that are created largest first: at the last start that is free."""
    taken, places = set(), set()
    for one in sorted(profiles, key=lambda one: -one.compute_slices):
        start = max(s for s in one.starts if not taken & set(range(s, s + one.memory_slices)))
        taken |= set(range(start, start + one.memory_slices))
        places.add((start, one.name))
    return places


def node(profiles, gpus, *, product, config=None, state=None, count=True, strategy="mixed"):
    """Returns a node on each of whose GPUs are these instances."""
    labels = {"nvidia.com/mig.strategy": strategy, "nvidia.com/gpu.product": product}
    labels |= {"nvidia.com/mig.config": config} if config else {}
    labels |= {"nvidia.com/mig.config.state": state} if state else {}
    labels |= {"nvidia.com/gpu.count": str(gpus)} if count else {}
    names = Counter(one.name.replace("+", ".") for one in profiles for _ in range(gpus))
    capacity = {f"nvidia.com/mig-{name}": str(number) for name, number in names.items()} | {"nvidia.com/gpu": "0"}
    if strategy == "single":
        ((name, number),) = names.items()
        labels |= {"nvidia.com/gpu.product": f"{product}-MIG-{name}", "nvidia.com/gpu.count": str(number)}
        capacity = {"nvidia.com/gpu": str(number)}
    data = {"kind": "Node", "metadata": {"name": "n1", "labels": labels}, "status": {"capacity": capacity}}
    return json.dumps(data, indent=1)


@st.composite
def operator_nodes(draw):
    """Draws a type, the instances of one of the operator's configurations on each of its GPUs, and the node's JSON."""
    gpu = draw(st.sampled_from(MIG_TYPES))
    gpus = draw(st.integers(1, 16))
    profile = draw(st.sampled_from([None, *CATALOGUE[gpu].mig.profiles]))
    if profile is None and balanced(gpu) is None:
        profile = CATALOGUE[gpu].mig.full
    profiles = balanced(gpu) if profile is None else [profile] * profile.max_count
    config = "all-balanced" if profile is None else f"all-{profile.name.replace('+', '.')}"
    strategy = "mixed" if profile is None else draw(st.sampled_from(["mixed", "single"]))
    counted, state = draw(st.booleans()), draw(st.sampled_from([None, "success"]))
    options = {"config": config, "state": state, "count": counted, "strategy": strategy}
    text = node(profiles, gpus, product=PRODUCTS[gpu], **options)
    return gpu, gpus, profiles, draw(st.sampled_from(PROMPTS)) + text + draw(st.sampled_from(AFTER))


@settings(max_examples=200, deadline=None)
@given(operator_nodes())
def test_what_the_operator_made_is_read_with_its_type_and_what_is_assumed_is_said(drawn):
    """Property: type, number of GPUs and layout of every configuration that the operator makes on any type."""
    gpu, gpus, profiles, text = drawn
    several = next((gpus for gpus in SAME_NAME.values() if gpu in gpus), ())
    alike = all(CATALOGUE[other].mig.profile(one.name) is not None for other in several for one in profiles)
    name, state = read_node(text, "n1.json", {None: gpu} if several and alike else {})
    assert name == "n1"
    assert {one.facts.name for one in state.gpus} == {gpu}
    assert [one.index for one in state.gpus] == list(range(gpus))
    for one in state.gpus:
        assert {(placement.start, placement.profile) for placement in one.instances} == driver_places(profiles)
    plan, notes = running_plan(state, "n1", "n1.json", text, None)
    assert set(state.assumptions) <= set(notes)
    assert plan.warnings[1:] == tuple(f"n1: {one}" for one in state.assumptions)
    places = any("on each GPU" in one for one in state.assumptions)
    assert places == (len(profiles) > 1 and len({one.name for one in profiles}) > 1) or len(profiles) == 1


def test_all_balanced_is_what_a_driver_listed():
    """`nvidia-smi mig -lgi` of an A100 after `-cgi 9,14,19,19`: 1g at 0 and 1, 2g at 2, 3g at 4."""
    text = node(balanced("A100-40GB"), 1, product="NVIDIA-A100-SXM4-40GB", config="all-balanced", state="success")
    (gpu,) = read_node(text, "n", {})[1].gpus
    assert [(one.start, one.profile) for one in gpu.instances] == [
        (0, "1g.5gb"),
        (1, "1g.5gb"),
        (2, "2g.10gb"),
        (4, "3g.20gb"),
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"config": "evening"}, "no single state of the node has these counts"),
        ({"config": "all-1g.10gb"}, "no single state of the node has these counts"),
        ({"config": "all-balanced", "state": "failed"}, "(nvidia.com/mig.config.state is 'failed'); no single state"),
        ({"config": "all-balanced", "state": "pending"}, "is 'pending'); no single state"),
        ({"count": False}, "and no label nvidia.com/gpu.count; no single state"),
        ({"product": "NVIDIA-H999-80GB"}, "--gpu: is missing: nvidia.com/gpu.product is NVIDIA-H999-80GB, which the"),
        ({"product": "NVIDIA-A100-SXM4-40GB"}, "is A100-40GB, which has not all of 1g.10gb, 2g.20gb, 3g.40gb"),
        ({"product": ""}, "--gpu: is missing: n.json has no label nvidia.com/gpu.product"),
    ],
)
def test_what_is_not_known_to_be_the_operators_is_refused(changes, message):
    options = {"product": "NVIDIA-H100-80GB-HBM3", "config": None, **changes}
    with pytest.raises(InputError) as caught:
        read_node(node(balanced("H100-80GB-SXM"), 2, **options), "n.json", {})
    assert message in str(caught.value)


def test_counts_that_are_balanced_but_for_one_are_refused():
    profiles = [*balanced("H100-80GB-SXM")][:-1]
    text = node(profiles, 2, product="NVIDIA-H100-80GB-HBM3", config="all-balanced")
    with pytest.raises(InputError, match="no single state of the node has these counts"):
        read_node(text, "n.json", {})


def test_an_option_says_the_type_but_not_another_than_the_node_does():
    text = node(balanced("H100-80GB-SXM"), 1, product="NVIDIA-H100-80GB-HBM3")
    assert read_node(text, "n", {None: "H100-80GB-SXM"})[1].gpus[0].facts.name == "H100-80GB-SXM"
    with pytest.raises(InputError, match=r"--gpu: A100-80GB is not what the node says: .* is NVIDIA-H100"):
        read_node(text, "n", {None: "A100-80GB"})
    unknown = node(balanced("H100-80GB-SXM"), 1, product="NVIDIA-H100-80GB-HBM9")
    assert read_node(unknown, "n", {None: "H100-80GB-SXM"})[1].gpus[0].facts.name == "H100-80GB-SXM"


def test_types_of_one_name_are_told_apart_by_their_profiles():
    """The driver calls two boards GB200."""
    for gpu, memory in (("GB200", "189471"), ("GB200-189GB", "193200")):
        assert read_node(node(balanced(gpu), 1, product="NVIDIA-GB200"), "n", {})[1].gpus[0].facts.name == gpu
        text = node([CATALOGUE[gpu].mig.profile("2g.47gb")] * 3, 1, product="NVIDIA-GB200")
        with pytest.raises(InputError, match="--gpu: is missing: NVIDIA-GB200 can be GB200 or GB200-189GB; give one"):
            read_node(text, "n", {})
        labelled = json.loads(text)
        labelled["metadata"]["labels"]["nvidia.com/gpu.memory"] = memory
        assert read_node(json.dumps(labelled), "n", {})[1].gpus[0].facts.name == gpu


@pytest.mark.parametrize("product", ["NVIDIA-H100-80GB-HBM3-MIG-INVALID", "NVIDIA-H100-80GB-HBM3"])
def test_single_needs_one_profile_on_all_gpus(product):
    labels = {"nvidia.com/mig.strategy": "single", "nvidia.com/gpu.product": product, "nvidia.com/gpu.count": "7"}
    data = {
        "kind": "Node",
        "metadata": {"name": "n", "labels": labels},
        "status": {"capacity": {"nvidia.com/gpu": "7"}},
    }
    with pytest.raises(InputError, match="does not name the one profile that strategy single takes"):
        read_node(json.dumps(data), "n", {})


def test_the_assumptions_of_several_nodes_stand_in_one_plan():
    plans = []
    for name in ("n1", "n2"):
        text = node(balanced("A30-24GB"), 1, product="NVIDIA-A30", config="all-balanced").replace('"n1"', f'"{name}"')
        plans.append(running_plan(read_node(text, "n", {})[1], name, "n", text, None)[0])
    warnings = joined(*plans, "now.json").warnings
    assert [one.partition(":")[0] for one in warnings[1:]] == ["n1", "n2"]
