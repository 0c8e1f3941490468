"""Deployments and DRA claims: valid by Kubernetes' own schema, and as many as the plan has partitions."""

import re
from collections import Counter

import kubernetes_validate
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from support.exported import assert_golden, changed, demo, equal_shares, exported, mixed

from sliceplan.solver.formats.exports.kubernetes_names import kubernetes_names, label_value
from sliceplan.solver.model.errors import InputError

IMAGE = {"": "registry.example/server:1"}
RFC_1123 = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


def documents(text):
    """Returns the objects of a file; each is valid in the oldest and newest Kubernetes that has its kind."""
    found = list(yaml.safe_load_all(text))
    for one in found:
        for version in ("1.34", "1.37"):
            kubernetes_validate.validate(one, version, strict=True)
        assert RFC_1123.fullmatch(one["metadata"]["name"])
    names = [(one["kind"], one["metadata"]["name"]) for one in found]
    assert len(set(names)) == len(names)
    return found


def by_workload(deployments, of):
    found = Counter()
    for one in deployments:
        found[one["metadata"]["annotations"]["sliceplan/workload"], of(one)] += one["spec"]["replicas"]
    return found


def partitions(plan, of):
    return Counter(
        (served.workload, of(gpu, part, served))
        for gpu in plan.gpus
        for part in gpu.partitions
        for served in part.serves
    )


def environment(deployment):
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    return {one["name"]: one["value"] for one in container["env"]}


