"""Node states drawn at random from what MIG and MPS allow."""

from dataclasses import replace

from hypothesis import strategies as st

from sliceplan.agent.devices.device import DeviceError
from sliceplan.agent.devices.simulated.node import AT_ONCE_S, SimulatedNode
from sliceplan.agent.node import GpuState, Instance, Service
from sliceplan.agent.steps import CreateInstance
from sliceplan.solver.model.catalogue import load_catalogue

GPUS = ["A100-80GB", "A30-24GB", "H100-80GB-SXM", "RTX-PRO-6000-96GB", "V100-SXM2-16GB"]
"""Ampere and later, with and without MIG."""

NAMES = [("a", 1), ("a", 2), ("b", 1), ("c", 1)]


@st.composite
def gpu_states(draw, gpu):
    """Draws a state of a GPU: unused, used whole, shared by MPS, or cut by MIG where it has MIG."""
    mig = load_catalogue()[gpu].mig
    sharing = draw(st.sampled_from(["none", "whole", "mps", "mig"] if mig else ["none", "whole", "mps"]))
    if sharing == "none":
        return GpuState(gpu, mig_enabled=False)
    if sharing == "whole":
        service = Service("a", processes=draw(st.integers(1, 3)), batch=draw(st.sampled_from([1, 8])))
        return GpuState(gpu, mig_enabled=False, services=frozenset({service}))
    if sharing == "mps":
        return GpuState(gpu, mig_enabled=False, services=draw(shares(load_catalogue()[gpu].mps_client_limit(None))))
    return draw(cut_states(gpu, mig))


@st.composite
def shares(draw, clients):
    """Draws services behind the MPS daemon of a GPU, often as many processes as it takes clients."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True))
    drawn = []
    for number, (workload, replica) in enumerate(names, 1):
        processes = draw(st.integers(1, clients - (len(names) - number)))
        clients -= processes
        percent = draw(st.sampled_from([100 / 54, 12.5, 37.5, 100.0]))
        drawn.append(Service(workload, None, replica, processes, sm_percent=percent))
    return frozenset(drawn)


@st.composite
def cut_states(draw, gpu, mig):
    """Draws a state in MIG mode: instances are added in a random order wherever the simulated node lets them."""
    node = SimulatedNode.in_state({0: GpuState(gpu, mig_enabled=True)})
    places = [(profile.name, start) for profile in mig.profiles for start in profile.starts]
    for name, start in draw(st.lists(st.sampled_from(places), max_size=10)):
        try:
            node.apply(CreateInstance(0, name, start), AT_ONCE_S)
        except DeviceError:
            continue
    instances = sorted(Instance(one.start, one.profile) for one in node.state()[0].instances)
    service = st.builds(Service, st.sampled_from(["a", "b"]), processes=st.integers(1, 3))
    services = [replace(one, start=i.start) for i in instances if (one := draw(st.none() | service)) is not None]
    return GpuState(gpu, True, frozenset(instances), frozenset(services))


@st.composite
def node_pairs(draw):
    """Draws a current and a desired state of a node with one to three GPUs."""
    gpus = draw(st.lists(st.sampled_from(GPUS), min_size=1, max_size=3))
    current = {index: draw(gpu_states(gpu)) for index, gpu in enumerate(gpus)}
    desired = {index: draw(gpu_states(gpu)) for index, gpu in enumerate(gpus)}
    return current, desired
