"""What only the device behind NVML does: sessions, tools, errors in words, the driver's list of profiles."""

import os
import sys
import time
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import pynvml
import pytest

from sliceplan.agent.devices.nvml import node as nvml_node
from sliceplan.agent.devices.nvml.node import NvmlNode
from sliceplan.agent.devices.nvml.profiles import catalogue_differences, driver_profiles
from sliceplan.agent.devices.nvml.reading import SeenProcess, mig_mode, read_gpu
from sliceplan.agent.devices.nvml.session import opened, within
from sliceplan.agent.model.device_error import DeviceError
from sliceplan.agent.model.live import RunningService
from sliceplan.agent.model.node import Service, Slot, slot_name
from sliceplan.agent.model.steps import (
    CreateComputeInstance,
    CreateInstance,
    DestroyComputeInstance,
    ResetGpu,
    SetMigMode,
    StartMps,
    StartService,
    StopMps,
    StopService,
)
from sliceplan.agent.services.launch import SlotDevice
from sliceplan.agent.system import processes
from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.driver_names import CATALOGUE_NAMES, SAME_NAME, catalogue_name
from sliceplan.solver.model.errors import MissingExtraError

T = 10.0
HOPPER, AMPERE = "H100-80GB-SXM", "A100-80GB"
MIG_GPUS = [name for name, gpu in load_catalogue().items() if gpu.mig]


def do(node, *steps):
    for step in steps:
        node.device.apply(step, T)
    return node.device.state()


def refused(node, step):
    with pytest.raises(DeviceError) as caught:
        node.device.apply(step, T)
    return caught.value


def test_no_session_stays_open(nvml_node):
    node = nvml_node(HOPPER)
    do(node, SetMigMode(0, True), CreateInstance(0, "1g.10gb", 0))
    refused(node, CreateInstance(0, "1g.10gb", 0))
    assert node.nvml.sessions == 0
    assert node.nvml.opened > 3


def test_only_the_gpu_that_waits_is_reset_and_by_its_uuid(nvml_node):
    node = nvml_node(AMPERE, AMPERE)
    state = do(node, SetMigMode(1, True), ResetGpu(0), ResetGpu(1), ResetGpu(1))
    assert node.calls() == [f"nvidia-smi -i {state[1].uuid} --gpu-reset"]
    assert (state[0].mig_enabled, state[1].mig_enabled) == (False, True)


def test_a_reset_that_fails_says_what_the_tool_said_and_what_to_do(nvml_node):
    node = nvml_node(AMPERE)
    (node.folder / "no-reset").touch()
    do(node, SetMigMode(0, True))
    error = refused(node, ResetGpu(0))
    assert "GPU is in use by fabric manager" in error.message
    assert "reboot" in error.hint


def test_a_reset_of_a_gpu_in_use_is_not_even_tried(nvml_node):
    node = nvml_node(AMPERE)
    do(node, SetMigMode(0, True))
    node.attach(0, None, 31337)
    assert refused(node, ResetGpu(0)).pids == (31337,)
    assert node.calls() == []


@pytest.mark.parametrize(
    ("number", "hint"), [(4, "Run the agent as root"), (18, "reboot the node"), (15, "fell off the bus")]
)
def test_errors_come_with_their_name_and_what_to_do(nvml_node, number, hint):
    node = nvml_node(HOPPER)
    node.nvml.fail["nvmlDeviceSetMigMode"] = number
    error = refused(node, SetMigMode(0, True))
    assert error.number == number
    assert hint in str(error)


def test_a_node_without_driver_says_so(nvml_node):
    node = nvml_node(HOPPER)
    node.nvml.fail["nvmlInitWithFlags"] = pynvml.NVML_ERROR_LIBRARY_NOT_FOUND
    with pytest.raises(DeviceError, match="This node has no NVIDIA driver"):
        node.device.state()


def test_a_node_without_the_binding_names_what_to_install(nvml_node, monkeypatch):
    node = nvml_node(HOPPER)
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(MissingExtraError, match=r"sliceplan\[agent\]"):
        node.device.state()


def test_a_call_that_hangs_is_given_up():
    with pytest.raises(DeviceError, match=r"no answer within 0\.05 s"):
        within(0.05, "NVML", lambda: time.sleep(0.5))


