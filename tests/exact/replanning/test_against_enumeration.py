"""Plans around what runs on A30s and T4s, against every choice of what stays and every cover of what is missing."""

from collections import Counter
from dataclasses import dataclass, replace
from itertools import combinations, product
from math import ceil
from random import Random

import pytest
from problems.instances import problem_of

from sliceplan.solver.exact.replanning.kept_plans import total_per_hour
from sliceplan.solver.exact.replanning.replanning import _ReplanningProgram, solve_replanning
from sliceplan.solver.exact.replanning.running import RunningGpu, RunningPartition
from sliceplan.solver.model.profile import MeasuredPoint, Profile, Provenance
from sliceplan.solver.performance.resolve import resolve

SLICES = {"1g.6gb": 1, "2g.12gb": 2, "4g.24gb": 4}
LAYOUTS = [
    ((0, "4g.24gb"),),
    ((0, "2g.12gb"), (2, "2g.12gb")),
    ((0, "2g.12gb"), (2, "1g.6gb"), (3, "1g.6gb")),
    ((0, "1g.6gb"), (1, "1g.6gb"), (2, "2g.12gb")),
    ((0, "1g.6gb"), (1, "1g.6gb"), (2, "1g.6gb"), (3, "1g.6gb")),
]
NAMES = (*SLICES, "whole")
A30, T4 = "A30-24GB", "T4"
USD = {A30: 2.35, T4: 1.3}


@dataclass(frozen=True)
class Case:
    """A problem, what runs, and who moves anyway."""

    resolved: object
    running: tuple
    anyway: frozenset


def drawn(seed):
    draw = Random(seed)
    services = draw.choice((1, 2, 2, 3))
    sizes = [name for name in SLICES if draw.random() < 0.8] or ["2g.12gb"]
    profiles, workloads = [], []
    for w in range(services):
        scale = draw.choice((0.4, 90.0))
        points = [
            MeasuredPoint(
                mig_profile=name,
                batch=1,
                processes=1,
                latency_ms=5.0,
                throughput_rps=round(scale * SLICES[name] ** draw.uniform(0.6, 1.1), 4),
            )
            for name in sizes
        ]
        source = Provenance(source="drawn", method="random")
        profiles.append(Profile(model=f"m{w}", gpu=A30, provenance=source, points=tuple(points)))
        if draw.random() < 0.7:
            rate = round(scale * draw.uniform(0.8, 2.5), 4)
            whole = MeasuredPoint(sm_percent=100, batch=1, processes=1, latency_ms=5.0, throughput_rps=rate)
            profiles.append(Profile(model=f"m{w}", gpu=T4, provenance=source, points=(whole,)))
        workload = {"model": f"m{w}", "rate_rps": round(scale * draw.uniform(0.3, 6), 3), "slo_ms": 1000.0}
        if draw.random() < 0.4:
            workload["max_replicas"] = draw.choice((2, 3, 4))
        if draw.random() < 0.4:
            workload["min_replicas"] = draw.choice((1, 2))
        workloads.append(workload)
    fleet = [
        {"gpu": gpu, "price_per_hour": USD[gpu], "sharing": [kind]} for gpu, kind in ((A30, "mig"), (T4, "exclusive"))
    ]
    for entry in fleet:
        if draw.random() < 0.5:
            entry["count"] = draw.choice((1, 2, 3, 4))
    draw.shuffle(fleet)
    resolved = resolve(problem_of(workloads, fleet=fleet[: draw.choice((1, 2, 2))]), profiles)
    anyway = frozenset({0}) if services > 1 and draw.random() < 0.3 else frozenset()
    number = {(size.gpu, named(size)): k for k, size in enumerate(resolved.sizes)}
    running = []
    for gpu in draw.choices([entry.gpu.name for entry in resolved.fleet], k=draw.choice((1, 2, 3))):
        partitions = []
        for start, name in draw.choice(LAYOUTS) if gpu == A30 else ((None, "whole"),):
            w = draw.randrange(services)
            k = number.get((gpu, name))
            if k is None or resolved.capacity_rps[w, k] == 0 or w in anyway or draw.random() < 0.2:
                continue
            rate = float(resolved.capacity_rps[w, k]) * draw.choice((1.0, 0.7))
            partitions.append(RunningPartition(w, k, start, 1, 1, 5.0, rate, rate))
        running.append(RunningGpu(gpu, tuple(partitions)))
    return Case(resolved, tuple(running), anyway)


def named(size):
    return size.name if size.name in SLICES else "whole"


def room_beside(kept, sizes):
    """Returns the halves of a GPU that are free beside its partitions, and the free slices in no such half."""
    free = set(range(4))
    for one in kept:
        free -= set(range(one.start, one.start + SLICES[sizes[one.size].name]))
    halves = [half for half in ({0, 1}, {2, 3}) if half <= free]
    return len(halves), len(free) - 2 * len(halves)


