"""mig-parted's config and checkpoint, the MIG manager's ConfigMap and node labels, from the shipped plans."""

import json
import re
import subprocess
from collections import Counter

import kubernetes_validate
import pytest
import yaml
from support.exported import (
    UUIDS,
    assert_golden,
    changed,
    demo,
    exported,
    mixed,
    parse_mig_parted,
    placements,
    single_processes,
)

from sliceplan.solver.formats.mig_parted_checkpoint import full_size_compute_profile
from sliceplan.solver.formats.plan_files import read_plan
from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.errors import InputError


def counts(plan, node):
    return {
        gpu.index: Counter(part.mig_profile for part in gpu.partitions) if gpu.sharing == "mig" else None
        for gpu in plan.gpus
        if gpu.node == node
    }


@pytest.mark.parametrize(("plan", "node"), [(demo(), "gpu-node-1"), (mixed(), "mig-node"), (mixed(), "mps-node")])
def test_mig_parted_config_counts_every_gpu_of_a_node_as_the_plan_does(plan, node):
    export = exported("mig-parted", plan)
    text = export.files[f"{node}.mig-parted.yaml"]
    assert parse_mig_parted(text) == {plan.problem.name: counts(plan, node)}
    assert "counts only" in export.warnings[0]


def test_mig_parted_config_is_the_golden_one():
    assert_golden("mig-parted.yaml", exported("mig-parted", demo()).files["gpu-node-1.mig-parted.yaml"])


def test_mig_manager_config_map_holds_a_label_for_each_node():
    plan = mixed()
    (text,) = exported("mig-manager", plan).files.values()
    config_map = yaml.safe_load(text)
    kubernetes_validate.validate(config_map, "1.37", strict=True)
    assert list(config_map["data"]) == ["config.yaml"]
    assert parse_mig_parted(config_map["data"]["config.yaml"]) == {
        "all-disabled": {"all": None},
        "mixed-mig-node": counts(plan, "mig-node"),
        "mixed-mps-node": counts(plan, "mps-node"),
    }
    assert_golden("mig-manager.yaml", text)


def test_checkpoint_holds_every_placement_with_nvml_ids():
    plan = demo()
    (text,) = exported("mig-parted-checkpoint", plan, uuids=UUIDS).files.values()
    assert_golden("checkpoint.json", text)
    data = json.loads(text)
    assert set(data) == {"Version", "MigState"}
    enums = {0: "1g.10gb", 1: "2g.20gb", 2: "3g.40gb"}  # NVML_GPU_INSTANCE_PROFILE_1_SLICE, 2_SLICE, 3_SLICE
    for device, gpu in zip(data["MigState"]["Devices"], plan.gpus, strict=True):
        assert set(device) == {"UUID", "MigMode", "GpuInstances"}
        assert (device["UUID"], device["MigMode"]) == (UUIDS["gpu-node-1", gpu.index], 1)
        found = {(enums[one["ProfileID"]], one["Placement"]["Start"]) for one in device["GpuInstances"]}
        assert found == placements(plan)["gpu-node-1", gpu.index]
        for one in device["GpuInstances"]:
            assert one["Placement"]["Size"] == {0: 1, 1: 2, 2: 4}[one["ProfileID"]]
            assert one["ComputeInstances"] == [{"ProfileID": one["ProfileID"], "EngProfileID": 0}]


def test_checkpoint_asks_for_uuids_and_names_the_command():
    with pytest.raises(InputError, match=r"--uuids: has no UUID of GPU 1, 2 of gpu-node-1; run there `nvidia-smi -L"):
        exported("mig-parted-checkpoint", demo(), uuids={("gpu-node-1", 0): "GPU-a"})


def test_checkpoint_leaves_out_gpus_without_mig_and_says_so():
    export = exported("mig-parted-checkpoint", mixed(), uuids=UUIDS)
    assert list(export.files) == ["mig-node.checkpoint.json"]
    assert "V100-SXM2-16GB/0" in export.warnings[2]


def test_compute_instance_fills_its_gpu_instance_on_every_gpu_type():
    """The ids of nvml.h; 7 is what a driver made for 1g.20gb on an H100 80GB HBM3."""
    for gpu in load_catalogue().values():
        for profile in gpu.mig.profiles if gpu.mig else ():
            open_ = profile.kind == "double_memory" and profile.sm_count is None
            assert (full_size_compute_profile(gpu, profile) is None) == open_, (gpu.name, profile.name)
    pcie = load_catalogue()["H100-80GB-PCIE"]
    assert full_size_compute_profile(pcie, pcie.mig.profile("1g.20gb")) == 0, "it has no more SMs than 1g.10gb there"
    h100 = load_catalogue()["H100-80GB-SXM"]
    assert full_size_compute_profile(h100, h100.mig.profile("1g.20gb")) == 7
    assert full_size_compute_profile(h100, h100.mig.profile("1g.10gb")) == 0
    a100 = load_catalogue()["A100-80GB"]
    assert full_size_compute_profile(a100, a100.mig.profile("1g.20gb")) == 0
    assert full_size_compute_profile(a100, a100.mig.profile("7g.80gb")) == 4


