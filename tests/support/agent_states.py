"""Node states drawn at random from what MIG and MPS allow, and transitions between them."""

from dataclasses import replace

from hypothesis import strategies as st

from sliceplan.agent.devices.simulated.node import AT_ONCE_S, SimulatedNode
from sliceplan.agent.model.device_error import DeviceError
from sliceplan.agent.model.node import GpuState, Instance, Service, in_order, unused
from sliceplan.agent.model.steps import CreateInstance, steps_between
from sliceplan.solver.model.catalogue import load_catalogue

GPUS = ["A100-80GB", "A30-24GB", "H100-80GB-SXM", "RTX-PRO-6000-96GB", "V100-SXM2-16GB"]
"""Ampere and later, with and without MIG."""

NAMES = [("a", 1), ("a", 2), ("b", 1), ("c", 1)]


def node_pairs():
    """Draws a current and a desired state of a node with one to three GPUs."""
    return st.randoms(use_true_random=False).map(random_pair)


def random_pair(random):
    """Returns a current and a desired state; half of the GPUs keep a part of what they have."""
    gpus = random.choices(GPUS, k=random.randint(1, 3))
    current = {index: random_state(random, gpu) for index, gpu in enumerate(gpus)}
    return current, {index: _successor(random, state) for index, state in current.items()}


def random_live(random, state):
    """Returns what the driver reports of a node in a state, or on its way there or from there to another one."""
    node = SimulatedNode.in_state(state)
    if random.random() < 0.3:
        elsewhere = {index: random_state(random, gpu.gpu) for index, gpu in state.items()}
        steps = steps_between(node.state(), elsewhere, list(state))
        for step in steps[: random.randint(0, len(steps))]:
            try:
                node.apply(step, AT_ONCE_S)
            except DeviceError:
                break
    return node.state()


def random_state(random, gpu):
    """Returns a state of a GPU: unused, used whole, shared by MPS, or cut by MIG where it has MIG."""
    mig = load_catalogue()[gpu].mig
    match random.choice(["none", "whole", "mps", "mig", "mig"] if mig else ["none", "whole", "mps"]):
        case "none":
            return GpuState(gpu, mig_enabled=False)
        case "whole":
            service = Service("a", processes=random.randint(1, 3), batch=random.choice([1, 8]))
            return GpuState(gpu, mig_enabled=False, services=frozenset({service}))
        case "mps":
            return GpuState(gpu, mig_enabled=False, services=_shares(random, gpu))
        case _:
            return _cut(random, GpuState(gpu, mig_enabled=True))


def _successor(random, state):
    if random.random() < 0.5 or not (state.instances or state.services):
        return random_state(random, state.gpu)
    services = frozenset(one for one in in_order(state.services) if random.random() < 0.6)
    if not state.mig_enabled:
        return replace(state, services=services) if services else unused(state)
    instances = frozenset(one for one in sorted(state.instances) if random.random() < 0.6)
    starts = {one.start for one in instances}
    kept = frozenset(one for one in services if one.start in starts)
    return _cut(random, replace(state, instances=instances, services=kept))


def _shares(random, gpu):
    """Returns services behind the MPS daemon of a GPU, often as many processes as it takes clients."""
    clients = load_catalogue()[gpu].mps_client_limit(None)
    names = random.sample(NAMES, random.randint(1, len(NAMES)))
    drawn = []
    for number, (workload, replica) in enumerate(names, 1):
        processes = random.randint(1, clients - (len(names) - number))
        clients -= processes
        percent = random.choice([100 / 54, 12.5, 37.5, 100.0])
        drawn.append(Service(workload, None, replica, processes, sm_percent=percent))
    return frozenset(drawn)


def _cut(random, state):
    """Returns a state in MIG mode with instances added in a random order wherever the driver lets them."""
    node = SimulatedNode.in_state({0: state})
    profiles = load_catalogue()[state.gpu].mig.profiles
    places = [(profile.name, start) for profile in profiles for start in profile.starts]
    for name, start in random.choices(places, k=random.randint(0, 8)):
        try:
            node.apply(CreateInstance(0, name, start), AT_ONCE_S)
        except DeviceError:
            continue
    instances = frozenset(Instance(one.start, one.profile) for one in node.state()[0].instances)
    added = [
        Service(random.choice(["a", "b"]), one.start, processes=random.randint(1, 3))
        for one in sorted(instances - state.instances)
        if random.random() < 0.6
    ]
    return replace(state, instances=instances, services=state.services | frozenset(added))
