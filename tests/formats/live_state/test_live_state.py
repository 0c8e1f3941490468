"""What a node has now, read from NVIDIA's and Kubernetes' output, as a plan to start from."""

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.damage import damaged
from support.exported import UUIDS, changed, demo, equal_shares, exported, mixed, placements

from sliceplan.agent.devices.simulated.node import SimulatedNode
from sliceplan.agent.model.plan_files import node_share
from sliceplan.agent.transition.dry_run import dry_run
from sliceplan.solver.formats.live_state.live_gpus import running_plan
from sliceplan.solver.formats.live_state.mig_parted_checkpoint import read_checkpoint
from sliceplan.solver.formats.live_state.node_json import read_node
from sliceplan.solver.formats.live_state.nvidia_smi import read_instances
from sliceplan.solver.formats.plan_files import dump_plan, read_plan
from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.geometry import placement_rules, valid_layouts
from sliceplan.solver.wording.summary import plan_summary

A100 = {None: "A100-80GB"}
NODE_UUIDS = {index: UUIDS["gpu-node-1", index] for index in range(3)}
CHECKPOINT = exported("mig-parted-checkpoint", demo(), uuids=UUIDS).files["gpu-node-1.checkpoint.json"]

FRAME = "+-------------------------------------------------------+"
HEAD = f"""{FRAME}
| GPU instances:                                        |
| GPU   Name             Profile  Instance   Placement  |
|                          ID       ID       Start:Size |
|=======================================================|
"""


def instances_table(gpus):
    """Returns what `nvidia-smi mig -lgi` prints for GPU index -> [(MIG profile, start)] of an A100-80GB."""
    mig = load_catalogue()["A100-80GB"].mig
    rows = [
        f"|{index:4}  MIG {name:12} {mig.profile(name).nvml_profile_id:8} {number:8} "
        f"{start:10}:{mig.profile(name).memory_slices}     |\n{FRAME}\n"
        for index, instances in gpus.items()
        for number, (name, start) in enumerate(instances, 1)
    ]
    return HEAD + "".join(rows)


TABLE = instances_table({index: sorted(placements(demo())["gpu-node-1", index]) for index in range(3)})


def node_json(capacity, **labels):
    metadata = {
        "name": "n1",
        "labels": {f"nvidia.com/{key.replace('__', '.')}": value for key, value in labels.items()},
    }
    return json.dumps(
        {
            "kind": "Node",
            "metadata": metadata,
            "status": {"capacity": {"cpu": "8", **{f"nvidia.com/{key}": value for key, value in capacity.items()}}},
        }
    )


NODE = node_json({"gpu": "0", "mig-1g.10gb": "14"}, gpu__count="2")


def plan_of(state, services=None):
    return running_plan(state, "gpu-node-1", "now", "text", services)[0]


@pytest.mark.parametrize("services", [None, demo()])
@pytest.mark.parametrize(
    "state",
    [read_checkpoint(CHECKPOINT, "now", A100, NODE_UUIDS), read_instances(TABLE, "now", A100)],
    ids=["checkpoint", "lgi"],
)
def test_an_exported_plan_read_back_has_the_same_placements_and_services(state, services, tmp_path):
    plan = plan_of(state, services)
    assert placements(plan) == placements(demo())
    (tmp_path / "now.json").write_text(dump_plan(plan))
    assert read_plan(tmp_path / "now.json") == plan
    assert plan_summary(plan, plan.gap) == "3 GPUs; nothing is known about the cost"
    current, desired = node_share(plan, "gpu-node-1", "now"), node_share(demo(), "gpu-node-1", "plan")
    tried = dry_run(SimulatedNode.in_state(current).state(), desired)
    assert tried.reached
    assert {type(step).__name__ for step in tried.steps} <= {"StartMps", "StartService", "CheckHealth"}
    if services is not None:
        assert not tried.steps
        assert [gpu.partitions for gpu in plan.gpus] == [
            tuple(sorted(gpu.partitions, key=lambda part: part.start)) for gpu in demo().gpus
        ]


def test_services_that_are_elsewhere_are_told():
    def moved(data):
        data["gpus"][0]["partitions"][0].update(mig_profile="1g.20gb")

    _, notes = running_plan(read_instances(TABLE, "now", A100), "gpu-node-1", "now", "", changed(demo(), moved))
    assert notes == (
        "Partitions that --services does not have there are taken to be idle: 1.",
        "Partitions of --services that are not on the node: 1g.20gb at 0 of GPU 0.",
    )


