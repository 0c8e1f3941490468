"""Plans that tests export, golden files of what comes out, and NVIDIA's formats as strict parsers read them."""

import os
import re

import yaml
from problems.instances import ROOT
from problems.shop import mixed_plan, shop_plan

from sliceplan.solver.formats.exports.assign import NodeSupply, assign
from sliceplan.solver.formats.exports.registry import TARGETS
from sliceplan.solver.formats.exports.target import Options
from sliceplan.solver.formats.plan_files import read_plan
from sliceplan.solver.model.plan import Plan

GOLDEN = ROOT / "tests" / "formats" / "exports" / "golden"
UUIDS = {
    (node, index): f"GPU-{number:08d}-2222-3333-4444-{index:012d}"
    for number, node in enumerate(("gpu-node-1", "mig-node", "mps-node"))
    for index in range(8)
}


def demo():
    """Three A100s cut by MIG on one node; some instances take several processes."""
    return shop_plan()


def mixed():
    """Two A100s cut by MIG on one node, a V100 with unequal MPS shares on another."""
    return assign(mixed_plan(), [NodeSupply("mig-node", 2, "A100-80GB"), NodeSupply("mps-node", 2, "V100-SXM2-16GB")])


def changed(plan, edit):
    """Returns the plan after a function has edited its JSON data; the edited plan is a valid record again."""
    data = plan.model_dump(mode="json")
    edit(data)
    return Plan.model_validate(data)


def single_processes(plan):
    """Returns the plan with one process in each partition, so that no MPS daemon is needed on MIG."""

    def edit(data):
        for gpu in data["gpus"]:
            for part in gpu["partitions"]:
                for served in part["serves"]:
                    served["processes"] = 1

    return changed(plan, edit)


def equal_shares(percent=25):
    """Two V100s on one node with equal shares: three services on one, two on the other."""
    plan = assign(read_plan(ROOT / "plans" / "igniter.plan.json"), [NodeSupply("mps-node", 8)])

    def edit(data):
        data["gpus"] = [data["gpus"][5], data["gpus"][1]]
        data["gpus_used"] = 2
        for gpu in data["gpus"]:
            for part in gpu["partitions"]:
                part["sm_percent"] = percent

    return changed(plan, edit)


def exported(name, plan, **options):
    """Returns what a target makes of a plan."""
    return TARGETS[name].export(plan, Options(source="test.plan.json", **options))


def assert_golden(name, text):
    """Compares with a golden file; SLICEPLAN_WRITE_GOLDEN=1 writes it instead, for a person to read."""
    path = GOLDEN / name
    if os.environ.get("SLICEPLAN_WRITE_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text()


def placements(plan):
    """Returns (node, index) -> {(MIG profile, start)} of the GPUs that are cut by MIG."""
    return {
        (gpu.node, gpu.index): {(part.mig_profile, part.start) for part in gpu.partitions}
        for gpu in plan.gpus
        if gpu.sharing == "mig"
    }


MIG_DEVICE = re.compile(r"(\dc\.)?\dg\.\d+gb([+-](me|gfx)(\.all)?)?")


def parse_mig_parted(text):
    """
    Returns label -> GPU index -> profile -> count, as NVIDIA/mig-parted:api/spec/v1/spec.go reads a file.

    Unknown fields, missing ones, MIG devices where MIG is off, and a GPU in two entries are errors.
    """
    spec = yaml.safe_load(text)
    assert set(spec) == {"version", "mig-configs"}
    assert spec["version"] == "v1"
    assert spec["mig-configs"]
    return {label: _parse_entries(entries) for label, entries in spec["mig-configs"].items()}


def _parse_entries(entries):
    found = {}
    assert entries
    for entry in entries:
        assert {"devices", "mig-enabled"} <= set(entry) <= {"devices", "mig-enabled", "mig-devices", "device-filter"}
        assert type(entry["mig-enabled"]) is bool
        devices = entry["devices"]
        assert devices == "all" or (isinstance(devices, list) and all(type(index) is int for index in devices))
        counts = entry.get("mig-devices")
        if entry["mig-enabled"]:
            assert isinstance(counts, dict)
            assert all(
                MIG_DEVICE.fullmatch(name) and type(count) is int and count >= 0 for name, count in counts.items()
            )
            assert not counts or any(counts.values())
        else:
            assert not counts
        for index in ["all"] if devices == "all" else devices:
            assert index not in found
            found[index] = counts
    return found
