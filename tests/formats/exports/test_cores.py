"""Cores of a plan as systemd, Docker and Kubernetes take them: the very CPUs of the host, or a refusal."""

import csv
import io
import os
import re
import shutil
import subprocess

import kubernetes_validate
import pytest
import yaml
from stand_ins.lscpu import lscpu
from support.exported import assert_golden, changed, demo, exported

from sliceplan.solver.formats.exports.assign import NodeSupply, assign
from sliceplan.solver.formats.exports.planned_gpus import CPUS_APART
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.host_cores import cpu_list, parse_host_cores

IMAGES = {"": "registry.example/server:1"}
MEMORY = {"": "2Gi"}
FORMATS = ("systemd-cores", "docker-cores", "kubernetes-cores")


def part(workload, start, cores, processes=1):
    """Returns a partition of a CPU."""
    served = demo().gpus[0].partitions[0].serves[0].model_dump(mode="json")
    served |= {"workload": workload, "batch": 1, "processes": processes, "dispatch_after_ms": None}
    whole = {"mig_profile": None, "start": start, "sm_percent": None, "duty_cycle_ms": None, "cores": cores}
    return {**whole, "serves": [served]}


PARTS = ((part("ranker", 0, 4), part("ranker", 4, 4), part("Avatars", 8, 16, 2)), (part("spam", 24, 2),))


def on_cores(*parts, cpu="EPYC-9654", gpus=0):
    """Returns a plan with CPUs 0, 1, ... of one node, and as many GPUs of the demo beside them."""

    def edit(data):
        cpus = [
            {"id": f"{cpu}/{i}", "gpu": cpu, "node": "n1", "index": i, "sharing": "cores", "partitions": list(one)}
            for i, one in enumerate(parts)
        ]
        beside = [{**one, "node": "n1"} for one in data["gpus"][:gpus]]
        data.update(gpus=[*beside, *cpus], gpus_used=len(cpus) + gpus)

    return changed(demo(), edit)


def files(name, plan, text, **options):
    """Returns the files of a format for a host."""
    hosts = {"n1": parse_host_cores(text, "n1.lscpu")}
    return exported(name, plan, **{"images": IMAGES, "memory": MEMORY, "hosts": hosts, **options}).files


def numbers(text):
    """Returns what a list of CPUs says."""
    runs = [run.split("-") for run in text.split(",")]
    return {cpu for run in runs for cpu in range(int(run[0]), int(run[-1]) + 1)}


def containers(script, tmp_path):
    """Runs a script with a `docker` that writes down its words; returns those of each call."""
    stub = tmp_path / "docker"
    stub.write_text('#!/bin/sh\nprintf "%s\\n" "$@" >> "$0.log"\necho END >> "$0.log"\n')
    stub.chmod(0o755)
    subprocess.run(["sh", "-eu", "-c", script], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, check=True)
    calls = (tmp_path / "docker.log").read_text().split("END\n")[:-1]
    return [call.splitlines() for call in calls]


