"""Every golden file is what its target takes, by the target's own schema or parser where there is one."""

import csv
import importlib.util
import json
import re
import subprocess
from pathlib import Path

import kubernetes_validate
import pytest
import yaml
from google.protobuf import text_format
from stand_ins.mig_parted_tool import Device, fetched, restored
from support.exported import GOLDEN, parse_mig_parted

from sliceplan.solver.formats.mig_parted_checkpoint import Checkpoint

KUBERNETES = ("1.34", "1.37")
"""The oldest and the newest that has resource.k8s.io/v1."""


def kubernetes(path):
    """Kubernetes' own schema, strict: unknown fields are errors."""
    documents = list(yaml.safe_load_all(path.read_text()))
    assert documents
    for document in documents:
        for version in KUBERNETES:
            kubernetes_validate.validate(document, version, strict=True)
    return documents


def claims(path):
    """Kubernetes' schema, and the fields of the DRA driver's parameters (its v1beta1/sharing.go)."""
    for one in kubernetes(path):
        spec = one["spec"].get("spec", one["spec"])
        for config in spec["devices"].get("config", ()):
            parameters = config["opaque"]["parameters"]
            assert set(parameters) == {"apiVersion", "kind", "sharing"}
            assert parameters["kind"] in ("GpuConfig", "MigDeviceConfig")
            assert set(parameters["sharing"]) == {"strategy", "mpsConfig"}
            assert set(parameters["sharing"]["mpsConfig"]) <= {
                "defaultActiveThreadPercentage",
                "defaultPinnedDeviceMemoryLimit",
                "defaultPerDevicePinnedMemoryLimit",
            }


def mig_manager(path):
    """Kubernetes' schema, and mig-parted's of what is within."""
    for config_map in kubernetes(path):
        parse_mig_parted(config_map["data"]["config.yaml"])


def checkpoint(path):
    """mig-parted's record, in the order in which it reads a node that has it."""
    data = json.loads(path.read_text())
    Checkpoint.model_validate(data)
    node = [Device(device["UUID"], mig=False) for device in data["MigState"]["Devices"]]
    restored(path.read_text(), node)
    assert fetched(node) == data["MigState"]


def triton(path):
    """Triton's own message; an unknown field or a wrong type raises."""
    package = importlib.util.find_spec("tritonclient").submodule_search_locations[0]
    spec = importlib.util.spec_from_file_location(
        "golden_model_config_pb2", Path(package, "grpc", "model_config_pb2.py")
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert text_format.Parse(path.read_text(), module.ModelConfig()).name


def table(path):
    """RFC 4180: as many cells in each row as in the header."""
    with path.open(newline="") as file:
        rows = list(csv.reader(file, strict=True))
    assert {len(row) for row in rows} == {len(rows[0])}


def shell(path):
    """A script that the shell parses."""
    subprocess.run(["sh", "-n", path], check=True)


def routes(path):
    """Kubernetes' schema of the Services; of the HTTPRoutes, which it does not have, the fields that v1 has."""
    names = set()
    for one in yaml.safe_load_all(path.read_text()):
        if one["kind"] == "Service":
            kubernetes_validate.validate(one, "1.34", strict=True)
            names.add(one["metadata"]["name"])
            continue
        assert (one["apiVersion"], one["kind"]) == ("gateway.networking.k8s.io/v1", "HTTPRoute")
        assert set(one["spec"]) <= {"parentRefs", "hostnames", "rules"}
        for rule in one["spec"]["rules"]:
            assert set(rule) <= {"matches", "filters", "backendRefs", "timeouts", "name"}
            for backend in rule["backendRefs"]:
                assert set(backend) == {"name", "port", "weight"}
                assert backend["name"] in names
                assert 0 <= backend["weight"] <= 1_000_000


def istio(path):
    """Services as Kubernetes' schema has them, and the two kinds of Istio's with fields of its v1."""
    known = {"DestinationRule": {"host", "trafficPolicy"}, "VirtualService": {"hosts", "gateways", "http"}}
    documents = list(yaml.safe_load_all(path.read_text()))
    names = {one["metadata"]["name"] for one in documents if one["kind"] == "Service"}
    for one in documents:
        if one["kind"] == "Service":
            kubernetes_validate.validate(one, "1.34", strict=True)
            continue
        assert one["apiVersion"] == "networking.istio.io/v1"
        assert set(one["spec"]) == known[one["kind"]]
        for http in one["spec"].get("http", ()):
            assert {to["destination"]["host"] for to in http["route"]} <= names
            assert all(to["weight"] >= 0 for to in http["route"])


def envoy(path):
    """Clusters with endpoints that have an address and a weight of at least 1."""
    for one in yaml.safe_load(path.read_text())["resources"]:
        assert one["@type"] == "type.googleapis.com/envoy.config.cluster.v3.Cluster"
        for locality in one["load_assignment"]["endpoints"]:
            for endpoint in locality["lb_endpoints"]:
                assert set(endpoint["endpoint"]["address"]["socket_address"]) == {"address", "port_value"}
                assert endpoint["load_balancing_weight"] >= 1


def nginx(path):
    """Blocks and directives as NGINX reads them: words that end in ; or {, braces that match."""
    depth = 0
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            assert re.fullmatch(r"upstream \S+ \{|\}|    (zone \S+ \d+k|random|server \S+:\d+ weight=[1-9]\d*);", line)
            depth += line.endswith("{") - (line == "}")
            assert depth in (0, 1)
    assert depth == 0


def haproxy(path):
    """Sections of keywords, each indented; weights are 1 to 256."""
    words = ("mode http", "balance roundrobin", "balance random(1)", "default-server check init-addr last,libc,none")
    for line in path.read_text().splitlines():
        if not line or line.startswith("#") or re.fullmatch(r"backend \S+", line):
            continue
        server = re.fullmatch(r"    server \S+ \S+:\d+ weight (\d+)", line)
        assert line.strip() in words or 1 <= int(server[1]) <= 256


def target(path):
    """A unit as systemd reads it: sections, and keys of these."""
    for line in path.read_text().splitlines():
        assert re.fullmatch(r"\[(Unit|Install)\]|(Description|Wants|WantedBy)=\S.*|", line)


def drop_in(path):
    """The same of a service; a `%` that is none of a specifier is doubled."""
    for line in path.read_text().splitlines():
        keys = "Description|AllowedCPUs|AllowedMemoryNodes|Environment"
        assert re.fullmatch(rf"#.*|\[(Unit|Service)\]|({keys})=(?:[^%\s]|%%)(?:[^%]|%%)*", line)


TARGETS = {
    "cores.sh": shell,
    "cores.target": target,
    "node.sh": shell,
    "service.conf": drop_in,
    "cores.yaml": kubernetes,
    "backends.cfg": haproxy,
    "clusters.yaml": envoy,
    "http-routes.yaml": routes,
    "istio.yaml": istio,
    "upstreams.conf": nginx,
    "checkpoint.json": checkpoint,
    "claims.yaml": claims,
    "config.pbtxt": triton,
    "deployments.yaml": kubernetes,
    "device-plugin.yaml": kubernetes,
    "label-nodes.sh": shell,
    "mig-manager.yaml": mig_manager,
    "mig-parted.yaml": lambda path: parse_mig_parted(path.read_text()),
    "table.csv": table,
}

LABELLED = "labelled-"
"""Before the names of those with a label that would do harm."""


@pytest.mark.parametrize("name", sorted(path.name for path in GOLDEN.iterdir()))
def test_a_golden_file_is_what_its_target_takes(name):
    TARGETS[name.removeprefix(LABELLED)](GOLDEN / name)
