"""Weights for routers: what they deal is what the plan deals, and the files say so in each router's own words."""

import re
from pathlib import Path

import kubernetes_validate
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from problems.instances import ROOT
from support.exported import assert_golden, changed, exported, mixed

from sliceplan.solver.formats.exports import http_routes
from sliceplan.solver.formats.exports.router_weights import Backend, integer_weights
from sliceplan.solver.formats.plan_files import read_plan
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.plan import Promise

SHOP = ROOT / "tests" / "formats" / "version_1" / "demo.plan.json"
"""A plan that stays as it is."""


def shop():
    return read_plan(Path(SHOP))


def promising(plan, dispatch):
    promise = Promise(
        latency="percentile", quantile=0.99, quantiles={}, dispatch=dispatch, process_queues="shared"
    ).model_dump(mode="json")

    def edit(data):
        data["promise"] = promise
        for gpu in data["gpus"]:
            for part in gpu["partitions"]:
                for served in part["serves"]:
                    served["promised_rps"] = served["rate_rps"] * 1.02

    return changed(plan, edit)


def rates(plan):
    """Returns the rates of the partitions of each workload, least first."""
    found = {}
    for gpu in plan.gpus:
        for part in gpu.partitions:
            for served in part.serves:
                found.setdefault(served.workload, []).append(served.rate_rps)
    return {workload: sorted(one) for workload, one in found.items()}


def dealt(plan, weights):
    """Returns what partitions get by weights, least first."""
    return {
        workload: sorted(sum(own) * weight / sum(weights[workload]) for weight in weights[workload])
        for workload, own in rates(plan).items()
    }


def nginx_weights(text):
    found = {}
    for name, body in re.findall(r"^upstream (\S+) \{\n(.*?)^\}$", text, re.MULTILINE | re.DOTALL):
        found[name] = [int(weight) for weight in re.findall(r"^    server \S+:8000 weight=(\d+);$", body, re.MULTILINE)]
    return found


def haproxy_weights(text):
    found = {}
    for block in text.split("\nbackend ")[1:]:
        name, *lines = block.strip().splitlines()
        weights = [re.fullmatch(r" {4}server (\S+) \1:8000 weight (\d+)", line) for line in lines if "server " in line]
        found[name] = [int(one[2]) for one in weights if one]
        assert all(1 <= weight <= 256 for weight in found[name])
    return found


def envoy_weights(text):
    found = {}
    for cluster in yaml.safe_load(text)["resources"]:
        (locality,) = cluster["load_assignment"]["endpoints"]
        assert cluster["name"] == cluster["load_assignment"]["cluster_name"]
        assert (cluster["type"], cluster["lb_policy"]) == ("STRICT_DNS", "ROUND_ROBIN")
        found[cluster["name"]] = [one["load_balancing_weight"] for one in locality["lb_endpoints"]]
    return found


@pytest.mark.parametrize("plan", [shop(), mixed()], ids=["shop", "mixed"])
@pytest.mark.parametrize(
    ("name", "read"), [("nginx", nginx_weights), ("haproxy", haproxy_weights), ("envoy", envoy_weights)]
)
def test_servers_get_what_the_plan_deals_them(name, read, plan):
    (text,) = exported(name, plan).files.values()
    found = dealt(plan, read(text))
    for workload, own in rates(plan).items():
        assert found[workload] == pytest.approx(own, rel=0.01)


@pytest.mark.parametrize("plan", [shop(), mixed()], ids=["shop", "mixed"])
def test_routes_share_requests_out_as_the_plan_does(plan):
    export = exported("http-routes", plan)
    documents = list(yaml.safe_load_all(export.files["http-routes.yaml"]))
    services = {one["metadata"]["name"]: one for one in documents if one["kind"] == "Service"}
    for one in services.values():
        kubernetes_validate.validate(one, "1.34", strict=True)
    deployed = exported("deployments", plan_for_deployments(plan), images={"": "one"}).files["deployments.yaml"]
    selected = {
        tuple(sorted(one["spec"]["selector"]["matchLabels"].items())): one["spec"]["replicas"]
        for one in yaml.safe_load_all(deployed)
    }
    weights = {}
    for route in (one for one in documents if one["kind"] == "HTTPRoute"):
        assert set(route["spec"]) == {"parentRefs", "rules"}
        (rule,) = route["spec"]["rules"]
        assert 1 <= len(rule["backendRefs"]) <= 16
        for backend in rule["backendRefs"]:
            assert 0 <= backend["weight"] <= 1_000_000
            selector = services.pop(backend["name"])["spec"]["selector"]
            count = selected.get(tuple(sorted(selector.items())), 1)
            workload = route["metadata"]["annotations"]["sliceplan/workload"]
            weights.setdefault(workload, []).extend([backend["weight"] / count] * count)
    assert not services
    for workload, own in rates(plan).items():
        assert dealt(plan, weights)[workload] == pytest.approx(own, rel=0.02)