def more_gpus(needed, room):
    """Returns how many further A30s hold partitions that find no room beside what stays, of each size of theirs."""
    quarters, halves, wholes = needed
    free_halves, free_quarters = (sum(own) for own in zip(*room, strict=True)) if room else (0, 0)
    halves += ceil(max(quarters - free_quarters, 0) / 2)
    return wholes + ceil(max(halves - free_halves, 0) / 2)


def covers(case, w, carried, replicas):
    """Yields the new partitions of a service, beside those that stay, of which none could be left out."""
    resolved, workload = case.resolved, case.resolved.problem.workloads[w]
    of_size = dict.fromkeys(NAMES, 0.0)
    for size, capacity in zip(resolved.sizes, resolved.capacity_rps[w].tolist(), strict=True):
        of_size[named(size)] = capacity
    most = [
        max(ceil(float(resolved.required_rps[w]) / capacity), workload.min_replicas) if capacity else 0
        for capacity in of_size.values()
    ]

    def holds(counts):
        total = carried + sum(n * capacity for n, capacity in zip(counts, of_size.values(), strict=True))
        number = replicas + sum(counts)
        return total >= float(resolved.required_rps[w]) * (1 - 1e-9) and number >= workload.min_replicas

    for counts in product(*(range(number + 1) for number in most)):
        fewer = ((*counts[:k], counts[k] - 1, *counts[k + 1 :]) for k in range(4) if counts[k])
        limit = workload.max_replicas or 99
        if holds(counts) and replicas + sum(counts) <= limit and not any(map(holds, fewer)):
            yield counts


def every_plan(case):
    """Returns for each number of moved services the least cost of the GPUs of a plan; one without is left out."""
    services = range(len(case.resolved.required_rps))
    available = {entry.gpu.name: entry.available for entry in case.resolved.fleet}
    stays = [
        [chosen for size in range(len(gpu.workloads) + 1) for chosen in combinations(gpu.workloads, size)]
        for gpu in case.running
    ]
    found = {}
    for choice in product(*stays):
        kept = [
            (gpu.gpu, [one for one in gpu.partitions if one.workload in chosen])
            for gpu, chosen in zip(case.running, choice, strict=True)
            if chosen
        ]
        moved = case.anyway | {
            w for gpu, chosen in zip(case.running, choice, strict=True) for w in gpu.workloads if w not in chosen
        }
        staying = [one for _, own in kept for one in own]
        sums = {(0, 0, 0, 0)}
        for w in services:
            own = [one.capacity_rps for one in staying if one.workload == w]
            ways = list(covers(case, w, sum(own), len(own)))
            sums = {tuple(map(int.__add__, total, counts)) for total in sums for counts in ways}
        room = [room_beside(own, case.resolved.sizes) for gpu, own in kept if gpu == A30]
        for *of_a30, wholes in sums:
            gpus = {A30: len(room) + more_gpus(of_a30, room), T4: len(kept) - len(room) + wholes}
            if all(available.get(gpu) is None or number <= available[gpu] for gpu, number in gpus.items()):
                cost = sum(USD[gpu] * number for gpu, number in gpus.items())
                found[len(moved)] = min(found.get(len(moved), cost), cost)
    return found


def assert_holds(case, plan):
    """Asserts that a plan keeps all that is asked for, and that it fits beside what it keeps."""
    sizes = case.resolved.sizes
    staying = [one for gpu in plan.kept for one in gpu.kept]
    number, cut = dict.fromkeys(NAMES, 0), dict.fromkeys(NAMES, 0)
    for (_, k), times in plan.partitions.items():
        number[named(sizes[k])] += times
    for w, workload in enumerate(case.resolved.problem.workloads):
        own = [one for one in staying if one.workload == w]
        new = {k: times for (other, k), times in plan.partitions.items() if other == w}
        carried = sum(one.capacity_rps for one in own) + sum(
            times * case.resolved.capacity_rps[w, k] for k, times in new.items()
        )
        assert carried >= case.resolved.required_rps[w] * (1 - 1e-9)
        replicas = len(own) + sum(new.values())
        assert workload.min_replicas <= replicas <= (workload.max_replicas or replicas)
    used = Counter(case.running[one.number].gpu for one in plan.kept)
    for pattern, times in plan.patterns:
        used[pattern.gpu] += times
        for name in pattern.profiles:
            cut[name if name in SLICES else "whole"] += times
    for entry in case.resolved.fleet:
        assert entry.available is None or used[entry.gpu.name] <= entry.available
    assert len({one.number for one in plan.kept}) == len(plan.kept)
    for one in plan.kept:
        assert set(one.kept) <= set(case.running[one.number].partitions)
        if one.kept[0].start is None:
            assert one.added == ()
            continue
        places = [(kept.start, sizes[kept.size].name) for kept in one.kept]
        places += [(place.start, place.profile) for place in one.added]
        taken = [start + i for start, name in places for i in range(SLICES[name])]
        assert len(set(taken)) == len(taken)
        for place in one.added:
            cut[place.profile] += 1
    assert all(number[name] <= there for name, there in cut.items())
    gone = {
        one.workload
        for i, gpu in enumerate(case.running)
        for one in gpu.partitions
        if one not in [kept for own in plan.kept if own.number == i for kept in own.kept]
    }
    assert plan.moved == case.anyway | gone


