"""The catalogue against the facts that it was written from, and against itself."""

import json
import re
from dataclasses import replace

import pytest
from problems.instances import REFERENCE
from support.needs import PUBLISHED, skip_without

from sliceplan.solver.model.catalogue import load_catalogue, load_cpus
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.geometry import placement_rules, valid_layouts
from sliceplan.solver.model.hardware import Gpu

CATALOGUE = load_catalogue()
MIG = {name: gpu.mig for name, gpu in CATALOGUE.items() if gpu.mig}

# Names in the facts that are no file or label names -> ours.
RENAMED = {
    "RTX 2080 Ti": "RTX-2080-Ti",
    "RTX 2060": "RTX-2060",
    "H100-96GB (GH200)": "GH200-96GB",
    "RTX PRO 6000 Blackwell SE (96GB)": "RTX-PRO-6000-96GB",
}

READ_SINCE = ("H200-141GB",)
"""Of which the placements were read from a board since the facts were written."""


@pytest.fixture(scope="module")
def facts():
    path = REFERENCE / "gpus.json"
    if not path.is_file():
        skip_without(PUBLISHED, f"the GPU facts are not in {path}")
    return json.loads(path.read_text())


def test_every_gpu_of_the_facts_is_there_with_its_figures(facts):
    assert {RENAMED.get(gpu["name"], gpu["name"]) for gpu in facts["gpus"]} <= set(CATALOGUE)
    for fact in facts["gpus"]:
        gpu = CATALOGUE[RENAMED.get(fact["name"], fact["name"])]
        for field in ("sm_count", "memory_gib", "memory_bandwidth_gb_s", "fp32_tflops", "l2_mb", "tdp_w", "pcie_gen"):
            assert getattr(gpu, field).value == fact[field]["value"], (gpu.name, field)
            assert getattr(gpu, field).verified == fact[field]["verified"], (gpu.name, field)


def test_every_mig_profile_of_the_facts_is_there_with_placements_memory_sms_and_engines(facts):
    for fact in facts["gpus"]:
        mig = CATALOGUE[RENAMED.get(fact["name"], fact["name"])].mig
        assert (mig is None) == (fact["mig"] is None)
        for row in fact["mig"] or ():
            profile = mig.profile(row["name"])
            assert list(profile.starts) == row["placements"]
            assert profile.memory_slices == row["placement_size"]
            assert profile.nvml_profile_id == row["nvml_profile_id"]
            for field in ("compute_slices", "memory_gib", "sm_count", "max_count", "engines"):
                assert getattr(profile, field) == row[field], (fact["name"], row["name"], field)
            unverified = [] if fact["name"] in READ_SINCE else row["unverified_fields"]
            assert len(profile.unverified) == len(unverified)


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_fact_names_its_source(name):
    gpu = CATALOGUE[name]
    sources = [getattr(gpu, field).source for field in ("sm_count", "memory_gib", "tdp_w", "mps_max_clients")]
    sources += [profile.source for profile in gpu.mig.profiles] if gpu.mig else []
    assert all(len(source) > 3 for source in sources)


@pytest.mark.parametrize("name", MIG)
def test_disjoint_placements_are_all_that_plain_instances_need(name):
    """The interval formulation rests on this: geometry alone says what fits, for profiles without media engines."""
    plain = [profile.name for profile in MIG[name].profiles if profile.kind != "variant"]
    rules = placement_rules(MIG[name], plain)
    unlimited = tuple(replace(rule, max_count=99) for rule in rules.profiles)
    geometry_only = replace(rules, compute_slices=99, engines=None, profiles=unlimited)
    assert valid_layouts(rules) == valid_layouts(geometry_only)


def test_mps_clients_fall_in_proportion_to_the_instance():
    gpu = CATALOGUE["A100-80GB"]
    limits = [gpu.mps_client_limit(gpu.mig.profile(name)) for name in ("1g.10gb", "3g.40gb", "7g.80gb")]
    assert limits == [6, 20, 48]


