"""Whatever MIG allows on any GPU type of the catalogue survives every export that holds it."""

import json
from collections import Counter

import kubernetes_validate
import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from stand_ins.mig_parted_tool import Device, Instance, fetched, restored
from support.exported import demo, exported, parse_mig_parted, placements

from sliceplan.solver.formats.live_state.live_gpus import running_plan
from sliceplan.solver.formats.live_state.mig_parted_checkpoint import read_checkpoint
from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.geometry import Placement, fits, placement_rules
from sliceplan.solver.model.plan import Plan

TYPES = sorted(name for name, gpu in load_catalogue().items() if gpu.mig)
UUIDS = {index: f"GPU-00000000-0000-0000-0000-{index:012d}" for index in range(4)}


@st.composite
def layouts(draw):
    """Draws a GPU type and instances on it, added wherever they fit."""
    name = draw(st.sampled_from(TYPES))
    rules = placement_rules(load_catalogue()[name].mig)
    places = [Placement(start, rule.name) for rule in rules.profiles for start in rule.starts]
    layout = (draw(st.sampled_from(places)),)
    for place in draw(st.lists(st.sampled_from(places), max_size=9)):
        if fits(rules, layout, place):
            layout = (*layout, place)
    return name, layout


@st.composite
def plans(draw):
    """Draws a plan of one to four GPUs on a node, each cut in its own way."""
    serves = demo().gpus[0].partitions[1].serves[0].model_dump(mode="json")
    gpus = []
    for index, (name, layout) in enumerate(draw(st.lists(layouts(), min_size=1, max_size=4))):
        parts = [
            {
                "mig_profile": one.profile,
                "start": one.start,
                "sm_percent": None,
                "duty_cycle_ms": None,
                "serves": draw(st.sampled_from([[], [serves]])),
            }
            for one in layout
        ]
        place = {"node": "n1", "index": index}
        gpus.append({"id": f"{name}/{index}", "gpu": name, **place, "sharing": "mig", "partitions": parts})
    return Plan.model_validate({**demo().model_dump(mode="json"), "gpus": gpus, "gpus_used": len(gpus)})


def compute_is_known(gpu, part):
    """Whether the catalogue says how many SMs a 1g instance with twice the memory has."""
    profile = load_catalogue()[gpu.gpu].mig.profile(part.mig_profile)
    return profile.kind != "double_memory" or profile.sm_count is not None


@settings(max_examples=75, deadline=None)
@given(plans())
def test_a_checkpoint_read_back_has_the_same_placements(plan):
    """Property: read(export(x)) = x, of every instance of every GPU type."""
    uuids = {("n1", index): uuid for index, uuid in UUIDS.items()}
    if unknown := [part.mig_profile for gpu in plan.gpus for part in gpu.partitions if not compute_is_known(gpu, part)]:
        with pytest.raises(InputError, match=f"is {unknown[0]}, whose compute instance is not known"):
            exported("mig-parted-checkpoint", plan, uuids=uuids)
        return
    (text,) = exported("mig-parted-checkpoint", plan, uuids=uuids).files.values()
    state = read_checkpoint(text, "now", {gpu.index: gpu.gpu for gpu in plan.gpus}, UUIDS)
    assert placements(running_plan(state, "n1", "now", text, None)[0]) == placements(plan)
    assert running_plan(state, "n1", "now", text, plan)[0].gpus[0].partitions == tuple(
        sorted(plan.gpus[0].partitions, key=lambda part: part.start)
    )


@settings(max_examples=50, deadline=None)
@given(plans(), st.randoms(use_true_random=False))
def test_restore_destroys_nothing_on_a_node_that_has_the_plan(plan, order):
    """Property: mig-parted compares a checkpoint with the node field by field, order included, and finds them equal."""
    assume(all(compute_is_known(gpu, part) for gpu in plan.gpus for part in gpu.partitions))
    uuids = {("n1", index): uuid for index, uuid in UUIDS.items()}
    (text,) = exported("mig-parted-checkpoint", plan, uuids=uuids).files.values()
    node = [Device(UUIDS[gpu.index], mig=False) for gpu in plan.gpus]
    restored(text, node)
    assert restored(text, node) == 0
    for device, gpu in zip(node, plan.gpus, strict=True):
        profiles = load_catalogue()[gpu.gpu].mig
        created = {(profiles.profile(part.mig_profile).nvml_profile_enum, part.start) for part in gpu.partitions}
        assert device.mig
        assert {(one.profile, one.start) for one in device.instances} == created
        order.shuffle(device.instances)
    assert restored(text, node) == 0
    assert json.loads(text)["MigState"] == fetched(node)


def test_restore_creates_everything_anew_where_one_field_differs():
    """The comparison of these tests sees what mig-parted's sees: order, a list that is empty, another place."""
    text = json.dumps({"MigState": {"Devices": [{"UUID": "GPU-a", "MigMode": 1, "GpuInstances": [STATE, OTHER]}]}})
    turned = json.dumps({"MigState": {"Devices": [{"UUID": "GPU-a", "MigMode": 1, "GpuInstances": [OTHER, STATE]}]}})
    node = [Device("GPU-a", True, [Instance(2, 4, 4, [(2, 0)]), Instance(0, 0, 1, [(0, 0)])])]
    assert restored(text, node) == 0
    assert restored(turned, node) == 2
    assert restored(turned, node) == 2
    empty = json.dumps({"MigState": {"Devices": [{"UUID": "GPU-a", "MigMode": 1, "GpuInstances": []}]}})
    assert restored(empty, node) == 2
    assert json.loads(empty)["MigState"] != fetched(node)


STATE = {
    "ProfileID": 0,
    "Placement": {"Start": 0, "Size": 1},
    "ComputeInstances": [{"ProfileID": 0, "EngProfileID": 0}],
}
OTHER = {
    "ProfileID": 2,
    "Placement": {"Start": 4, "Size": 4},
    "ComputeInstances": [{"ProfileID": 2, "EngProfileID": 0}],
}


@settings(max_examples=50, deadline=None)
@given(plans())
def test_mig_parted_counts_what_the_plan_has(plan):
    """Property: a strict parser finds every profile of every GPU type as often as the plan has it."""
    (text,) = exported("mig-parted", plan).files.values()
    (config,) = parse_mig_parted(text).values()
    assert config == {gpu.index: Counter(part.mig_profile for part in gpu.partitions) for gpu in plan.gpus}


@settings(max_examples=12, deadline=None)
@given(layouts())
def test_kubernetes_takes_every_profile_by_its_resource_name(drawn):
    """Property: Deployments and claims of any layout obey Kubernetes' schema; resource names are valid and differ."""
    name, layout = drawn
    data = demo().model_dump(mode="json")
    (part, *_) = data["gpus"][0]["partitions"]
    parts = [{**part, "mig_profile": one.profile, "start": one.start} for one in layout]
    data.update(gpus=[{**data["gpus"][0], "gpu": name, "partitions": parts}], gpus_used=1)
    plan = Plan.model_validate(data)
    images = {"": "server:1"}
    documents = list(yaml.safe_load_all(exported("deployments", plan, images=images).files["deployments.yaml"]))
    documents += list(yaml.safe_load_all(exported("dra", plan, images=images).files["claims.yaml"]))
    for one in documents:
        kubernetes_validate.validate(one, "1.37", strict=True)
    pods = [one["spec"]["template"]["spec"] for one in documents if one["kind"] == "Deployment"]
    asked = {json.dumps(pod["containers"][0]["resources"]) for pod in pods}
    assert len(asked) == len({one.profile for one in layout})