def test_an_older_driver_gives_no_names_and_is_understood_all_the_same(nvml_node):
    node = nvml_node(HOPPER, old=True)
    steps = [SetMigMode(0, True), CreateInstance(0, "1g.10gb+me", 0), CreateComputeInstance(0, "1g.10gb+me", 0)]
    (instance,) = do(node, *steps)[0].instances
    assert instance.profile == "1g.10gb+me"
    assert instance.uuid


def test_an_instance_with_a_small_compute_instance_is_not_usable(nvml_node):
    node = nvml_node(HOPPER)
    do(node, SetMigMode(0, True), CreateInstance(0, "3g.40gb", 4))
    simulated = node.nvml.node
    gpu = simulated.state()[0]
    half = replace(gpu.instances[0], ci_ids=(0, 1))
    simulated._put(0, replace(gpu, instances=(half,)))
    (instance,) = node.device.state()[0].instances
    assert (instance.ci_ids, instance.uuid) == ((0, 1), None)


@pytest.mark.parametrize("gpu", MIG_GPUS)
def test_the_catalogue_agrees_with_a_driver_that_lists_it(nvml_node, gpu):
    nvml_node(gpu)
    with opened() as nvml:
        found = driver_profiles(nvml, nvml.nvmlDeviceGetHandleByIndex(0), gpu)
    assert list(catalogue_differences(gpu, found)) == []
    there = catalogue_differences(gpu, found[1:])
    assert list(there) == [f"{found[0].name} is in the catalogue, and this driver does not offer it"]
    more = [*found, replace(found[0], name="9g.90gb")]
    assert list(catalogue_differences(gpu, more)) == ["9g.90gb is offered by this driver, and not in the catalogue"]


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("profile_id", 99, "profile id 19 in the catalogue, 99 by the driver"),
        ("compute_slices", 2, "compute slices 1 in the catalogue, 2 by the driver"),
        ("max_count", 6, "instances at most 7 in the catalogue, 6 by the driver"),
        ("sm_count", 14, "SMs 16 in the catalogue, 14 by the driver"),
        ("starts", (0, 2, 4), "starts 0, 1, 2, 3, 4, 5, 6 in the catalogue, 0, 2, 4 by the driver"),
        ("size", 2, "size 1 in the catalogue, 2 by the driver"),
    ],
)
def test_each_fact_in_which_driver_and_catalogue_differ_is_named(nvml_node, field, value, text):
    nvml_node(HOPPER)
    with opened() as nvml:
        found = driver_profiles(nvml, nvml.nvmlDeviceGetHandleByIndex(0), HOPPER)
    assert found[0].name == "1g.10gb"
    changed = [replace(found[0], **{field: value}), *found[1:]]
    assert list(catalogue_differences(HOPPER, changed)) == [f"1g.10gb: {text}"]


def test_what_an_older_driver_does_not_say_is_no_difference(nvml_node):
    nvml_node(HOPPER)
    with opened() as nvml:
        found = driver_profiles(nvml, nvml.nvmlDeviceGetHandleByIndex(0), HOPPER)
    assert list(catalogue_differences(HOPPER, [replace(one, starts=None, size=None) for one in found])) == []


def test_a_driver_that_knows_fewer_kinds_of_profiles_is_asked_for_no_more(nvml_node):
    node = nvml_node(HOPPER)
    node.nvml.kinds = 5
    with opened() as nvml:
        found = driver_profiles(nvml, nvml.nvmlDeviceGetHandleByIndex(0), HOPPER)
    assert {profile.name for profile in found} == {"1g.10gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"}


def test_every_name_of_the_driver_leads_to_a_gpu_of_the_catalogue():
    assert {*CATALOGUE_NAMES.values(), *(gpu for gpus in SAME_NAME.values() for gpu in gpus)} == set(load_catalogue())
    assert catalogue_name("NVIDIA A100 80GB PCIe") == "A100-80GB"
    assert catalogue_name("Tesla T4") == "T4"
    assert catalogue_name("Tesla V100-SXM2-32GB") == "V100-SXM2-32GB"
    assert catalogue_name("NVIDIA B300 SXM6 AC") == "B300-270GB"
    assert catalogue_name("NVIDIA GH200 144G HBM3e") == "GH200-144GB"
    assert catalogue_name("NVIDIA XYZ") == "XYZ"


