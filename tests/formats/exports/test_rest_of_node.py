"""GPUs of a node that the plan does not list: what mig-parted makes of each export, and what a person is told."""

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from stand_ins.mig_parted_tool import Device, Instance, asserted, restored
from support.exported import changed, demo, equal_shares, exported, mixed, single_processes

from sliceplan.solver.formats.exports.kubernetes_names import label_value
from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.errors import InputError

A100 = load_catalogue()["A100-80GB"].mig
NAMES = {profile.nvml_profile_enum: profile.name for profile in A100.profiles}
DRIVER_NAME = "NVIDIA A100-SXM4-80GB"


def node_options(count, node="gpu-node-1", names=DRIVER_NAME):
    """Returns what `nvidia-smi -L` tells of a node with so many GPUs; names: of all, or by index."""
    by_index = dict.fromkeys(range(count), names) if isinstance(names, str) else names
    return {
        "uuids": {(node, index): f"GPU-{index:08d}-0000-0000-0000-000000000000" for index in range(count)},
        "driver_names": {(node, index): name for index, name in by_index.items() if index < count},
    }


@st.composite
def nodes(draw):
    """Draws a node of up to 8 GPUs and a plan that has the demo's three layouts on some of them, or one uncut."""
    count = draw(st.integers(3, 8))
    places = draw(st.permutations(range(count)))[:3]
    whole = draw(st.booleans())

    def moved(data):
        for gpu, index in zip(data["gpus"], places, strict=True):
            gpu["index"] = index
        if whole:
            part = data["gpus"][1]["partitions"][0]
            part.update(mig_profile=None, start=None)
            data["gpus"][1].update(sharing="exclusive", partitions=[part])

    return count, changed(demo(), moved)


def as_planned(plan, count):
    """Returns a node that has what the plan says, and MIG off on all other GPUs."""
    of_index = {gpu.index: gpu for gpu in plan.gpus}
    return [_device(index, of_index.get(index)) for index in range(count)]


def _device(index, gpu):
    parts = gpu.partitions if gpu is not None and gpu.sharing == "mig" else ()
    profiles = [(A100.profile(part.mig_profile), part.start) for part in parts]
    instances = [
        Instance(one.nvml_profile_enum, start, one.memory_slices, [(one.nvml_profile_enum, 0)])
        for one, start in profiles
    ]
    return Device(f"GPU-{index:08d}-0000-0000-0000-000000000000", bool(parts), instances)


@settings(max_examples=60, deadline=None)
@given(nodes())
def test_assert_holds_on_the_planned_node_once_the_rest_is_listed(drawn):
    """Property: with --rest mig-off the tool finds its configuration applied; without, only where nothing is left."""
    count, plan = drawn
    node, name = as_planned(plan, count), plan.problem.name
    for rest in ("keep", "mig-off"):
        options = {**node_options(count), "rest": rest}
        (text,) = exported("mig-parted", plan, **options).files.values()
        assert asserted(text, name, node, NAMES) == (rest == "mig-off" or count == 3)
        (config_map,) = exported("mig-manager", plan, **options).files.values()
        config = yaml.safe_load(config_map)["data"]["config.yaml"]
        label = label_value("gpu-node-1", name)
        assert asserted(config, label, node, NAMES) == (rest == "mig-off" or count == 3)


@settings(max_examples=60, deadline=None)
@given(nodes())
def test_restore_destroys_nothing_on_the_planned_node_once_the_rest_is_listed(drawn):
    """Property: as above, of the checkpoint; it leaves out GPUs that cannot have MIG in either case."""
    count, plan = drawn
    node = as_planned(plan, count)
    cut = sum(len(device.instances) for device in node)
    (text,) = exported("mig-parted-checkpoint", plan, **node_options(count), rest="mig-off").files.values()
    assert restored(text, node) == 0
    (text,) = exported("mig-parted-checkpoint", plan, **node_options(count)).files.values()
    assert restored(text, node) == (0 if count == 3 else cut)
    names = {index: DRIVER_NAME if index in {gpu.index for gpu in plan.gpus} else "Tesla T4" for index in range(count)}
    for device, name in zip(node, names.values(), strict=True):
        device.capable = name != "Tesla T4"
    export = exported("mig-parted-checkpoint", plan, **node_options(count, names=names))
    assert restored(*export.files.values(), node) == 0
    assert not any("not in the plan" in warning.lower() for warning in export.warnings)