@pytest.mark.parametrize("dispatch", ["weighted_round_robin", "random"])
def test_istio_shares_requests_out_as_the_routes_of_the_gateway_api_do(dispatch):
    plan = promising(shop(), dispatch)
    of_routes, of_istio = (
        [one for one in yaml.safe_load_all(text) if one["kind"] != "Service"]
        for text in (
            exported("http-routes", plan).files["http-routes.yaml"],
            exported("istio", plan).files["istio.yaml"],
        )
    )
    rules = {one["spec"]["host"]: one["spec"] for one in of_istio if one["kind"] == "DestinationRule"}
    dealt_to = {}
    for one in (one for one in of_istio if one["kind"] == "VirtualService"):
        (http,) = one["spec"]["http"]
        dealt_to[one["metadata"]["name"]] = [(to["destination"]["host"], to["weight"]) for to in http["route"]]
    assert dealt_to == {
        one["metadata"]["name"]: [(to["name"], to["weight"]) for to in one["spec"]["rules"][0]["backendRefs"]]
        for one in of_routes
    }
    balance = {"random": "RANDOM", "weighted_round_robin": "ROUND_ROBIN"}[dispatch]
    assert {rule["trafficPolicy"]["loadBalancer"]["simple"] for rule in rules.values()} == {balance}
    assert set(rules) == {host for own in dealt_to.values() for host, _ in own}


def plan_for_deployments(plan):
    """Returns the plan, or only what can be deployed of it: unequal MPS shares cannot."""
    return plan.model_copy(update={"gpus": tuple(gpu for gpu in plan.gpus if gpu.sharing == "mig")})


def test_golden_files_of_a_plan_that_promises_percentiles_dealt_at_random():
    plan = promising(shop(), "random")
    assert_golden("http-routes.yaml", exported("http-routes", plan).files["http-routes.yaml"])
    assert_golden("upstreams.conf", exported("nginx", plan).files["upstreams.conf"])
    assert_golden("backends.cfg", exported("haproxy", plan).files["backends.cfg"])
    assert_golden("istio.yaml", exported("istio", plan).files["istio.yaml"])
    assert_golden("clusters.yaml", exported("envoy", plan).files["clusters.yaml"])


def test_what_a_router_cannot_keep_of_a_promise_is_said():
    turns, at_random = promising(shop(), "weighted_round_robin"), promising(shop(), "random")
    assert any("is not certified behind it" in one for one in exported("http-routes", turns).warnings)
    assert not any("is not certified behind it" in one for one in exported("http-routes", at_random).warnings)
    assert any("connections, not requests" in one for one in exported("http-routes", at_random).warnings)
    assert any("is not certified behind it" in one for one in exported("istio", turns).warnings)
    assert any("--concurrency 1" in one for one in exported("envoy", turns).warnings)
    assert any("random policy knows no weights" in one for one in exported("envoy", at_random).warnings)
    for plan, nginx, haproxy in ((turns, False, "balance roundrobin"), (at_random, True, "balance random(1)")):
        assert ("    random;" in exported("nginx", plan).files["upstreams.conf"]) == nginx
        assert haproxy in exported("haproxy", plan).files["backends.cfg"]
    deployed = exported("deployments", turns, images={"": "one"})
    assert any("A Kubernetes Service in front deals connections at random" in one for one in deployed.warnings)
    assert not any(
        "A Kubernetes Service in front" in one for one in exported("deployments", shop(), images={"": "one"}).warnings
    )


def test_a_promise_that_whole_weights_break_is_named():
    def edit(data):
        for gpu in data["gpus"]:
            for part in gpu["partitions"]:
                for served in part["serves"]:
                    served["rate_rps"] *= 1 if served["processes"] > 1 else 1e-4
                    served["promised_rps"] = served["rate_rps"]

    export = exported("haproxy", changed(promising(shop(), "random"), edit))
    assert any("get more than they are promised up to: product-photos-1g" in one for one in export.warnings)


def test_more_kinds_of_partitions_than_a_route_takes_are_refused(monkeypatch):
    monkeypatch.setattr(http_routes, "MOST_BACKENDS", 1)
    with pytest.raises(InputError, match="a rule of an HTTPRoute takes 1"):
        exported("http-routes", shop())


@given(
    st.lists(st.tuples(st.floats(0.1, 1e5), st.floats(1, 1.5)), min_size=1, max_size=30), st.sampled_from([256, 1000])
)
def test_weights_are_whole_and_near_the_rates_where_they_can_be(drawn, most):
    backends = [Backend(f"b{i}", rate, rate * room) for i, (rate, room) in enumerate(drawn)]
    weights = integer_weights(backends, most)
    assert len(weights) == len(backends)
    assert all(1 <= weight <= most for weight in weights)
    total, of_weights = sum(rate for rate, _ in drawn), sum(weights)
    greatest = max(rate for rate, _ in drawn)
    if min(rate for rate, _ in drawn) >= greatest / most * 200 and min(room for _, room in drawn) >= 1.02:
        for weight, (rate, _) in zip(weights, drawn, strict=True):
            assert total * weight / of_weights == pytest.approx(rate, rel=0.0101)


@pytest.mark.parametrize("target", ["nginx", "haproxy", "http-routes", "envoy", "istio"])
@pytest.mark.parametrize("dispatch", ["least_expected", "central"])
def test_weights_are_no_certificate_of_a_plan_for_a_router_that_knows_every_state(target, dispatch):
    said = " ".join(exported(target, promising(shop(), dispatch)).warnings)
    assert f"The plan is for dispatch {dispatch}, a router that knows every partition's state" in said
    assert "The plan is for dispatch" not in " ".join(exported(target, promising(shop(), "random")).warnings)
