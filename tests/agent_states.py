"""Node states drawn at random from what MIG allows."""

from hypothesis import strategies as st

from sliceplan.agent.devices.device import DeviceError
from sliceplan.agent.devices.simulated import SimulatedNode
from sliceplan.agent.node import GpuState, Instance, Share
from sliceplan.agent.steps import CreateInstance
from sliceplan.solver.model.catalogue import load_catalogue


@st.composite
def gpu_states(draw, gpu):
    """Draws a state of a GPU: unused, shared by MPS, or cut by MIG where it has MIG."""
    mig = load_catalogue()[gpu].mig
    sharing = draw(st.sampled_from(["none", "mps", "mig"] if mig else ["none", "mps"]))
    if sharing == "none":
        return GpuState(gpu, mig_enabled=False)
    if sharing == "mps":
        return GpuState(gpu, mig_enabled=False, shares=draw(shares(load_catalogue()[gpu].mps_client_limit(None))))
    return draw(cut_states(gpu, mig))


@st.composite
def shares(draw, clients):
    """Draws services behind the MPS daemon of a GPU, often as many processes as it takes clients."""
    services = draw(st.lists(st.sampled_from([("a", 1), ("a", 2), ("b", 1), ("c", 1)]), min_size=1, unique=True))
    drawn = []
    for number, (workload, replica) in enumerate(services, 1):
        processes = draw(st.integers(1, clients - (len(services) - number)))
        clients -= processes
        percent = draw(st.sampled_from([100 / 54, 12.5, 37.5, 100.0]))
        drawn.append(Share(workload, percent, processes, replica))
    return frozenset(drawn)


@st.composite
def cut_states(draw, gpu, mig):
    """Draws a state in MIG mode: instances are added in a random order wherever the simulated node lets them."""
    node = SimulatedNode.in_state({0: GpuState(gpu, mig_enabled=True)})
    places = [(profile.name, start) for profile in mig.profiles for start in profile.starts]
    for name, start in draw(st.lists(st.sampled_from(places), max_size=10)):
        try:
            node.apply(CreateInstance(0, name, start))
        except DeviceError:
            continue
    instances = sorted(node.state()[0].instances)
    processes = draw(st.lists(st.integers(1, 3), min_size=len(instances), max_size=len(instances)))
    return GpuState(
        gpu, True, frozenset(Instance(i.start, i.profile, n) for i, n in zip(instances, processes, strict=True))
    )


@st.composite
def node_pairs(draw):
    """Draws a current and a desired state of a node with one to three GPUs."""
    names = st.sampled_from(["A100-80GB", "A30-24GB", "H100-80GB-SXM", "RTX-PRO-6000-96GB", "V100-SXM2-16GB"])
    gpus = draw(st.lists(names, min_size=1, max_size=3))
    current = {index: draw(gpu_states(gpu)) for index, gpu in enumerate(gpus)}
    desired = {index: draw(gpu_states(gpu)) for index, gpu in enumerate(gpus)}
    return current, desired
