"""The steps on a CPU: what they reach, and that no core is given twice on the way, by an oracle of cores alone."""

from random import Random

import pytest
from support.agent_core_states import CPU, TREES, cores_state, live_cpu, random_services

from sliceplan.agent.devices.simulated.core_rules import simulated_cpus
from sliceplan.agent.model.core_services import CoreService, CpuState, logical_cpus
from sliceplan.agent.model.core_steps import (
    CheckOnCores,
    MoveToCores,
    StartOnCores,
    StopOnCores,
    core_steps_between,
    running_name,
)
from sliceplan.agent.model.step_text import describe

FACTS = {"EPYC-9654": (96, 8, 96), "Xeon-8275CL": (24, 24, 24), "Threadripper-3990X": (64, 4, 64)}
"""Type -> cores, those of an L3 domain, those of a NUMA node; said here again, for the oracle."""


def owners(cpu):
    """Returns core of the plan -> logical CPUs, from the host's own numbers."""
    return {number: set(core.cpus) for number, core in enumerate(cpu.cores)}


def numbers(text):
    runs = [run.split("-") for run in text.split(",")]
    return {cpu for run in runs for cpu in range(int(run[0]), int(run[-1]) + 1)}


def replayed(cpu, steps, kind):
    """Carries steps out on sets of logical CPUs; returns what has which at the end, and who was never stopped."""
    total, domain, node = FACTS[kind]
    of_core, held, there = owners(cpu), {}, set()
    for one in cpu.services:
        held[one.name] = set().union(*(of_core[core] for core in one.service.held))
        there.add(one.name)
    for step in steps:
        if isinstance(step, StopOnCores):
            del held[step.name]
            there.discard(step.name)
        elif isinstance(step, StartOnCores | MoveToCores):
            assert isinstance(step, MoveToCores) == (step.name in held)
            mine = numbers(step.cpus)
            assert mine == set().union(*(of_core[core] for core in range(step.service.start, step.service.held.stop)))
            for name, others in held.items():
                assert name == step.name or not mine & others, f"{step} has CPUs of {name}"
            # Within an L3 domain; or whole ones within a NUMA node; or whole nodes.
            cores = step.service.held
            assert cores.stop <= total
            if cores.start // domain != (cores.stop - 1) // domain:
                assert cores.start % domain == cores.stop % domain == 0
            if cores.start // node != (cores.stop - 1) // node:
                assert cores.start % node == cores.stop % node == 0
            held[step.name] = mine
    return held, there


@pytest.mark.parametrize("kind", FACTS)
def test_no_core_is_given_twice_on_the_way_from_any_state_to_any_other(kind):
    random = Random(kind)
    stopped = 0
    for _ in range(40):
        full = random.random() < 0.6
        cpu = live_cpu(kind, random_services(random, kind, full), random)
        wanted = random_services(random, kind, full) if random.random() < 0.4 else shuffled(random, kind, cpu)
        steps = core_steps_between(0, cpu, CpuState(kind, wanted))
        held, there = replayed(cpu, steps, kind)
        of_core = owners(cpu)
        expected = sorted(sorted(set().union(*(of_core[core] for core in one.held))) for one in wanted)
        assert sorted(map(sorted, held.values())) == expected
        settings = {step.name: step.service for step in steps if not isinstance(step, StopOnCores)}
        known = {one.name: one.service for one in cpu.services} | settings
        assert {known[name] for name in held} == wanted
        same = {one.name for one in cpu.services if one.service in wanted}
        assert same.isdisjoint(step.name for step in steps)
        checked = [step.name for step in steps if isinstance(step, CheckOnCores)]
        assert checked == [step.name for step in steps if isinstance(step, StartOnCores)]
        stopped += len({one.name for one in cpu.services} - there)
        assert core_steps_between(0, live_cpu(kind, wanted), CpuState(kind, wanted)) == []
    assert stopped, "the oracle has seen services that had to stop"