@pytest.mark.parametrize("seed", range(20))
def test_cost_and_moves_together_are_the_least_of_all_plans(seed):
    """Property: at moves of several prices, and with limits on their number; of equals it is one of fewest moves."""
    case = drawn(seed)
    known = every_plan(case)
    for price, most in ((0.0, None), (0.7, None), (0.7, 1), (0.7, 0), (5.0, None)):
        options = {moves: usd + price * moves for moves, usd in known.items() if most is None or moves <= most}
        found = solve_replanning(
            case.resolved, case.running, case.anyway, move_price=price, most_moves=most, time_limit_s=20
        )
        if not options:
            assert (found.stopped, found.kept, found.patterns, found.least) == ("infeasible", None, None, None)
            continue
        least = min(options.values())
        assert found.stopped == "proved"
        assert found.least == pytest.approx(least)
        assert_holds(case, found)
        assert total_per_hour(case.resolved, case.running, found, price) == pytest.approx(least)
        assert len(found.moved) == min(moves for moves, total in options.items() if total <= least * (1 + 1e-9))


@pytest.mark.parametrize("seed", range(6))
def test_a_known_plan_and_a_known_bound_change_no_answer(seed):
    """Property: whatever the plan costs that it begins with; without a solution of its own it is that plan."""
    case = drawn(seed)
    first = solve_replanning(case.resolved, case.running, case.anyway, move_price=5.0, time_limit_s=20)
    plain = solve_replanning(case.resolved, case.running, case.anyway, move_price=0.2, time_limit_s=20)
    if first.kept is None:
        assert plain.kept is None
        return
    bound = total_per_hour(case.resolved, case.running, replace(plain, moved=frozenset()), 0.0)
    found = solve_replanning(
        case.resolved, case.running, case.anyway, move_price=0.2, known_bound=bound, start=first, time_limit_s=20
    )
    assert (found.stopped, found.least, len(found.moved)) == ("proved", plain.least, len(plain.moved))
    program = _ReplanningProgram(case.resolved, case.running)
    values = program.values(plain)
    assert all(one.lower_bound <= value <= one.upper_bound for one, value in values.items())
    again = program.decoded(values, plain.stopped, "", None, case.anyway)
    assert {one.number: one.kept for one in again.kept} == {one.number: one.kept for one in plain.kept}
    assert (dict(again.patterns), again.partitions) == (dict(plain.patterns), plain.partitions)
    assert again.moved == plain.moved
    # A bound that no plan can have leaves it without a solution.
    far = solve_replanning(
        case.resolved, case.running, case.anyway, known_bound=100 * bound, most_moves=0, start=first, time_limit_s=20
    )
    assert far.stopped == "infeasible" or far.least >= 99 * bound
    if far.stopped == "infeasible":
        assert (far.kept, far.patterns, far.partitions) == (first.kept, first.patterns, first.partitions)


@pytest.mark.parametrize(("least", "runs"), [(1, 0), (2, 0), (3, 1), (2, 2)])
def test_a_small_rate_has_as_many_partitions_as_are_asked_for_those_that_run_included(least, runs):
    point = {"mig_profile": "1g.6gb", "batch": 1, "processes": 1, "latency_ms": 5.0, "throughput_rps": 50.0}
    known = {"model": "m", "gpu": A30, "points": [point], "provenance": {"source": "-", "method": "drawn"}}
    service = {"model": "m", "rate_rps": 1.0, "slo_ms": 1000.0, "min_replicas": least}
    fleet = [{"gpu": A30, "price_per_hour": 1.0, "sharing": ["mig"]}]
    resolved = resolve(
        problem_of([service, {**service, "min_replicas": 1}], fleet=fleet), [Profile.model_validate(known)]
    )
    partitions = tuple(RunningPartition(0, 0, start, 1, 1, 5.0, 50.0, 50.0) for start in range(runs))
    running = (RunningGpu(A30, partitions),) if runs else ()
    found = solve_replanning(resolved, running, frozenset(), time_limit_s=20)
    assert found.stopped == "proved"
    assert not found.moved
    assert sum(n for (w, _), n in found.partitions.items() if w == 0) == max(least - runs, 0)
    assert sum(n for (w, _), n in found.partitions.items() if w == 1) == 1
    rates = _ReplanningProgram(resolved, running).rates
    assert [row.name for row in rates] == ["rate_0", "rate_1"], "in which nothing may be missing"