@pytest.mark.parametrize("name", ["mig-parted", "mig-manager", "node-labels", "device-plugin"])
def test_what_is_left_is_named_or_said_to_be_possible_or_nothing_is_said(name):
    plan = single_processes(demo())
    left = "offers every GPU" if name == "device-plugin" else "left as they are: GPU 3, 4 of gpu-node-1; while"
    assert any(left in warning for warning in exported(name, plan, **node_options(5)).warnings)
    unknown = "those that the plan does not list" if name == "device-plugin" else "while there are any"
    assert any(unknown in warning for warning in exported(name, plan).warnings)
    quiet = exported(name, plan, **node_options(3)).warnings
    assert not any("not in the plan" in one or "does not list" in one or "every GPU" in one for one in quiet)


def test_several_nodes_are_named_with_their_gpus():
    options = node_options(3, "mig-node")
    options["uuids"] |= node_options(4, "mps-node")["uuids"]
    (note,) = [one for one in exported("mig-parted", mixed(), **options).warnings if "Not in the plan" in one]
    assert "left as they are: GPU 2 of mig-node; GPU 1, 2, 3 of mps-node; while" in note
    (note,) = [one for one in exported("mig-parted", mixed(), **options, rest="mig-off").warnings if "Not in" in one]
    assert note == "Not in the plan, so MIG is switched off there: GPU 2 of mig-node; GPU 1, 2, 3 of mps-node."
    files = exported("mig-parted", mixed(), **options, rest="mig-off").files
    (entry,) = yaml.safe_load(files["mps-node.mig-parted.yaml"])["mig-configs"]["mixed"]
    assert entry == {"devices": [0, 1, 2, 3], "mig-enabled": False}


@pytest.mark.parametrize("name", ["mig-parted", "mig-manager", "mig-parted-checkpoint"])
def test_the_rest_is_listed_only_where_it_is_known(name):
    with pytest.raises(InputError, match=r"--uuids: (is missing for|has no UUID of GPU 0, 1, 2 of) gpu-node-1"):
        exported(name, demo(), rest="mig-off")
    with pytest.raises(InputError, match=r"--uuids: has no UUID of GPU 2 of gpu-node-1; run there `nvidia-smi -L"):
        exported(name, demo(), **node_options(2), rest="mig-off")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({}, "GPU 3 of gpu-node-1 has no name there; --rest mig-off takes the output of `nvidia-smi -L`"),
        ({0: DRIVER_NAME, 3: "NVIDIA X9"}, "GPU 3 of gpu-node-1 is 'NVIDIA X9', and whether restore counts it"),
    ],
)
def test_a_checkpoint_lists_no_gpu_of_which_it_is_not_known_whether_it_can_have_mig(names, message):
    options = node_options(4, names=names)
    with pytest.raises(InputError) as caught:
        exported("mig-parted-checkpoint", demo(), **options, rest="mig-off")
    assert message in str(caught.value)
    (_, note) = exported("mig-parted-checkpoint", demo(), **options).warnings
    assert "GPU 3 of gpu-node-1; restore compares the file with all GPUs of a node" in note


def test_a_gpu_of_a_type_that_the_catalogue_lacks_is_known_by_one_of_its_name():
    names = dict.fromkeys(range(4), "NVIDIA A100-SXM5-88GB")
    (text,) = exported("mig-parted-checkpoint", demo(), **node_options(4, names=names), rest="mig-off").files.values()
    assert text.count('"MigMode": 0') == 1


def test_the_commands_that_are_printed_assert_after_they_apply():
    export = exported("mig-parted", demo())
    lines = export.files["gpu-node-1.mig-parted.yaml"].splitlines()
    commands = [line.removeprefix("# ") for line in lines if line.startswith("# nvidia-mig-parted")]
    assert [command.split()[1] for command in commands] == ["apply", "assert"]
    assert commands[0].split()[2:] == commands[1].split()[2:]
    assert any("`nvidia-mig-parted assert` after apply" in warning for warning in export.warnings)


def test_a_node_of_equal_shares_offers_more_gpus_than_the_plan_has_and_says_so():
    plan = equal_shares(25)
    several = exported("device-plugin", plan, **node_options(8, "mps-node", "Tesla V100-SXM2-16GB")).warnings
    assert several[1] == (
        "The device plugin offers every GPU of a node, also what is not in the plan: GPU 0, 2, 3, 4, 6, 7 of mps-node."
    )
