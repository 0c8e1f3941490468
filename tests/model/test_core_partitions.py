"""What a CPU can be divided into, against putting partitions down in every place there is."""

from collections import Counter
from itertools import combinations_with_replacement
from random import Random

import pytest
from oracles.cores_oracle import empty_cpus, fits
from problems.cpu_draws import TREES, allowed

from sliceplan.solver.model.core_partitions import CoreTree, allowed_cores, starts_of
from sliceplan.solver.performance.core_divisions import (
    TooManyDivisionsError,
    domain_cuts,
    even_divisions,
    maximal_divisions,
    outer_divisions,
)


def multisets(tree, sizes):
    """Returns all multisets of sizes, descending, that have no more cores than the CPU."""
    total = tree[0] * tree[1] * tree[2]
    most = total // min(sizes)
    some = (one for n in range(1, most + 1) for one in combinations_with_replacement(sorted(sizes, reverse=True), n))
    return [one for one in some if sum(one) <= total]


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_sizes_are_those_of_the_rule(tree):
    known = CoreTree(*tree)
    total = tree[0] * tree[1] * tree[2]
    assert [cores for cores in range(-1, total + 3) if known.level(cores) is not None] == allowed(tree)


@pytest.mark.parametrize("tree", [one for one in TREES if one != (2, 2, 3)], ids=str)
def test_what_fits_is_placed_and_what_does_not_is_not(tree):
    known = CoreTree(*tree)
    for wanted in multisets(tree, allowed(tree)):
        starts = starts_of(known, wanted)
        assert (starts is not None) == fits(empty_cpus(tree, 1), wanted, tree[0]), wanted
        if starts is None:
            continue
        runs = [set(range(start, start + cores)) for start, cores in zip(starts, wanted, strict=True)]
        assert sum(map(len, runs)) == len(set().union(*runs)) <= tree[0] * tree[1] * tree[2]
        assert all(known.stands_well(start, cores) for start, cores in zip(starts, wanted, strict=True))


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_every_division_is_part_of_a_listed_one_and_those_fit(tree):
    for sizes in (tuple(allowed(tree)), tuple(allowed(tree)[1::2]), (allowed(tree)[-1],)):
        if not sizes:
            continue
        listed = maximal_divisions(CoreTree(*tree), sizes)
        assert all(fits(empty_cpus(tree, 1), one, tree[0]) for one in listed)
        counts = [Counter(one) for one in listed]
        assert not any(one < other for one in counts for other in counts)
        for wanted in multisets(tree, sizes):
            if fits(empty_cpus(tree, 1), wanted, tree[0]):
                assert any(Counter(wanted) <= one for one in counts), wanted


def test_a_run_of_cores_stands_within_a_domain_or_is_whole_ones_of_a_node_or_whole_nodes():
    tree = CoreTree(4, 2, 2)
    well = {(start, cores) for start in range(-1, 17) for cores in range(18) if tree.stands_well(start, cores)}
    within = {(d * 4 + at, cores) for d in range(4) for at in range(4) for cores in range(1, 5 - at)}
    assert well == within | {(0, 8), (8, 8), (0, 16)}


def test_too_many_divisions_are_not_listed():
    with pytest.raises(TooManyDivisionsError):
        maximal_divisions(CoreTree(64, 1, 1), tuple(range(1, 65)))


def test_the_rule_in_words():
    assert allowed_cores(CoreTree(64, 1, 1)) == "1 to 64"
    assert allowed_cores(CoreTree(4, 16, 1)) == (
        "1 to 4 (within an L3 domain), 8 to 64 in steps of 4 (whole L3 domains)"
    )
    assert allowed_cores(CoreTree(4, 2, 2)).endswith("16 to 16 in steps of 8 (whole NUMA nodes)")


@pytest.mark.parametrize("tree", TREES, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_at_any_prices_no_division_is_worth_more_than_an_even_one(tree, seed):
    draw = Random(seed)
    sizes = tuple(draw.sample(allowed(tree), draw.randint(1, len(allowed(tree)))))
    even, every = even_divisions(CoreTree(*tree), sizes), maximal_divisions(CoreTree(*tree), sizes)
    assert all(fits(empty_cpus(tree, 1), one, tree[0]) for one in even)
    for _ in range(5):
        price = {size: draw.choice([0, draw.random(), size * draw.uniform(0.8, 1.2)]) for size in sizes}
        worth = [max(sum(price[size] for size in one) for one in divisions) for divisions in (even, every)]
        assert worth[0] == pytest.approx(worth[1])


@pytest.mark.parametrize("tree", [(3, 2, 1), (4, 2, 1), (2, 2, 2), (3, 1, 2), (2, 2, 3)], ids=str)
def test_cpus_hold_what_their_outer_divisions_and_the_cuts_of_their_domains_do(tree):
    """Every multiset that fits on a CPU is an outer division, and what is left is cut from as many domains."""
    known, sizes = CoreTree(*tree), tuple(allowed(tree))
    cuts = [Counter(cut) for cut in domain_cuts(known, sizes)]
    outer = dict(outer_divisions(known, sizes))
    for wanted in multisets(tree, sizes):
        small = tuple(one for one in wanted if one <= tree[0])
        left = outer.get(tuple(one for one in wanted if one > tree[0]))
        by_parts = left is not None and cut_from(small, cuts, left)
        assert by_parts == fits(empty_cpus(tree, 1), wanted, tree[0]), wanted


def cut_from(wanted, cuts, domains):
    """Tells whether partitions are part of so many cuts together, by trying all."""
    return (
        any(Counter(wanted) <= sum(some, Counter()) for some in combinations_with_replacement(cuts, domains))
        or not wanted
    )


def test_what_may_be_too_many_is_said_to_be():
    with pytest.raises(TooManyDivisionsError):
        domain_cuts(CoreTree(64, 1, 1), tuple(range(1, 65)))
    with pytest.raises(TooManyDivisionsError):
        outer_divisions(CoreTree(1, 64, 1), tuple(range(1, 65)))
    assert len(even_divisions(CoreTree(8, 12, 1), tuple(range(1, 9)))) == 22  # the ways to divide 8