def test_types_of_one_name_are_told_apart_by_their_memory(nvml_node):
    assert catalogue_name("NVIDIA GB200") == "GB200"
    assert catalogue_name("NVIDIA GB200", 189471) == "GB200"
    assert catalogue_name("NVIDIA GB200", 193200) == "GB200-189GB"
    node = nvml_node("GB200-189GB")
    with opened() as nvml:
        assert read_gpu(nvml, 0).gpu == "GB200-189GB"
    node.nvml.fail["nvmlDeviceGetMemoryInfo"] = pynvml.NVML_ERROR_NO_PERMISSION
    with opened() as nvml:
        assert read_gpu(nvml, 0).gpu == "GB200"


def test_a_daemon_alone_gets_the_uuid_and_its_defaults_are_set_at_each_start(nvml_node):
    node = nvml_node(HOPPER, defaults={"active_thread_percentage": 62.5, "pinned_memory_mib": 1024})
    uuid = node.device.state()[0].uuid
    folder = node.folder / "run/mps/gpu0"
    for _ in range(2):
        do(node, StartMps(0, None), StopMps(0, None))
    tell = f"tell {folder}/pipe unset"
    once = [
        f"start {uuid} {folder}/pipe {folder}/log",
        f"{tell} set_default_active_thread_percentage 62.5",
        f"{tell} set_default_device_pinned_mem_limit 0 1024M",
        f"{tell} quit",
    ]
    assert node.calls() == [*once, *once]


def test_a_daemon_that_waits_for_clients_is_made_to_quit(nvml_node):
    node = nvml_node(HOPPER)
    do(node, StartMps(0, None))
    (node.folder / "hang").touch()
    node.device.apply(StopMps(0, None), 1.0)
    assert node.calls()[-1].endswith("quit -t 1")
    assert node.mps.running() == {}


def test_a_client_is_taken_off_the_daemon_before_it_is_killed(nvml_node):
    node = nvml_node(HOPPER)
    do(node, StartMps(0, None))
    (node.folder / "clients").write_text("77\n78\n")
    node.mps.terminate_clients(Slot(0), [78, 79])
    assert [call.split(" ", 3)[3] for call in node.calls()[1:]] == [
        "get_server_list",
        "get_client_list 4242",
        "terminate_client 4242 78",
    ]


def test_the_agents_own_processes_are_no_clients_of_others(nvml_node):
    node = nvml_node("V100-SXM2-16GB")
    service = Service("bert")
    (running,) = do(node, StartService(0, service))[0].services
    node.attach(0, None, running.pids[0])
    node.attach(0, None, 1)
    assert [one.pid for one in node.device.state()[0].clients] == [1]
    node.detach(0, running.pids[0])
    do(node, StopService(0, service))


@pytest.mark.parametrize(("healthy", "starts"), [(None, False), (True, False), (False, True)])
def test_a_service_that_runs_is_not_started_twice_and_one_that_is_not_healthy_anew(monkeypatch, healthy, starts):
    started, one, device = [], Service("a"), SlotDevice("GPU-1", None, None)
    running = {Slot(0): [RunningService(one, (7,), healthy)]}
    services = SimpleNamespace(running=lambda: running, start=lambda *given: started.append(given))
    node = NvmlNode(None, services)
    monkeypatch.setattr(node, "_device", lambda _slot: device)
    if starts:
        node._start_service(Slot(0), one)
    else:
        with pytest.raises(DeviceError, match="GPU 0: a on the whole GPU runs already"):
            node._start_service(Slot(0), one)
    assert started == [(Slot(0), one, device)] * starts


def test_a_driver_that_accepts_a_mig_mode_and_does_not_switch_is_found_out(nvml_node, monkeypatch):
    node = nvml_node(HOPPER)
    monkeypatch.setattr(node.nvml, "DeviceSetMigMode", lambda *_: pynvml.NVML_SUCCESS)
    error = refused(node, SetMigMode(0, True))
    assert error.message == "GPU 0: MIG mode cannot be switched on: the driver accepted it, and did not do it"


def test_who_holds_a_device_file_is_found(tmp_path):
    held = tmp_path / "nvidia0"
    held.touch()
    with held.open():
        assert list(processes.holders([str(held)])) == [os.getpid()]
    assert list(processes.holders([str(held)])) == []


