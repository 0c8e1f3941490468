"""States of CPUs drawn at random from what their L3 domains and NUMA nodes allow."""

from sliceplan.agent.devices.simulated.core_rules import simulated_cpus
from sliceplan.agent.model.core_services import CoreService, CpuState
from sliceplan.agent.model.core_steps import running_name
from sliceplan.agent.model.live import LiveCpu, RunningOnCores
from sliceplan.solver.model.catalogue import load_cpus
from sliceplan.solver.model.core_partitions import CoreTree

CPU = "EPYC-9654"

TREES = {name: CoreTree.of(cpu) for name, cpu in load_cpus().items()}


def cores_state(*services, cpu=CPU):
    """Returns the state of a CPU with services."""
    return CpuState(cpu, frozenset(services))


def live_cpu(kind, services, random=None, found_on=None, healthy=None):
    """Returns a CPU that runs services, by names in their order or in a random one."""
    (cpu,) = simulated_cpus([kind]).values()
    ordered = sorted(services)
    if random is not None:
        random.shuffle(ordered)
    running, names = [], []
    for one in ordered:
        names.append(running_name(one.workload, 0, names))
        state = (healthy or {}).get(names[-1])
        running.append(RunningOnCores(names[-1], one, (1,), state, (found_on or {}).get(names[-1])))
    return LiveCpu(cpu.cores, tuple(running))


def random_services(random, kind, full=False):
    """Returns services on cores that may be partitions; on all of them where wanted."""
    tree = TREES[kind]
    total = tree.node * tree.nodes
    sizes = [cores for cores in range(1, total + 1) if tree.level(cores)]
    small = [cores for cores in sizes if cores <= 2 * tree.domain]
    drawn, at = [], 0
    while at < total:
        fitting = [one for one in (small if random.random() < 0.9 else sizes) if tree.stands_well(at, one)]
        cores = random.choice(fitting)
        if full or random.random() < 0.6:
            drawn.append(CoreService(random.choice("abc"), at, cores, random.choice([1, 1, 2])))
        at += cores
    return frozenset(drawn)