def test_gpus_without_mig_are_taken_from_the_plan_whose_services_run():
    def one_node(data):
        for index, gpu in enumerate(data["gpus"]):
            gpu.update(node="gpu-node-1", index=index)

    services = changed(mixed(), one_node)
    cut = {index: sorted(instances) for (_, index), instances in placements(services).items()}
    state = read_instances(instances_table(cut), "now", A100)
    plan, notes = running_plan(state, "gpu-node-1", "now", "", services)
    assert [gpu.sharing for gpu in plan.gpus] == ["mig", "mig", "mps"]
    assert plan.gpus[2].partitions == services.gpus[2].partitions
    assert notes == ("GPU 2 is taken as --services has it: the file tells nothing of GPUs without MIG.",)


def test_earlier_checkpoints_spell_their_keys_otherwise():
    old = CHECKPOINT.replace('"ProfileID"', '"ProfileId"').replace('"EngProfileID"', '"EngProfileId"')
    assert read_checkpoint(old, "now", A100, NODE_UUIDS) == read_checkpoint(CHECKPOINT, "now", A100, NODE_UUIDS)


def edited(*path, value):
    data = json.loads(CHECKPOINT)
    target = data["MigState"]["Devices"]
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    return json.dumps(data)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            edited(0, "GpuInstances", 4, "Placement", "Start", value=0),
            "GPU 0, 3g.40gb at 0 cannot be on A100-80GB beside",
        ),
        (edited(0, "GpuInstances", 4, "Placement", "Start", value=3), "3g.40gb at 3 cannot be on A100-80GB beside"),
        (edited(0, "GpuInstances", 0, "Placement", "Size", value=2), "1g.10gb at 0 has size 2; on A100-80GB it is 1"),
        (
            edited(0, "GpuInstances", 0, "ProfileID", value=12),
            "has profile 12 of nvml.h, which A100-80GB does not have",
        ),
        (edited(0, "GpuInstances", 0, "ComputeInstances", value=None), "has 0 compute instances; sliceplan knows one"),
        (edited(0, "GpuInstances", 4, "ComputeInstances", 0, "ProfileID", value=0), "has 1 compute instances"),
        (edited(0, "MigMode", value=2), "MigState.Devices[0].MigMode is 2; expected 0 or 1"),
        (edited(1, "UUID", value=UUIDS["gpu-node-1", 0]), "is listed twice"),
        (edited(1, "UUID", value="GPU-x"), "--uuids: has no GPU-x; the file has UUIDs but no indices"),
        ("{}", "Version is missing"),
        ('{"Version": "v1", "MigState": {"Devices": null}}', "shows no GPU that is cut by MIG"),
    ],
)
def test_wrong_checkpoints_are_refused(text, message):
    with pytest.raises(InputError) as caught:
        plan_of(read_checkpoint(text, "now", A100, NODE_UUIDS))
    assert message in str(caught.value)


def test_a_checkpoint_without_uuids_asks_for_them():
    with pytest.raises(
        InputError, match=r"--uuids: is missing; the file has UUIDs but no indices: run `nvidia-smi -L`"
    ):
        read_checkpoint(CHECKPOINT, "now", A100, {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("No GPU instances found: Not Found\n", "shows no GPU that is cut by MIG"),
        ("No MIG-enabled devices found.\n", "shows no GPU that is cut by MIG"),
        ("", "has no instance; expected the output of `nvidia-smi mig -lgi`"),
        (TABLE.replace("4:4", "x:4", 1), "no line of `nvidia-smi mig -lgi`"),
        (TABLE.replace("3g.40gb", "3g.39gb"), "is no profile of A100-80GB. Did you mean '3g.40gb'"),
        (
            instances_table({0: [("3g.40gb", 0), ("4g.40gb", 0)]}),
            "4g.40gb at 0 cannot be on A100-80GB beside 3g.40gb at 0",
        ),
        (TABLE.replace(" 19 ", " 18 ", 1), "has profile id 18; on A100-80GB it is 19"),
    ],
)
def test_wrong_tables_are_refused(text, message):
    with pytest.raises(InputError) as caught:
        plan_of(read_instances(text, "now", A100))
    assert message in str(caught.value)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_every_layout_of_a_gpu_survives_the_table_of_nvidia_smi(data):
    """Property: what MIG allows is read as it is."""
    layouts = valid_layouts(placement_rules(load_catalogue()["A100-80GB"].mig))[1:]
    drawn = data.draw(st.lists(st.sampled_from(layouts), min_size=1, max_size=3))
    text = instances_table({i: [(one.profile, one.start) for one in layout] for i, layout in enumerate(drawn)})
    assert [gpu.instances for gpu in read_instances(text, "now", A100).gpus] == drawn


