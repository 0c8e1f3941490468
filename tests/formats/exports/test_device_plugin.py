"""The device plugin's configuration: exact, or refused with the GPU, the partition and what would work."""

import kubernetes_validate
import pytest
import yaml
from support.exported import assert_golden, changed, demo, equal_shares, exported, mixed, single_processes

from sliceplan.solver.model.errors import InputError


def parse_device_plugin(text):
    """Reads a file as NVIDIA/k8s-device-plugin:api/config/v1 and README do; unknown fields are errors."""
    config = yaml.safe_load(text)
    assert config["version"] == "v1"
    assert set(config) <= {"version", "flags", "sharing"}
    assert set(config["flags"]) == {"migStrategy"}
    assert config["flags"]["migStrategy"] in ("none", "single", "mixed")
    for kind, sharing in config.get("sharing", {}).items():
        assert kind == "mps"
        assert set(sharing) == {"renameByDefault", "resources"}
        for resource in sharing["resources"]:
            assert set(resource) == {"name", "replicas"}
            assert resource["name"] == "nvidia.com/gpu"
            assert 2 <= resource["replicas"] <= 48
    return config


def configs(plan):
    (text,) = exported("device-plugin", plan).files.values()
    config_map = yaml.safe_load(text)
    kubernetes_validate.validate(config_map, "1.37", strict=True)
    return {name: parse_device_plugin(data) for name, data in config_map["data"].items()}


def test_equal_shares_become_replicas_of_every_gpu():
    assert configs(equal_shares(25))["mps-4"]["sharing"]["mps"]["resources"][0]["replicas"] == 4
    export = exported("device-plugin", equal_shares(25))
    assert "the neighbours can differ from the plan's" in export.warnings[0]
    assert_golden("device-plugin.yaml", export.files["device-plugin-config.yaml"])


@pytest.mark.parametrize(("percent", "replicas"), [(32.5, 3), (12.5, 7), (10, 10), (7.5, 12), (5, 16), (50, None)])
def test_a_share_that_rounding_makes_of_the_plugins_percentage_is_one_of_its_shares(percent, replicas):
    """The plugin asks for 33 % of a V100, of which MPS makes 13 units of 2.5 %; three services do not go with two."""
    if replicas is None:
        with pytest.raises(InputError, match="n from 2 to 16"):
            exported("device-plugin", equal_shares(percent))
        return
    assert int((100 // replicas) * 40 / 100) * 2.5 == percent
    (resource,) = configs(equal_shares(percent))[f"mps-{replicas}"]["sharing"]["mps"]["resources"]
    assert resource["replicas"] == replicas


def test_mig_nodes_take_the_mixed_strategy():
    assert configs(single_processes(demo())) == {"mig": {"version": "v1", "flags": {"migStrategy": "mixed"}}}


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (demo(), "A100-80GB/0 partitions[0] runs 3 processes through MPS on a 1g.10gb instance"),
        (single_processes(mixed()), "V100-SXM2-16GB/0 has shares of 7.5 %, 10 %, 22.5 %; the plugin makes equal ones"),
        (equal_shares(30), "partitions[0].sm_percent is 30 %; the plugin gives 100/n % without its decimals"),
        (equal_shares(2.5), "n from 2 to 16, of which MPS makes whole units of 2.5 %"),
        (
            changed(equal_shares(25), lambda d: [p.update(sm_percent=50) for p in d["gpus"][1]["partitions"]]),
            "GPUs of mps-node differ in their number of equal shares (V100-SXM2-16GB/1 2, V100-SXM2-16GB/5 4)",
        ),
        (
            changed(equal_shares(25), lambda d: d["gpus"][0]["partitions"][0]["serves"][0].update(memory_mib=5000)),
            "takes 5000 MiB; the plugin gives",
        ),
        (
            changed(
                equal_shares(25),
                lambda d: d["gpus"][0].update(
                    sharing="exclusive", partitions=[{**d["gpus"][0]["partitions"][0], "sm_percent": None}]
                ),
            ),
            "is used whole beside GPUs shared by MPS on mps-node",
        ),
    ],
)
def test_what_the_plugin_cannot_do_is_refused_with_what_would_work(plan, message):
    with pytest.raises(InputError) as caught:
        exported("device-plugin", plan)
    assert message in str(caught.value)
    assert "--format dra or commands" in str(caught.value)