def test_node_labels_select_the_configurations_of_the_other_exports():
    export = exported("node-labels", single_processes(mixed()))
    (text,) = export.files.values()
    assert "kubectl label node mig-node --overwrite" in text
    assert "nvidia.com/mig.config=mixed-mig-node" in text
    assert "nvidia.com/device-plugin.config=mig" in text
    assert "No nvidia.com/device-plugin.config for mps-node: V100-SXM2-16GB/0 has shares" in export.warnings[-1]
    assert_golden("label-nodes.sh", text)


@pytest.mark.parametrize("name", ["mig-parted", "mig-parted-checkpoint", "mig-manager", "node-labels", "device-plugin"])
def test_a_plan_that_is_not_assigned_is_refused_with_the_command(name):
    def unassign(data):
        for gpu in data["gpus"]:
            gpu["node"] = gpu["index"] = None

    with pytest.raises(InputError, match=r"not assigned to nodes: A100-80GB/0, .*run: sliceplan assign"):
        exported(name, changed(demo(), unassign))


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda gpus: gpus[0]["partitions"][4].update(start=2), "partitions[4].start is 2; 3g.40gb may start at 0, 4"),
        (lambda gpus: gpus[0]["partitions"][4].update(start=0), "partitions[4] (3g.40gb at 0) overlaps partitions[0]"),
        (lambda gpus: gpus[0]["partitions"][0].update(mig_profile="1g.5gb"), "A100-80GB has no such profile"),
        (lambda gpus: gpus[1].update(index=0), "gpus[1].index is 0, and gpus[0] is GPU 0 of gpu-node-1"),
        (lambda gpus: gpus[1].update(index=None), "gpus[1].index is null; a GPU with a node needs"),
        (lambda gpus: gpus[1].update(gpu="A100"), "gpus[1].gpu is 'A100'; not in the catalogue"),
        (lambda gpus: gpus[1].update(gpu="T4"), "gpus[1].sharing is 'mig', but T4 has no MIG"),
        (lambda gpus: gpus[1].update(id="A100-80GB/0"), "gpus[1].id is 'A100-80GB/0', and so is gpus[0].id"),
        (lambda gpus: gpus.clear(), "there is nothing to export"),
    ],
)
def test_a_plan_that_cannot_be_is_refused_by_gpu_and_partition(edit, message):
    with pytest.raises(InputError) as caught:
        exported("mig-parted", changed(demo(), lambda data: edit(data["gpus"])))
    assert message in str(caught.value)


def test_node_names_that_kubernetes_cannot_have_are_refused():
    plan = changed(demo(), lambda data: [gpu.update(node="GPU_Node") for gpu in data["gpus"]])
    for name in ("mig-manager", "node-labels"):
        with pytest.raises(InputError, match="'GPU_Node', which Kubernetes cannot have"):
            exported(name, plan)


def test_json_export_is_the_plan_itself(tmp_path):
    ((name, text),) = exported("json", demo()).files.items()
    (tmp_path / name).write_text(text)
    assert read_plan(tmp_path / name) == demo()


def test_labels_are_set_by_one_kubectl_call_a_node(tmp_path):
    """The script runs against a kubectl that writes down what it is asked; its values are what Kubernetes takes."""
    calls = tmp_path / "calls"
    kubectl = tmp_path / "kubectl"
    kubectl.write_text(f'#!/bin/sh\nprintf "%s " "$@" >> {calls}\necho >> {calls}\n')
    kubectl.chmod(0o755)
    (script,) = exported("node-labels", single_processes(mixed())).files.values()
    subprocess.run(["sh", "-eu", "-c", script], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, check=True)
    lines = [line.split() for line in calls.read_text().splitlines()]
    assert [line[:4] for line in lines] == [["label", "node", "mig-node", "--overwrite"]]
    for label in lines[0][4:]:
        key, value = label.split("=")
        assert key in ("nvidia.com/mig.config", "nvidia.com/device-plugin.config")
        assert re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?", value)


def test_a_config_map_that_kubernetes_would_not_take_is_refused(monkeypatch):
    monkeypatch.setattr("sliceplan.solver.formats.exports.mig_manager.LARGEST", 100)
    with pytest.raises(InputError, match=r"makes a ConfigMap of .* bytes; Kubernetes takes 100: use mig-parted"):
        exported("mig-manager", demo())
