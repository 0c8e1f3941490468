"""The catalogue against the facts that it was written from, and against itself."""

import json
from dataclasses import replace

import pytest
from instances import REFERENCE

from sliceplan.solver.geometry import placement_rules, valid_layouts
from sliceplan.solver.model.catalogue import load_catalogue

CATALOGUE = load_catalogue()
MIG = {name: gpu.mig for name, gpu in CATALOGUE.items() if gpu.mig}

# Names in the facts that are no file or label names -> ours.
RENAMED = {
    "RTX 2080 Ti": "RTX-2080-Ti",
    "RTX 2060": "RTX-2060",
    "H100-96GB (GH200)": "GH200-96GB",
    "RTX PRO 6000 Blackwell SE (96GB)": "RTX-PRO-6000-96GB",
}


@pytest.fixture(scope="module")
def facts():
    path = REFERENCE / "gpus.json"
    if not path.is_file():
        pytest.skip(f"the GPU facts are not in {path}")
    return json.loads(path.read_text())


def test_every_gpu_of_the_facts_is_there_with_its_figures(facts):
    assert {RENAMED.get(gpu["name"], gpu["name"]) for gpu in facts["gpus"]} == set(CATALOGUE)
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
            assert len(profile.unverified) == len(row["unverified_fields"])


def test_every_price_of_the_facts_is_there_per_gpu(facts):
    for price in facts["prices_on_demand"]:
        gpu = CATALOGUE[RENAMED.get(price["gpu"], price["gpu"])]
        own = next(own for own in gpu.prices if own.instance == price["instance"])
        assert own.usd_per_gpu_hour == pytest.approx(price["usd_per_hour"] / price["gpu_count"], abs=1e-6)
        assert (own.date, own.verified) == (price["date"], price["verified"])


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_fact_names_its_source(name):
    gpu = CATALOGUE[name]
    sources = [getattr(gpu, field).source for field in ("sm_count", "memory_gib", "tdp_w", "mps_max_clients")]
    sources += [profile.source for profile in gpu.mig.profiles] if gpu.mig else []
    sources += [price.source for price in gpu.prices]
    assert all(len(source) > 3 for source in sources)


@pytest.mark.parametrize("name", MIG)
def test_disjoint_placements_are_all_that_plain_instances_need(name):
    """The interval formulation rests on this: geometry alone says what fits, for profiles without media engines."""
    plain = [profile.name for profile in MIG[name].profiles if profile.kind != "variant"]
    rules = placement_rules(MIG[name], plain)
    unlimited = tuple(replace(rule, max_count=99) for rule in rules.profiles)
    geometry_only = replace(rules, compute_slices=99, engines=None, profiles=unlimited)
    assert valid_layouts(rules) == valid_layouts(geometry_only)


def test_default_price_is_a_verified_one_where_there_is_one():
    assert CATALOGUE["V100-SXM2-16GB"].default_price.usd_per_gpu_hour == 3.06
    assert CATALOGUE["A30-24GB"].default_price is None
    for gpu in CATALOGUE.values():
        if any(price.verified for price in gpu.prices):
            assert gpu.default_price.verified


def test_mps_clients_fall_in_proportion_to_the_instance():
    gpu = CATALOGUE["A100-80GB"]
    limits = [gpu.mps_client_limit(gpu.mig.profile(name)) for name in ("1g.10gb", "3g.40gb", "7g.80gb")]
    assert limits == [6, 20, 48]
