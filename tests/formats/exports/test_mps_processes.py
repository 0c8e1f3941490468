"""
Several processes on one MPS share, in every export that starts them: together they stay within the share.

An active thread percentage is the cap of one client, which the driver rounds down to whole TPCs of 2 SMs (measured:
tests/model/test_active_threads.py). The tests count in TPCs, by fractions, from what each export tells a process.
"""

import re
from fractions import Fraction
from math import floor

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.exported import changed, equal_shares, exported

from sliceplan.agent.model.plan_files import node_share
from sliceplan.agent.model.service_environment import service_environment
from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.errors import InputError

CATALOGUE = load_catalogue()
IMAGE = {"": "server:1"}
CAP, LIMIT = "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"


def tpcs(gpu):
    return int(CATALOGUE[gpu].sm_count.value) // 2


def taken(percent, gpu):
    """Returns the TPCs that the driver gives to one client."""
    return floor(Fraction(percent) * tpcs(gpu) / 100)


def sharing(gpu, *shares):
    """Returns a plan of one GPU with shares, each (percent, processes)."""

    def edit(data):
        (one, *_) = data["gpus"]
        part = one["partitions"][0]
        one.update(gpu=gpu, id=f"{gpu}/0", node="n1", index=0)
        one["partitions"] = [
            {**part, "sm_percent": percent, "serves": [{**part["serves"][0], "workload": f"w{i}", "processes": count}]}
            for i, (percent, count) in enumerate(shares)
        ]
        data.update(gpus=[one], gpus_used=1)

    return changed(equal_shares(), edit)


def of_pods(text):
    """Returns workload -> environment of the container of each Deployment."""
    return {
        one["metadata"]["annotations"]["sliceplan/workload"]: {
            variable["name"]: variable["value"] for variable in one["spec"]["template"]["spec"]["containers"][0]["env"]
        }
        for one in yaml.safe_load_all(text)
    }


def environments(plan):
    """Returns export -> workload -> the environment that each process of it gets."""
    services = node_share(plan, "n1", "p.json")[0].services
    (script,) = (text for text in exported_commands(plan).values())
    return {
        "dra": of_pods(exported("dra", plan, images=IMAGE).files["deployments.yaml"]),
        "agent": {one.workload: service_environment(one, "/mps", "GPU-1") for one in services},
        "commands": {match[1]: {CAP: match[2]} for match in re.finditer(rf"# (w\d): [^#]*?{CAP}=([\d.]+)", script)},
    }


def exported_commands(plan):
    from sliceplan.solver.api import export_formats
    from sliceplan.solver.formats.exports.target import Options

    return export_formats()["commands"].export(plan, Options("p.json")).files


@st.composite
def shared_gpus(draw):
    """Draws a GPU type and shares of whole TPCs, 100 % in all at most, each with a process for each TPC at most."""
    gpu = draw(st.sampled_from(sorted(CATALOGUE)))
    left, clients, shares = tpcs(gpu), 48, []
    for _ in range(draw(st.integers(1, 4))):
        if not min(left, clients):
            break
        units = draw(st.integers(1, left))
        count = draw(st.integers(1, min(units, clients, 6)))
        left, clients = left - units, clients - count
        shares.append((units * 100 / tpcs(gpu), count))
    return gpu, shares


@settings(max_examples=60, deadline=None)
@given(shared_gpus())
def test_processes_of_a_share_stay_within_it_and_waste_less_than_a_unit_each(drawn):
    """Property: in every export the TPCs of all processes of a share are as many as fit, and never more."""
    gpu, shares = drawn
    assume(CATALOGUE[gpu].mps_client_limit(None) >= sum(count for _, count in shares))
    plan = sharing(gpu, *shares)
    for export, by_workload in environments(plan).items():
        for i, (percent, count) in enumerate(shares):
            cap = Fraction(by_workload[f"w{i}"][CAP])
            together, units = count * taken(cap, gpu), round(percent * tpcs(gpu) / 100)
            assert together <= units, (export, gpu, percent, count, cap)
            assert together + count > units, (export, gpu, percent, count, cap)


def test_three_processes_of_eighty_percent_are_not_three_times_eighty_percent():
    plan = sharing("V100-SXM2-16GB", (80, 3), (20, 1))
    for export, by_workload in environments(plan).items():
        assert {name: one[CAP] for name, one in by_workload.items()} == {"w0": "25", "w1": "20"}, export
    files = exported("dra", plan, images=IMAGE).files
    (claim,) = yaml.safe_load_all(files["claims.yaml"])
    assert claim["metadata"]["annotations"]["sliceplan/shares"] == "w0 80 % (3 processes), w1 20 %"
    assert claim["spec"]["devices"]["config"][0]["opaque"]["parameters"]["sharing"]["mpsConfig"] == {}
    assert "Each has at most 25 % of the SMs; one process with as many instances" in files["deployments.yaml"]
    assert "takes 80 % instead." in files["deployments.yaml"]


def test_behind_the_device_plugin_several_processes_lower_the_cap_of_their_share():
    """The plugin tells its daemon 100/n % and total/n memory for each client, whatever the pod of that client."""

    def edit(data):
        one, two = (part["serves"][0] for part in data["gpus"][0]["partitions"][:2])
        one.update(processes=3, memory_mib=1000.5)
        two.update(processes=1)

    plan = changed(equal_shares(25), edit)
    several, one = (part.serves[0].workload for part in plan.gpus[0].partitions[:2])
    found = of_pods(exported("deployments", plan, images=IMAGE).files["deployments.yaml"])
    assert (found[several][CAP], found[several][LIMIT]) == ("7.5", "0=1001M")
    assert CAP not in found[one]
    note = "--format deployments sets it"
    assert any(note in warning for warning in exported("device-plugin", plan).warnings)
    assert not any(note in warning for warning in exported("device-plugin", equal_shares(25)).warnings)


@pytest.mark.parametrize("name", ["dra", "deployments", "device-plugin", "triton", "commands"])
def test_a_share_with_fewer_units_than_processes_is_refused(name):
    plan = sharing("V100-SXM2-16GB", (5, 3))
    with pytest.raises(InputError, match=r"sm_percent is 5 %; 3 processes take at least 2.5 % \(2 SMs\) each"):
        exported_commands(plan) if name == "commands" else exported(name, plan, images=IMAGE)