# Added to the facts: GPU type -> SMs, base profiles, and whether an instance of each has known memory.
ADDED = {
    "A10": (72, ""),
    "A2": (10, ""),
    "B300-270GB": (148, "1g.34gb 2g.67gb 3g.135gb 4g.135gb 7g.269gb"),
    "GB200-189GB": (152, "1g.24gb 2g.47gb 3g.95gb 4g.95gb 7g.189gb"),
    "GB300": (152, "1g.35gb 2g.70gb 3g.139gb 4g.139gb 7g.278gb"),
    "GH200-144GB": (132, "1g.18gb 2g.36gb 3g.72gb 4g.72gb 7g.144gb"),
    "H100-80GB-PCIE": (114, "1g.10gb 2g.20gb 3g.40gb 4g.40gb 7g.80gb"),
    "H20-96GB": (78, "1g.12gb 2g.24gb 3g.48gb 4g.48gb 7g.96gb"),
    "H200-141GB-NVL": (132, "1g.18gb 2g.35gb 3g.71gb 4g.71gb 7g.141gb"),
    "RTX-PRO-5000-48GB": (110, "1g.24gb 2g.48gb"),
    "RTX-PRO-6000-96GB-MAXQ": (188, "1g.24gb 2g.48gb 4g.96gb"),
    "RTX-PRO-6000-96GB-WS": (188, "1g.24gb 2g.48gb 4g.96gb"),
    "V100-SXM2-32GB": (80, ""),
}


@pytest.mark.parametrize("name", ADDED)
def test_types_beside_the_facts_have_their_sms_and_base_profiles(name):
    sms, base = ADDED[name]
    gpu = CATALOGUE[name]
    assert gpu.sm_count.value == sms
    assert (
        [profile.name for profile in gpu.mig.profiles if profile.kind == "base"] == base.split()
        if base
        else not gpu.mig
    )


@pytest.mark.parametrize("name", MIG)
def test_what_a_profile_leaves_open_is_listed_and_no_instance_is_more_than_its_gpu(name):
    gpu, mig = CATALOGUE[name], MIG[name]
    for profile in mig.profiles:
        null = {
            field for field in ("memory_gib", "sm_count", "nvml_profile_id", "engines") if not getattr(profile, field)
        }
        assert null - {"nvml_profile_id"} <= set(profile.unverified), profile.name
        assert profile.nvml_profile_id is not None or "nvml_profile_id" in profile.unverified
        assert (profile.sm_count or 0) <= gpu.sm_count.value
        assert (profile.memory_gib or 0) <= gpu.memory_gib.value * 1.01
        assert (profile.sm_count or 1) * profile.max_count <= gpu.sm_count.value


@pytest.mark.parametrize("name", MIG)
def test_a_profile_is_named_after_its_slices_and_its_part_of_the_memory(name):
    """Property: NVIDIA's rule, ceil(8 x fraction) / 8 of the memory of the whole GPU, rounded half up (go-nvlib)."""
    mig = MIG[name]
    total = {"H100-94GB-NVL": 94, "H200-141GB": 141, "H200-141GB-NVL": 141}.get(name)
    total = total or int(re.search(r"\.(\d+)gb", mig.full.name)[1])
    for profile in mig.profiles:
        slices, memory = re.match(r"(\d)g\.(\d+)gb", profile.name).groups()
        assert int(slices) == profile.compute_slices
        part = total * profile.memory_slices / mig.placement_units
        assert abs(int(memory) - part) <= 0.75, (profile.name, part)


def test_a_figure_that_is_not_known_is_null_for_a_reason_and_asking_for_it_says_so():
    for gpu in CATALOGUE.values():
        assert all(len(reason) > 10 for reason in gpu.unknown.values())
    with pytest.raises(InputError, match="H200-141GB-NVL: l2_mb is not known of this GPU type: no source at hand"):
        CATALOGUE["H200-141GB-NVL"].known("l2_mb")
    data = CATALOGUE["T4"].model_dump() | {"l2_mb": None}
    with pytest.raises(ValueError, match="null are"):
        Gpu.model_validate(data)


def test_a_type_has_the_name_that_it_is_found_by():
    for types in (load_catalogue(), load_cpus()):
        assert [known.name for known in types.values()] == list(types)
        assert len(types) == len(set(types)) > 10
        assert "no such type" not in types
