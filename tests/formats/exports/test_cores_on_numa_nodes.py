"""Cores of a CPU with several NUMA nodes (NPS4): whose memory a partition has, and what the kubelet is told."""

import re

import pytest
import yaml
from formats.exports.test_cores import files, on_cores, part
from problems.cpu_draws import small_cpu
from stand_ins.lscpu import lscpu

from sliceplan.solver.check.cores import wrong_cores
from sliceplan.solver.formats.exports.assign import NodeSupply, assign
from sliceplan.solver.model.catalogue import load_cpus
from sliceplan.solver.model.division import wrong_gpus
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.host_cores import parse_host_cores, sockets_of, unlike

CPU = "EPYC-9654-NPS4"
HOST, OWNED = lscpu(nodes=4)
"""Two sockets, nodes 0 to 3 and 4 to 7, of 24 cores in three L3 domains each."""

IN_A_DOMAIN, A_NODE, TWO_NODES = part("ranker", 24, 8), part("spam", 0, 24), part("avatars", 48, 48)


def of_units(made, name):
    return [re.search(f"^{name}=(.*)$", text, re.MULTILINE)[1] for file, text in made.items() if ".conf" in file]


def test_each_process_has_the_memory_of_the_nodes_where_its_cores_are():
    plan = on_cores((IN_A_DOMAIN, A_NODE, TWO_NODES), (part("faces", 72, 16),), cpu=CPU)
    assert list(wrong_gpus(plan)) == []
    units = files("systemd-cores", plan, HOST)
    found = dict(zip(of_units(units, "AllowedCPUs"), of_units(units, "AllowedMemoryNodes"), strict=True))
    assert found == {
        "24-31,216-223": "1",
        "0-23,192-215": "0",
        "48-95,240-287": "2-3",
        "168-183,360-375": "7",
    }
    (script,) = files("docker-cores", plan, HOST).values()
    assert sorted(re.findall("--cpuset-mems (\\S+)", script)) == ["0", "1", "2-3", "7"]


@pytest.mark.parametrize(
    ("parts", "policy"),
    [((IN_A_DOMAIN, A_NODE), "single-numa-node"), ((IN_A_DOMAIN, TWO_NODES), "best-effort")],
)
def test_the_kubelet_keeps_pods_on_one_node_unless_one_has_whole_nodes(parts, policy):
    kubelet = yaml.safe_load(files("kubernetes-cores", on_cores(parts, cpu=CPU), HOST)["n1.kubelet.conf"])
    assert kubelet["topologyManagerPolicy"] == policy


@pytest.mark.parametrize(
    ("start", "cores"),
    [(16, 16), (0, 32), (24, 40), (12, 24), (20, 8)],
    ids=["domains of two nodes", "a node and a domain", "a node and two domains", "halves", "parts of two domains"],
)
def test_a_partition_across_nodes_is_whole_nodes_or_is_refused_by_both_rules(start, cores):
    plan = on_cores((part("spam", start, cores),), cpu=CPU)
    assert list(wrong_gpus(plan))
    assert list(wrong_cores(plan.gpus[0]))
    with pytest.raises(InputError):
        files("systemd-cores", plan, HOST)


def test_no_partition_is_on_two_sockets():
    """A plan has each socket as a CPU of its own, and a partition is of one of them."""
    plan = on_cores((part("spam", 72, 48),), cpu=CPU)
    assert any("96" in text for _, text in wrong_cores(plan.gpus[0]))
    placed = assign(on_cores((A_NODE,), (TWO_NODES,), cpu=CPU), [NodeSupply("n2", 2, CPU)])
    assert [(one.node, one.index) for one in placed.gpus] == [("n2", 0), ("n2", 1)]


def test_the_memory_that_partitions_count_on_is_never_more_than_their_nodes_have():
    cpu = small_cpu((8, 3, 4), memory_gib=384)
    for cores in (*range(1, 9), 16, 24, 48, 72, 96):
        nodes = max(1, cores // cpu.node_cores)
        alike = nodes * cpu.node_cores // cores
        assert alike * cpu.memory_of(cores) <= nodes * cpu.memory_mib / 4 + 1e-9
    assert cpu.memory_of(48) == 2 * 96 * 1024


@pytest.mark.parametrize("name", ["EPYC-9654", "EPYC-7763"])
def test_a_cpu_with_more_nodes_is_the_same_but_for_these(name):
    one, four = (load_cpus()[cpu].model_dump() for cpu in (name, f"{name}-NPS4"))
    assert {key for key in one if one[key] != four[key]} == {"name", "numa_nodes"}
    assert (one["numa_nodes"]["value"], four["numa_nodes"]["value"]) == (1, 4)


def test_a_host_with_another_number_of_nodes_than_planned_is_refused():
    with pytest.raises(InputError, match=r"has 1 NUMA node\(s\) of 96 cores; EPYC-9654-NPS4 is planned with 4 of 24"):
        files("docker-cores", on_cores((A_NODE,), cpu=CPU), lscpu()[0])


def test_an_l3_cache_that_the_kernel_shows_for_the_whole_socket_counts_by_nodes():
    """As with Intel's sub-NUMA clusters: one cache in the listing, of which each node uses its slices."""
    text, _ = lscpu(sockets=1, cores=48, domain=48, nodes=2)
    (cores,) = sockets_of(parse_host_cores(text, "n1.lscpu"))
    assert list(unlike(cores, small_cpu((24, 1, 2)))) == []
    assert list(unlike(cores, small_cpu((12, 2, 2)))) == ["has L3 caches of 24 cores; those of Small-12x2x2 have 12"]