@pytest.mark.parametrize(
    "host",
    [{}, {"sockets_in_turns": True}, {"new": True}, {"threads": 1, "cpu": "EPYC-9R14"}, {"sockets": 3}],
    ids=str,
)
def test_every_process_gets_the_cpus_of_its_cores_however_the_host_numbers_them(host, tmp_path):
    cpu = host.get("cpu", "EPYC-9654")
    text, owned = lscpu(**{key: value for key, value in host.items() if key != "cpu"})
    plan = on_cores(*PARTS, cpu=cpu)
    expected = [
        (one["serves"][0]["workload"].lower().split("-")[0], {c for core in range(one["start"], one["start"] +
          one["cores"]) for c in owned[socket, core]}, one["cores"] // one["serves"][0]["processes"])
        for socket, parts in enumerate(PARTS) for one in parts for _ in range(one["serves"][0]["processes"])
    ]  # fmt: skip
    (script,) = files("docker-cores", plan, text).values()
    calls = containers(script, tmp_path)
    assert len(calls) == len(expected) == 5
    for words, (name, cpus, threads) in zip(calls, expected, strict=True):
        assert words[:3] == ["run", "--detach", "--name"]
        assert words[3].startswith(f"sliceplan-{name}-")
        assert numbers(words[words.index("--cpuset-cpus") + 1]) == cpus
        assert f"OMP_NUM_THREADS={threads}" in words
        assert words[-1] == IMAGES[""]
    assert len({words[3] for words in calls}) == len(calls)
    drop_ins = [one for name, one in files("systemd-cores", plan, text).items() if name.endswith(".conf")]
    allowed = [numbers(re.search("^AllowedCPUs=(.*)$", one, re.MULTILINE)[1]) for one in drop_ins]
    assert allowed == [cpus for _, cpus, _ in expected]


def test_memory_is_of_the_numa_nodes_of_the_cores():
    text, _ = lscpu(sockets=2, cores=64, domain=64, threads=1, sockets_in_turns=True)
    plan = on_cores((part("a", 0, 4),), (part("b", 0, 64),), cpu="Graviton3")
    (script,) = files("docker-cores", plan, text).values()
    assert re.findall("--cpuset-mems (\\S+)", script) == ["0", "1"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="takes systemd-analyze (apt install systemd)")
def test_systemd_takes_the_units_and_finds_nothing_wrong(tmp_path):
    made = files("systemd-cores", on_cores(*PARTS), lscpu()[0])
    for name, text in made.items():
        path = tmp_path / name.removeprefix("n1/")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        if path.name.endswith(".target"):
            target = path
        else:
            template = f"{path.parent.name.partition('@')[0]}@.service"
            (tmp_path / template).write_text("[Service]\nExecStart=/bin/true\n")
    wanted = re.findall("Wants=(.*)", target.read_text())
    assert len(wanted) == 5
    env = {**os.environ, "SYSTEMD_UNIT_PATH": f"{tmp_path}:", "SYSTEMD_LOG_LEVEL": "warning"}
    command = ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", target, *wanted]
    done = subprocess.run(command, env=env, capture_output=True, text=True, cwd=tmp_path)
    said = [line for line in done.stderr.splitlines() if str(tmp_path) in line or "sliceplan" in line]
    assert said == []
    broken = tmp_path / f"{wanted[0]}.d" / "sliceplan.conf"
    broken.write_text(broken.read_text().replace("AllowedCPUs=", "AllowedCPUs=x"))
    done = subprocess.run(command, env=env, capture_output=True, text=True, cwd=tmp_path)
    assert "Failed to parse" in done.stderr


def test_pods_are_guaranteed_and_ask_for_whole_cores_and_what_is_left_is_reserved():
    text, owned = lscpu()
    made = files("kubernetes-cores", on_cores(*PARTS), text)
    pods = list(yaml.safe_load_all(made["deployments.yaml"]))
    asked = {}
    for one in pods:
        for version in ("1.34", "1.37"):
            kubernetes_validate.validate(one, version, strict=True)
        (container,) = one["spec"]["template"]["spec"]["containers"]
        assert container["resources"]["requests"] == container["resources"]["limits"]
        assert container["resources"]["limits"]["memory"] == "2Gi"
        workload = one["metadata"]["annotations"]["sliceplan/workload"]
        asked[workload] = (container["resources"]["limits"]["cpu"], one["spec"]["replicas"])
        assert one["metadata"]["annotations"]["sliceplan/cpu"] == "EPYC-9654"
        names = [variable["name"] for variable in container["env"]]
        assert len(set(names)) == len(names)
    assert asked == {"Avatars": ("32", 1), "ranker": ("8", 2), "spam": ("4", 1)}
    assert next(iter(asked)) == "Avatars"
    kubelet = yaml.safe_load(made["n1.kubelet.conf"])
    planned = {(0, core) for core in range(24)} | {(1, 24), (1, 25)}
    reserved = numbers(kubelet.pop("reservedSystemCPUs"))
    assert reserved == {cpu for core, cpus in owned.items() if core not in planned for cpu in cpus}
    assert kubelet == {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "cpuManagerPolicy": "static",
        "cpuManagerPolicyOptions": {"full-pcpus-only": "true", "prefer-align-cpus-by-uncorecache": "true"},
        "topologyManagerPolicy": "single-numa-node",
    }


def test_files_are_the_golden_ones():
    plan = on_cores(*PARTS)
    text, _ = lscpu()
    assert_golden("cores.sh", files("docker-cores", plan, text)["n1.sh"])
    assert_golden("cores.target", files("systemd-cores", plan, text)["n1/sliceplan-cores.target"])
    assert_golden("cores.yaml", files("kubernetes-cores", plan, text)["deployments.yaml"])


def test_what_cannot_be_said_is_refused_with_what_would_work():
    plan, (text, _) = on_cores(*PARTS), lscpu()
    for name in FORMATS:
        with pytest.raises(InputError, match=r"--lscpu: is missing for n1: .* run `lscpu -p > n1.lscpu` there"):
            files(name, plan, text, hosts={})
        with pytest.raises(InputError, match=r"gpus has no CPUs, .* take --format commands"):
            files(name, demo(), text)
    with pytest.raises(InputError, match="is missing for ranker, Avatars, spam; give --memory SIZE"):
        files("kubernetes-cores", plan, text, memory={})
    with pytest.raises(InputError, match="two gigs is no size"):
        files("kubernetes-cores", plan, text, memory={"": "two gigs"})
    full = on_cores((part("a", 0, 96),), (part("b", 0, 96),))
    with pytest.raises(InputError, match=r"node n1 has a service on every core, .* take systemd-cores"):
        files("kubernetes-cores", full, text)
    assert files("systemd-cores", full, text)
    homeless = changed(plan, lambda data: [one.update(node=None, index=None) for one in data["gpus"]])
    with pytest.raises(InputError, match=r"not assigned to nodes: EPYC-9654/0, EPYC-9654/1; run: sliceplan assign"):
        files("docker-cores", homeless, text)


@pytest.mark.parametrize(
    ("host", "said"),
    [
        ({"cores": 64}, "has 64 cores; EPYC-9654 has 96"),
        ({"threads": 1}, "has 1 threads a core; EPYC-9654 is planned with 2"),
        ({"nodes": 4}, r"has 4 NUMA node\(s\) of 24 cores; EPYC-9654 is planned with 1 of 96"),
        ({"domain": 16}, "has L3 caches of 16 cores; those of EPYC-9654 have 8"),
        ({"sockets": 1}, "socket 1 is not there: the host shows 1; the plan uses its CPU 1, a EPYC-9654"),
    ],
)
def test_a_host_that_is_not_what_was_planned_is_refused(host, said):
    with pytest.raises(InputError, match=said):
        files("docker-cores", on_cores(*PARTS), lscpu(**host)[0])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no column CPU; expected the output of `lscpu -p`"),
        ("Architecture: x86_64\n", "has no column CPU"),
        ("# CPU,Core,Socket,Node\n", "lists no CPU"),
        ("# CPU,Core,Socket,Node\n0,0,0,\n", "line 2 has NODE ''; expected a whole number below 65,536"),
        ("# CPU,Core,Socket,Node\n0,0,0,0\n0,1,0,0\n", "line 3 has CPU 0 twice"),
        ("# CPU,Core,Socket,Node\n0,0,0,0\n1,0,0,1\n", "line 3 .* or a core of two nodes or caches"),
    ],
)
def test_what_is_no_listing_of_cores_is_refused(text, said):
    with pytest.raises(InputError, match=said):
        parse_host_cores(text, "n1.lscpu")


