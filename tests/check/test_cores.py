"""What the partitions of a CPU are worth, and which sets of cores are partitions, against trying all."""

from itertools import product
from random import Random
from types import SimpleNamespace

import pytest

from sliceplan.solver.check.cores import _knapsack, most_worth_of_cores, wrong_cores
from sliceplan.solver.model.catalogue import load_cpus

CPU = sorted(load_cpus())[0]


def fullest(room, of_one, usd):
    """Returns the most that a room is worth by every number of each item."""
    best = 0.0
    for counts in product(*(range(room // units + 1) for units in usd)):
        taken = sum(count * units for count, units in zip(counts, usd, strict=True))
        if taken <= room:
            value = sum(count * own for count, own in zip(counts, usd.values(), strict=True))
            best = max(best, value + (room - taken) * of_one)
    return best


def test_what_fits_into_a_room_is_worth_what_trying_every_number_gives():
    """Property: items of one unit and more, and units that are worth something themselves."""
    draw = Random(1)
    for _ in range(60):
        room, of_one = draw.randint(0, 8), draw.choice([0.0, draw.uniform(0, 2)])
        usd = {units: draw.uniform(0, 3 * units) for units in draw.sample(range(1, 10), 3)}
        assert _knapsack(room, of_one, usd) == pytest.approx(fullest(room, of_one, usd))


def test_a_cpu_is_worth_its_cores_one_by_one_where_one_core_is_dearest():
    facts = load_cpus()[CPU]
    assert most_worth_of_cores(CPU, {1: 2.0}) == pytest.approx(2.0 * facts.core_count)
    assert most_worth_of_cores(CPU, {facts.core_count: 5.0, 1: 1e-9}) == pytest.approx(5.0)
    assert most_worth_of_cores(CPU, {}) == 0.0


def said(*places, **fields):
    """Returns what is said of a CPU with partitions, each (start, cores)."""
    fields = {"mig_profile": None, "sm_percent": None} | fields
    partitions = [SimpleNamespace(start=start, cores=cores, **fields) for start, cores in places]
    return list(wrong_cores(SimpleNamespace(gpu=CPU, partitions=partitions)))


def test_a_partition_is_part_of_a_domain_or_whole_domains_of_a_node_or_whole_nodes():
    """Every start and number of cores, by what lies in which domain and node."""
    facts = load_cpus()[CPU]
    domain, node, count = facts.domain_cores, facts.node_cores, facts.core_count
    for start, cores in product(range(count + 1), range(1, count + 1)):
        end = start + cores
        within = start // domain == (end - 1) // domain
        domains = start % domain == end % domain == 0 and start // node == (end - 1) // node
        nodes = start % node == end % node == 0
        allowed = end <= count and (within or domains or nodes)
        assert (said((start, cores)) == []) == allowed, (start, cores)


def test_cores_are_given_once_and_stated_as_such():
    assert said((0, 1), (1, 1)) == []
    assert said((0, 2), (1, 1)) == [(1, "has cores that partitions[0] has, too")]
    assert said((None, 1)) == said((0, None)) == [(0, said((None, 1))[0][1])]
    assert "has no cores or no start" in said((None, 1))[0][1]
    for wrong in ({"mig_profile": "1g.10gb"}, {"sm_percent": 50.0}):
        assert [i for i, _ in said((0, 1), **wrong)] == [0]
    assert list(wrong_cores(SimpleNamespace(gpu="none", partitions=[]))) == [(None, "none is no CPU of the catalogue")]


def test_a_size_that_is_no_multiple_of_a_domain_is_no_number_of_domains():
    """Nine cores where eight are a domain are worth nothing: no partition has them."""
    facts = load_cpus()[CPU]
    for cores in (facts.domain_cores + 1, 2 * facts.domain_cores - 1):
        assert most_worth_of_cores(CPU, {cores: 999.0}) == 0.0
    domains = facts.core_count // facts.domain_cores
    assert most_worth_of_cores(CPU, {facts.domain_cores: 3.0}) == pytest.approx(3.0 * domains)
