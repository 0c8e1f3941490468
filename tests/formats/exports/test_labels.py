"""Labels stand beside names where a target has free text, and whatever they are they do nothing there."""

import csv
import io
import re
import shutil
import subprocess
from functools import cache

import pytest
import yaml
from formats.exports.test_cores import PARTS, files, lscpu, on_cores
from formats.exports.test_router_weights import promising
from hypothesis import example, given, settings
from hypothesis import strategies as st
from problems.shop import shop
from support.exported import assert_golden, changed, demo, equal_shares, mixed

from sliceplan.solver.api.exporting import export_formats
from sliceplan.solver.formats.cells import as_written
from sliceplan.solver.formats.exports.target import Options
from sliceplan.solver.model.host_cores import parse_host_cores
from sliceplan.solver.model.labels import in_comment
from sliceplan.solver.model.visible import unseen

IMAGES = {"": "registry.example/${TAG}/{{ .Values.image }}"}
HOSTILE = "'写真' \"{{ .Values.x }}\" {% y %} ${HOME} $(id) %n <%= z %> \\"
TEXTS = (
    st.text(st.sampled_from("写a \\\"'{%#$(<@`;}&|!*:-?[]>,~=+") | st.characters(), min_size=1, max_size=12)
    .map(str.strip)
    .filter(lambda text: text and not unseen(text))
)
EXPRESSION = re.compile(r"\{\{|\{%|\{#|\$\S|<%|#\{|@\{")


@cache
def made():
    """Returns for each file what it is made by, with the plan's labels to be set: format, plan, options, file."""
    kube, routed = changed(equal_shares(), lambda data: data["gpus"].pop()), promising(demo(), "random")
    options = {"images": IMAGES, "memory": {"": "2Gi"}, "hosts": {"n1": parse_host_cores(lscpu()[0], "n1.lscpu")}}
    unit = "n1/sliceplan-ranker@1.service.d/sliceplan.conf"
    config = "video-thumbs-3g-40gb-b46x2/video-thumbs/config.pbtxt"
    return {
        "deployments.yaml": ("deployments", kube, {"images": IMAGES}, "deployments.yaml"),
        "claims.yaml": ("dra", mixed(), {}, "claims.yaml"),
        "http-routes.yaml": ("http-routes", routed, {}, "http-routes.yaml"),
        "istio.yaml": ("istio", routed, {}, "istio.yaml"),
        "clusters.yaml": ("envoy", routed, {}, "clusters.yaml"),
        "upstreams.conf": ("nginx", routed, {}, "upstreams.conf"),
        "backends.cfg": ("haproxy", routed, {}, "backends.cfg"),
        "table.csv": ("csv", mixed(), {}, None),
        "cores.sh": ("docker-cores", on_cores(*PARTS), options, "n1.sh"),
        "cores.yaml": ("kubernetes-cores", on_cores(*PARTS), options, "deployments.yaml"),
        "service.conf": ("systemd-cores", on_cores(*PARTS), options, unit),
        "node.sh": ("commands", demo(), {}, None),
        "config.pbtxt": ("triton", demo(), {"problem": shop()}, config),
    }


def service_of(file, plan):
    """Returns the service that is labelled: the first, or the one that the file is of."""
    if file == "config.pbtxt":
        return "video-thumbs"
    return next(one.workload for gpu in plan.gpus for part in gpu.partitions for one in part.serves)


def export_of(file, labels):
    name, plan, options, path = made()[file]
    found = export_formats()[name].export(plan.called(labels), Options(source="p", **options)).files
    return found[path] if path else next(iter(found.values()))


@cache
def bare_of(file):
    return export_of(file, {})


@cache
def bare_documents(file):
    return list(yaml.safe_load_all(bare_of(file)))


def exports(label):
    """Yields each file, the service that is labelled, the text with the label, and without."""
    for file, (_, plan, _, _) in made().items():
        service = service_of(file, plan)
        yield file, service, export_of(file, {service: label}), bare_of(file)


def test_files_with_a_hostile_label_are_the_golden_ones():
    for file, _, text, _ in exports(HOSTILE):
        assert_golden(f"labelled-{file}", text.replace("\r\n", "\n"))


def labels_in(value):
    """Yields what stands beside the key of a label, at any depth."""
    if isinstance(value, dict):
        for key, one in value.items():
            if key in ("sliceplan/label", "label"):
                yield one
            else:
                yield from labels_in(one)
    elif isinstance(value, list):
        for one in value:
            yield from labels_in(one)


def without_labels(value):
    if isinstance(value, dict):
        rest = {key: without_labels(one) for key, one in value.items()}
        if rest.get("filter_metadata"):
            return None
        told = ("sliceplan/label", "sliceplan/shares", "metadata") if "load_assignment" in rest else ()
        return {key: one for key, one in rest.items() if key not in ("sliceplan/label", "sliceplan/shares", *told)}
    return [without_labels(one) for one in value] if isinstance(value, list) else value


@settings(max_examples=20)
@given(TEXTS)
@example("$")
@example("$0")
def test_a_label_is_read_as_it_was_typed_and_changes_nothing_else(label):
    """Property: YAML and CSV read it back; all others are the same files without their comments, whatever it is."""
    for file, service, text, bare in exports(label):
        begun = {one[0] for one in map(EXPRESSION.findall, text.splitlines()) if one}
        # A table is for spreadsheets, which read every cell as it stands.
        assert file.endswith(".csv") or begun <= {
            one[0] for one in map(EXPRESSION.findall, bare.splitlines()) if one
        }, file
        if file.endswith(".yaml"):
            documents, others = list(yaml.safe_load_all(text)), bare_documents(file)
            assert set(labels_in(documents)) == {label}
            assert without_labels(documents) == without_labels(others)
            assert IMAGES[""] in text or file != "deployments.yaml"
        elif file.endswith(".csv"):
            rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
            assert {as_written(row["label"]) for row in rows if row["workload"] == service} == {label}
            assert {row["label"] for row in rows if row["workload"] != service} <= {""}
        elif file == "service.conf":
            told, *_ = re.findall("Description=(.*)", text)
            assert "%" not in told.replace("%%", "")
            assert bare_lines(text) == ["[Unit]", f"Description={told}", *bare_lines(bare)]
        else:
            assert bare_lines(text) == bare_lines(bare), file
            assert in_comment({service: label}, service) in text


def bare_lines(text):
    return [line for line in text.split("\n") if not line.startswith("#") and line]


def test_without_a_label_a_file_is_as_it_was():
    """The other golden files hold that, which have none."""
    for _, _, text, bare in exports("x y"):
        assert text != bare
        assert "x y" not in bare


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_reads_a_hostile_description(tmp_path):
    service = "ranker"
    plan = on_cores(*PARTS).called({service: HOSTILE})
    text, _ = lscpu()
    for path, unit in files("systemd-cores", plan, text).items():
        target = tmp_path / path.removeprefix("n1/")
        target.parent.mkdir(exist_ok=True)
        target.write_text(unit)
    template = tmp_path / f"sliceplan-{service}@.service"
    template.write_text("[Service]\nExecStart=/bin/true\n")
    command = ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", f"sliceplan-{service}@1.service"]
    env = {"SYSTEMD_UNIT_PATH": f"{tmp_path}:", "SYSTEMD_LOG_LEVEL": "warning", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, cwd=tmp_path)
    assert [line for line in done.stderr.splitlines() if "sliceplan" in line] == []