@pytest.mark.parametrize(
    ("capacity", "gpus", "layout"),
    [
        ({"mig-1g.10gb": "14"}, 2, {("1g.10gb", start) for start in range(7)}),
        ({"mig-3g.40gb": "4", "mig-1g.10gb": "0"}, 2, {("3g.40gb", 0), ("3g.40gb", 4)}),
        ({"mig-7g.80gb": "3"}, 3, {("7g.80gb", 0)}),
        ({"mig-1g.10gb.me": "1", "mig-3g.40gb": "1", "mig-2g.20gb": "1"}, 1, None),
        ({"mig-3g.40gb": "1"}, 1, None),
        ({"mig-1g.10gb": "8", "mig-3g.40gb": "2"}, 2, {("3g.40gb", 4), *(("1g.10gb", start) for start in range(4))}),
        ({"mig-1g.10gb": "6", "mig-3g.40gb": "2"}, 2, None),
        ({"mig-1g.10gb": "13"}, 2, None),
    ],
)
def test_a_kubernetes_node_is_read_where_its_counts_leave_one_state(capacity, gpus, layout):
    text = node_json({"gpu": "0", **capacity}, gpu__count=str(gpus))
    if layout is None:
        with pytest.raises(InputError, match="no single state of the node has these counts; run `nvidia-smi mig -lgi`"):
            read_node(text, "now", A100)
    else:
        name, state = read_node(text, "now", A100)
        assert name == "n1"
        assert placements(plan_of(state)) == {("gpu-node-1", index): layout for index in range(gpus)}


def test_a_kubernetes_node_with_equal_mps_shares_is_read_back():
    (text,) = exported("device-plugin", equal_shares(25)).files.values()
    assert "replicas: 4" in text
    labels = {"gpu__count": "2", "gpu__sharing-strategy": "mps", "gpu__replicas": "4"}
    _, state = read_node(node_json({"gpu": "8"}, **labels), "now", {None: "V100-SXM2-16GB"})
    plan = plan_of(state)
    assert [[part.sm_percent for part in gpu.partitions] for gpu in plan.gpus] == [[25.0] * 4] * 2
    assert {gpu.sharing for gpu in plan.gpus} == {"mps"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (node_json({"mig-1g.10gb": "7"}), "and no label nvidia.com/gpu.count; no single state"),
        (node_json({"mig-1g.10gb": "-7"}, gpu__count="1"), "status.capacity: nvidia.com/mig-1g.10gb is '-7'"),
        (node_json({"mig-1g.5gb": "7"}, gpu__count="1"), "mig-1g.5gb is no profile of A100-80GB"),
        (
            node_json({"mig-1g.10gb": "7", "gpu": "1"}, gpu__count="2"),
            "does not tell which of its 2 GPUs are cut by MIG",
        ),
        (node_json({"gpu": "7"}, gpu__count="7", mig__strategy="single"), "nothing counts the GPUs"),
        (node_json({"gpu": "7"}, **{"gpu__count": "2", "gpu__sharing-strategy": "mps", "gpu__replicas": "4"}), "agree"),
        (node_json({"gpu": "8"}, **{"gpu__count": "2", "gpu__sharing-strategy": "time-slicing"}), "take turns"),
        (node_json({"gpu": "2"}, gpu__count="2"), "shows no GPU that is cut by MIG or shared by MPS"),
        ('{"kind": "List", "items": []}', "lists 0 nodes; expected one"),
        ('{"kind": "Pod"}', "is no Kubernetes node"),
        ("[]", "is no Kubernetes node"),
    ],
)
def test_wrong_nodes_are_refused(text, message):
    with pytest.raises(InputError) as caught:
        plan_of(read_node(text, "now", A100)[1])
    assert message in str(caught.value)


READERS = {
    "checkpoint": (CHECKPOINT, lambda text: plan_of(read_checkpoint(text, "now", A100, NODE_UUIDS))),
    "lgi": (TABLE, lambda text: plan_of(read_instances(text, "now", A100))),
    "node": (NODE, lambda text: plan_of(read_node(text, "now", A100)[1])),
}


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_damage_is_refused_or_harmless(name, data):
    """Property: whatever happened to a file, a reader raises InputError or returns something valid."""
    text, read = READERS[name]
    with suppress(InputError):
        read(data.draw(damaged(text)))


def test_mixed_types_are_named_by_index():
    plan = mixed()
    uuids = {index: UUIDS["mig-node", index] for index in range(2)}
    (text,) = exported("mig-parted-checkpoint", plan, uuids=UUIDS).files.values()
    state = read_checkpoint(text, "now", {0: "A100-80GB", 1: "A100-80GB"}, uuids)
    assert [gpu.index for gpu in state.gpus] == [0, 1]
    with pytest.raises(InputError, match=r"--gpu: is missing for GPU 1: now does not tell GPU types"):
        read_checkpoint(text, "now", {0: "A100-80GB"}, uuids)