def test_an_instance_is_read_back_in_a_new_session(nvml_node):
    """A session that was opened before does not see MIG devices that were made later."""
    node = nvml_node(HOPPER)
    with opened():
        do(node, SetMigMode(0, True), CreateInstance(0, "1g.10gb", 0), CreateComputeInstance(0, "1g.10gb", 0))
        assert node.device.state()[0].instance(0).uuid is None
    assert node.device.state()[0].instance(0).uuid
    do(node, DestroyComputeInstance(0, "1g.10gb", 0))


@pytest.mark.parametrize(
    ("start", "minor", "held"), [(None, 3, [1, 2, 9]), (None, None, [1, 2]), (4, 3, [1]), (0, 3, [])]
)
def test_who_has_the_device_file_open_holds_the_gpu_and_none_of_its_instances(monkeypatch, start, minor, held):
    seen = (SeenProcess(1, 4), SeenProcess(2, None), SeenProcess(os.getpid(), 4))
    gpu = SimpleNamespace(minor=minor, processes=seen)
    for name, found in (("opened", nullcontext()), ("said", nullcontext()), ("read_gpu", gpu)):
        monkeypatch.setattr(nvml_node, name, lambda *_, found=found: found)
    monkeypatch.setattr(nvml_node.processes, "holders", lambda files: [9] if files == ["/dev/nvidia3"] else files)
    assert NvmlNode(None, None)._holders(0, start)() == held


@pytest.mark.parametrize(
    ("start", "mig", "device"),
    [
        (None, False, SlotDevice("GPU-1", None, None)),
        (4, True, SlotDevice("GPU-1", "MIG-4", None)),
        (0, True, SlotDevice("GPU-1", "MIG-0", "/mps/gpu0-start0")),
        (None, True, "GPU 0 is in MIG mode; only its instances are used"),
        (2, True, "GPU 0: there is no usable instance at 2"),
        (5, True, "GPU 0: there is no usable instance at 5"),
    ],
)
def test_the_device_of_a_slot_is_the_gpu_or_the_instance_that_starts_there(monkeypatch, start, mig, device):
    instances = tuple(SimpleNamespace(start=at, uuid=uuid) for at, uuid in ((0, "MIG-0"), (2, None), (4, "MIG-4")))
    gpu = SimpleNamespace(uuid="GPU-1", mig_enabled=mig, instances=instances)
    for name, found in (("opened", nullcontext()), ("said", nullcontext()), ("read_gpu", gpu)):
        monkeypatch.setattr(nvml_node, name, lambda *_, found=found: found)
    mps = SimpleNamespace(running=lambda: {"gpu0-start0": 7}, folder=lambda slot: f"/mps/{slot_name(slot)}")
    node = NvmlNode(mps, None)
    if isinstance(device, SlotDevice):
        assert node._device(Slot(0, start)) == device
    else:
        with pytest.raises(DeviceError, match=device):
            node._device(Slot(0, start))


@pytest.mark.parametrize(("start", "told"), [(0, [7]), (4, [])])
def test_clients_of_a_daemon_are_taken_off_it_before_they_are_killed_and_no_others(start, told):
    taken = []
    mps = SimpleNamespace(running=lambda: {"gpu0-start0": 7}, terminate_clients=lambda _, pids: taken.extend(pids))
    services = SimpleNamespace(stop=lambda _slot, _service, _timeout_s, before_kill: before_kill([7]))
    NvmlNode(mps, services)._stop_service(Slot(0, start), Service("a", start), T)
    assert taken == told


def test_a_gpu_that_has_no_mig_has_its_mode_off_now_and_after_a_reset():
    def refuses(number):
        def mode(_handle):
            raise pynvml.NVMLError(number)

        return SimpleNamespace(
            nvmlDeviceGetMigMode=mode,
            NVMLError=pynvml.NVMLError,
            NVML_ERROR_NOT_SUPPORTED=pynvml.NVML_ERROR_NOT_SUPPORTED,
        )

    assert mig_mode(refuses(pynvml.NVML_ERROR_NOT_SUPPORTED), None) == (False, False)
    with pytest.raises(pynvml.NVMLError):
        mig_mode(refuses(pynvml.NVML_ERROR_GPU_IS_LOST), None)
    for current, pending in ((1, 0), (0, 1)):
        nvml = SimpleNamespace(nvmlDeviceGetMigMode=lambda _, modes=(current, pending): modes, NVMLError=ValueError)
        assert mig_mode(nvml, None) == (bool(current), bool(pending))