def test_gpus_beside_the_cpus_stay_apart():
    plan = on_cores(*PARTS, gpus=2)
    made = exported("docker-cores", plan, images=IMAGES, hosts={"n1": parse_host_cores(lscpu()[0], "n1")})
    assert any("GPUs of the plan are not in these files" in one for one in made.warnings)
    gpus = changed(demo(), lambda data: data.update(gpus=[{**one, "node": "n1"} for one in data["gpus"][:2]]))
    for name in ("mig-parted", "node-labels", "mig-manager", "deployments", "dra"):
        made, alone = exported(name, plan, images=IMAGES), exported(name, gpus, images=IMAGES)
        assert made.files == alone.files
        assert made.warnings == (*alone.warnings, CPUS_APART)
    for name in ("mig-parted", "nginx", "triton"):
        with pytest.raises(InputError, match="systemd-cores, docker-cores and kubernetes-cores export the CPUs"):
            exported(name, on_cores(*PARTS) if name == "mig-parted" else plan)


def test_the_table_has_gpus_and_cores():
    (text,) = exported("csv", on_cores(*PARTS, gpus=1)).files.values()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    cores = [
        (row["gpu_id"], row["workload"], row["cores"], row["first_core"]) for row in rows if row["sharing"] == "cores"
    ]
    assert cores == [
        ("EPYC-9654/0", "ranker", "4", "0"),
        ("EPYC-9654/0", "ranker", "4", "4"),
        ("EPYC-9654/0", "Avatars", "16", "8"),
        ("EPYC-9654/1", "spam", "2", "24"),
    ]
    assert {(row["cores"], row["start_memory_slice"] != "") for row in rows if row["sharing"] == "mig"} == {("", True)}


def test_a_node_is_given_its_gpus_and_its_cpus():
    plan = changed(on_cores(*PARTS, gpus=1), lambda data: [one.update(node=None, index=None) for one in data["gpus"]])
    gpu = plan.gpus[0].gpu
    assigned = assign(plan, [NodeSupply("n1", 8, gpu), NodeSupply("n1", 2, "EPYC-9654")])
    assert [(one.node, one.index) for one in assigned.gpus] == [("n1", 0), ("n1", 0), ("n1", 1)]
    with pytest.raises(InputError, match="n1 is named twice"):
        assign(plan, [NodeSupply("n1", 8, gpu), NodeSupply("n1", 2, gpu)])


def test_lists_of_cpus_are_written_as_linux_does():
    assert cpu_list([5, 3, 4, 9, 11, 10, 0]) == "0,3-5,9-11"
    assert cpu_list([7]) == "7"