def shuffled(random, kind, cpu):
    """Returns the services of a CPU in other places of their sizes, if all of them find one by chance."""
    services = sorted((one.service for one in cpu.services), key=lambda one: -one.cores)
    placed = []
    for one in services:
        tree = TREES[kind]
        starts = [at for at in range(tree.node * tree.nodes) if tree.stands_well(at, one.cores)]
        random.shuffle(starts)
        free = (at for at in starts if all(at >= two.held.stop or at + one.cores <= two.start for two in placed))
        start = next(free, None)
        if start is not None:
            placed.append(CoreService(one.workload, start, one.cores, one.processes, one.batch))
    return frozenset(placed)


def moves(*places, wanted, kind="EPYC-9654"):
    """Returns the steps of services a, b, ... from places (start, cores) to others."""
    here = [CoreService(name, *place) for name, place in zip("abcdef", places, strict=False)]
    there = frozenset(CoreService(name, *place) for name, place in wanted)
    return core_steps_between(0, live_cpu(kind, here), CpuState(kind, there))


def texts(steps):
    return [describe(step) for step in steps]


def test_a_ring_of_moves_goes_by_way_of_free_cores():
    steps = moves((0, 4), (4, 4), wanted=[("a", (4, 4)), ("b", (0, 4))])
    assert texts(steps) == [
        "move b at core 4 to cores 8-11, while it runs",
        "move a at core 0 to cores 4-7, while it runs",
        "move b at core 8 to cores 0-3, while it runs",
    ]


def test_a_ring_on_a_full_cpu_stops_the_smallest_and_starts_it_again():
    rest = [(start, 8) for start in range(16, 96, 8)]
    filled = [CoreService(f"x{start}", start, size) for start, size in rest]
    here = [*filled, CoreService("a", 0, 8), CoreService("b", 8, 8)]
    there = frozenset([*filled, CoreService("a", 8, 8), CoreService("b", 0, 8)])
    steps = core_steps_between(0, live_cpu("EPYC-9654", here), CpuState("EPYC-9654", there))
    assert texts(steps) == [
        "stop b on cores 8-15",
        "move a at core 0 to cores 8-15, while it runs",
        "start b on cores 0-7: 1 process, 8 threads each",
        "wait until b on cores 0-7 is healthy",
    ]


def test_moves_wait_for_each_other_in_a_row():
    steps = moves((0, 4), (4, 4), (8, 8), wanted=[("a", (4, 4)), ("b", (8, 4)), ("c", (16, 8))])
    assert [step.name for step in steps] == ["c-cpu0", "b-cpu0", "a-cpu0"]
    assert all(isinstance(step, MoveToCores) for step in steps)


def test_a_service_that_changes_its_settings_starts_anew_and_keeps_no_name_of_another():
    here = [CoreService("a", 0, 4), CoreService("a", 4, 4)]
    there = frozenset([CoreService("a", 0, 4), CoreService("a", 8, 8)])
    steps = core_steps_between(0, live_cpu("EPYC-9654", here), CpuState("EPYC-9654", there))
    assert [(type(step), step.name) for step in steps] == [
        (StopOnCores, "a-cpu0-2"),
        (StartOnCores, "a-cpu0-2"),
        (CheckOnCores, "a-cpu0-2"),
    ]


def test_what_is_not_on_its_cores_any_more_is_confined_again():
    here = live_cpu("EPYC-9654", [CoreService("a", 0, 4)], found_on={"a-cpu0": "CPUs 0-191"})
    (step,) = core_steps_between(0, here, cores_state(CoreService("a", 0, 4)))
    assert describe(step) == "confine a on cores 0-3 to them again, while it runs"
    assert step.cpus == "0-3,96-99"


def test_what_is_not_healthy_stops_and_starts():
    here = live_cpu("EPYC-9654", [CoreService("a", 0, 4)], healthy={"a-cpu0": False})
    steps = core_steps_between(0, here, cores_state(CoreService("a", 0, 4)))
    assert [type(step) for step in steps] == [StopOnCores, StartOnCores, CheckOnCores]


def test_names_are_told_apart_and_the_first_has_no_number():
    assert running_name("a", 1, []) == "a-cpu1"
    assert running_name("a", 1, ["a-cpu1", "a-cpu1-3"]) == "a-cpu1-2"


def test_both_threads_of_a_core_and_its_memory_belong_to_its_service():
    (cpu,) = simulated_cpus([CPU]).values()
    assert logical_cpus(cpu.cores, CoreService("a", 8, 8)) == "8-15,104-111"