def test_deployments_ask_for_every_partition_of_the_plan():
    plan = demo()
    found = documents(exported("deployments", plan, images=IMAGE).files["deployments.yaml"])

    def resource_and_point(one):
        (container,) = one["spec"]["template"]["spec"]["containers"]
        ((resource, amount),) = container["resources"]["limits"].items()
        assert amount == 1
        settings = environment(one)
        return resource, settings["SLICEPLAN_BATCH_SIZE"], settings["SLICEPLAN_PROCESSES"]

    wanted = partitions(
        plan, lambda _, part, served: (f"nvidia.com/mig-{part.mig_profile}", str(served.batch), str(served.processes))
    )
    assert by_workload(found, resource_and_point) == wanted
    for one in found:
        terms = one["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
        assert "gpu-node-1" in str(terms)
        assert one["spec"]["strategy"]["rollingUpdate"]["maxSurge"] == 0
        assert one["spec"]["selector"]["matchLabels"] == one["spec"]["template"]["metadata"]["labels"]


def test_deployments_are_the_golden_ones():
    plan = changed(equal_shares(), lambda data: data["gpus"].pop())
    assert_golden("deployments.yaml", exported("deployments", plan, images=IMAGE).files["deployments.yaml"])


def test_deployments_on_two_nodes_keep_the_counts_of_each():
    def other_node(data):
        data["gpus"][2].update(node="gpu-node-2", index=0)

    plan = changed(demo(), other_node)
    found = documents(exported("deployments", plan, images=IMAGE).files["deployments.yaml"])

    def node(one):
        terms = one["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
        (term,) = terms["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        return tuple(term["matchExpressions"][0]["values"])

    assert by_workload(found, node) == partitions(plan, lambda gpu, *_: (gpu.node,))


def test_images_can_differ_and_are_asked_for():
    images = {"": "a", "ad-ranking": "b"}
    found = documents(exported("deployments", demo(), images=images).files["deployments.yaml"])
    used = {
        one["metadata"]["annotations"]["sliceplan/workload"]: one["spec"]["template"]["spec"]["containers"][0]["image"]
        for one in found
    }
    assert used.pop("ad-ranking") == "b"
    assert set(used.values()) == {"a"}
    with pytest.raises(InputError, match=r"--image: is missing for search-embedding, .* give --image IMAGE"):
        exported("deployments", demo())
    with pytest.raises(InputError, match="--image: ranking is no workload of the plan"):
        exported("deployments", demo(), images={**IMAGE, "ranking": "c"})


def test_names_that_kubernetes_cannot_have_are_changed_and_kept_in_an_annotation():
    def rename(data):
        names = iter(["Search_A", "search-a", "SEARCH.A", "x" * 63, "X" * 63])
        for gpu in data["gpus"]:
            for part in gpu["partitions"]:
                part["serves"][0]["workload"] = next(names, part["serves"][0]["workload"])

    plan = changed(demo(), rename)
    found = documents(exported("deployments", plan, images=IMAGE).files["deployments.yaml"])
    originals = {one["metadata"]["annotations"]["sliceplan/workload"] for one in found}
    assert {"Search_A", "search-a", "SEARCH.A", "x" * 63, "X" * 63} <= originals
    names = {one["metadata"]["labels"]["app.kubernetes.io/name"] for one in found}
    assert len(names) == len(originals)


def test_unequal_mps_shares_are_refused_and_dra_takes_them():
    with pytest.raises(InputError, match=r"V100-SXM2-16GB/0 has shares of .* use --format dra or commands"):
        exported("deployments", mixed(), images=IMAGE)
    files = exported("dra", mixed(), images=IMAGE).files
    claims, deployments = documents(files["claims.yaml"]), documents(files["deployments.yaml"])
    (shared,) = [one for one in claims if one["kind"] == "ResourceClaim"]
    assert (
        shared["metadata"]["annotations"]["sliceplan/shares"]
        == "thumbnails 10 %, checkout-camera 22.5 %, parking 7.5 %"
    )
    users = [one for one in deployments if shared["metadata"]["name"] in str(one["spec"])]
    percentages = {
        one["metadata"]["annotations"]["sliceplan/workload"]: environment(one)["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"]
        for one in users
    }
    assert percentages == {"thumbnails": "10", "checkout-camera": "22.5", "parking": "7.5"}


def test_dra_claims_name_profile_capability_and_mps():
    plan = demo()
    files = exported("dra", plan, images=IMAGE).files
    claims = {one["metadata"]["name"]: one for one in documents(files["claims.yaml"])}
    found = documents(files["deployments.yaml"])

    def profile(one):
        ((reference,),) = [one["spec"]["template"]["spec"]["resourceClaims"]]
        devices = claims[reference["resourceClaimTemplateName"]]["spec"]["spec"]["devices"]
        request = devices["requests"][0]["exactly"]
        assert request["deviceClassName"] == "mig.nvidia.com"
        first, second = (one["cel"]["expression"] for one in request["selectors"])
        assert second == "device.attributes['gpu.nvidia.com'].cudaComputeCapability.compareTo(semver('8.0.0')) == 0"
        shared = int(environment(one)["SLICEPLAN_PROCESSES"]) > 1
        assert ("config" in devices) == shared
        return re.fullmatch(r"device\.attributes\['gpu\.nvidia\.com'\]\.profile == '(.*)'", first)[1]

    assert by_workload(found, profile) == partitions(plan, lambda _, part, __: part.mig_profile)
    for one in claims.values():
        for config in one["spec"]["spec"]["devices"].get("config", ()):
            parameters = config["opaque"]["parameters"]
            assert parameters == {
                "apiVersion": "resource.nvidia.com/v1beta1",
                "kind": "MigDeviceConfig",
                "sharing": {"strategy": "MPS", "mpsConfig": {}},
            }
    golden = changed(mixed(), lambda data: data["gpus"].pop(0))
    assert_golden("claims.yaml", exported("dra", golden).files["claims.yaml"])


def test_two_gpu_types_that_look_alike_are_refused():
    def other_type(data):
        for gpu in data["gpus"]:
            gpu["node"] = gpu["index"] = None
        data["gpus"][1].update(gpu="H100-80GB-SXM")

    plan = changed(demo(), other_type)
    with pytest.raises(InputError, match=r"both are offered as nvidia.com/mig-1g.10gb; run `sliceplan assign` first"):
        exported("deployments", plan, images=IMAGE)
    exported("dra", plan)  # 8.0 and 9.0

    def whole(data):
        for index, name in enumerate(("A100-40GB", "A100-80GB")):
            data["gpus"][index].update(gpu=name, sharing="exclusive")
            del data["gpus"][index]["partitions"][1:]
            data["gpus"][index]["partitions"][0].update(mig_profile=None, start=None)

    with pytest.raises(InputError, match=r"both with compute capability 8.0, which is what claims go by"):
        exported("dra", changed(demo(), whole))


def test_partitions_that_serve_in_turn_are_refused():
    def in_turn(data):
        part = data["gpus"][0]["partitions"][0]
        part["serves"] += data["gpus"][0]["partitions"][1]["serves"]
        part["duty_cycle_ms"] = 20

    plan = changed(demo(), in_turn)
    for name in ("deployments", "dra"):
        with pytest.raises(InputError, match=r"partitions\[0\] serves search-embedding, product-photos in turn"):
            exported(name, plan, images=IMAGE)


@given(st.lists(st.text(st.characters(codec="ascii", categories=("L", "N", "P")), min_size=1, max_size=90), max_size=8))
def test_names_are_valid_and_no_two_become_one(originals):
    """Property: one valid name for each original; a valid original keeps its own."""
    names = kubernetes_names(originals)
    assert set(names) == set(originals)
    assert len(set(names.values())) == len(names)
    for original, name in names.items():
        assert RFC_1123.fullmatch(name)
        assert name == original or not RFC_1123.fullmatch(original)
        assert kubernetes_names([original])[original] == name or len(names) > 1


def test_label_values_keep_within_63_characters_and_differ():
    values = {label_value(f"{'n' * 60}{i}", "p" * 63) for i in range(9)}
    assert len(values) == 9
    assert max(map(len, values)) <= 63


def test_sharing_unlike_in_a_plan_without_nodes_is_refused_with_what_to_do_first():
    def homeless(data):
        for gpu in data["gpus"]:
            gpu.update(node=None, index=None)

    with pytest.raises(InputError) as refused:
        exported("deployments", changed(mixed(), homeless), images=IMAGE)
    assert "beside GPUs shared by MPS that are not assigned to nodes (`sliceplan assign`)" in str(refused.value)
