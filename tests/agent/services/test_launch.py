"""From a template and a slot to words and variables."""

import pytest

from sliceplan.agent.model.node import Service, Slot
from sliceplan.agent.services.launch import SlotDevice, launches, standby_launches, standby_percent
from sliceplan.agent.services.systemd import start_command
from sliceplan.agent.services.template import PLACEHOLDERS, ServiceTemplate, Standby

GPU, MIG = "GPU-1111", "MIG-2222"
WHOLE = SlotDevice(GPU, None, None)
CUT = SlotDevice(GPU, MIG, None)
SHARED = SlotDevice(GPU, None, "/run/sliceplan/mps/gpu0")


def template(**fields):
    return ServiceTemplate.model_validate({"command": ["/bin/serve"], **fields})


def launched(service=None, device=WHOLE, **fields):
    service = service or Service("bert")
    return launches(Slot(0, service.start), service, template(**fields), device, iter(range(9000, 9010)))


def test_every_placeholder_has_a_value():
    words = ["/bin/serve", *(f"{name}={{{name}}}" for name in PLACEHOLDERS)]
    (launch,) = launched(Service("bert", 4, 2, 1, 8), CUT, command=words, ports=[9000, 9009])
    assert dict(word.split("=") for word in launch.argv[1:]) == {
        "workload": "bert",
        "replica": "2",
        "batch": "8",
        "processes": "1",
        "process": "0",
        "gpu_index": "0",
        "slot": "gpu0-start4",
        "device_uuid": MIG,
        "gpu_uuid": GPU,
        "mig_uuid": MIG,
        "cuda_visible_devices": MIG,
        "sm_percent": "100",
        "role": "active",
        "port": "9000",
        "cpu_index": "",
        "cores": "",
        "threads": "",
    }


@pytest.mark.parametrize(("device", "uuid"), [(WHOLE, ""), (CUT, MIG), (SHARED, "")])
def test_where_there_is_no_mig_instance_its_uuid_is_empty(device, uuid):
    (launch,) = launched(device=device, command=["/bin/serve", "{mig_uuid}"])
    assert launch.argv[1] == uuid


def test_a_value_stays_one_word_whatever_it_holds():
    (launch,) = launched(Service("a; reboot {role} $(id)"), command=["/bin/serve", "--name={workload}"])
    assert launch.argv == ("/bin/serve", "--name=a; reboot {role} $(id)")


def test_each_process_has_a_name_and_a_port_of_its_own():
    found = launched(Service("bert", processes=3), ports=[9000, 9009])
    assert [one.unit for one in found] == ["bert-gpu0.0", "bert-gpu0.1", "bert-gpu0.2"]
    assert [one.port for one in found] == [9000, 9001, 9002]


def test_a_command_that_starts_its_processes_itself_is_started_once():
    (launch,) = launched(Service("bert", processes=3), copies="once", command=["/bin/serve", "{processes}"])
    assert (launch.unit, launch.argv[1]) == ("bert-gpu0", "3")


def test_one_process_with_all_instances_has_the_caps_of_all():
    service = Service("bert", processes=3, sm_percent=25.0, memory_mib=1000.5)
    words = ["/bin/serve", "{processes}", "{sm_percent}"]
    (launch,) = launched(service, SHARED, copies="threads", command=words, standby={})
    assert launch.unit == "bert-gpu0"
    assert launch.argv[1:] == ("3", "75")
    assert launch.environment["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] == "75"
    assert launch.environment["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"] == "0=3002M"
    for copies in ("each", "once"):
        for one in launched(service, SHARED, copies=copies, command=words):
            assert one.argv[1:] == ("3", "25")
            assert one.environment["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] == "25"
            assert one.environment["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"] == "0=1001M"
    (cut,) = launched(Service("bert", processes=3), SHARED, copies="threads", command=words)
    assert (cut.argv[1:], "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE" in cut.environment) == (("3", "100"), False)


def test_a_client_of_mps_names_its_daemon_and_no_device():
    (shared,) = launched(Service("bert", sm_percent=37.5, memory_mib=1024.5), SHARED, env={"A": "{batch}"})
    assert shared.environment == {
        "A": "1",
        "CUDA_MPS_PIPE_DIRECTORY": "/run/sliceplan/mps/gpu0/pipe",
        "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "37.5",
        "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": "0=1025M",
        "SLICEPLAN_SERVICE": "bert-gpu0",
    }
    (alone,) = launched(Service("bert"))
    assert alone.environment == {"CUDA_VISIBLE_DEVICES": GPU, "SLICEPLAN_SERVICE": "bert-gpu0"}


@pytest.mark.parametrize(("taken", "percent"), [(60.0, 50.0), (95.0, 45.0), (100.0, 40.0)])
def test_a_standby_process_may_take_ten_points_more_or_what_is_left(taken, percent):
    """iGniter, section 4.2: the smaller of 10 % and the rest of the GPU."""
    assert standby_percent(Service("bert", sm_percent=40.0), taken, Standby()) == percent


def test_standby_processes_share_the_points_that_they_have_more():
    assert standby_percent(Service("bert", processes=4, sm_percent=10.0), 60.0, Standby()) == 12.5
    assert standby_percent(Service("bert", processes=4, sm_percent=10.0), 98.0, Standby()) == 10.5


def test_a_standby_process_differs_in_name_role_and_cap_alone():
    with_standby = template(standby={}, command=["/bin/serve", "{role}"])
    service = Service("bert", sm_percent=40.0)
    (active,) = launches(Slot(0), service, with_standby, SHARED, iter(()))
    (standby,) = standby_launches(Slot(0), service, with_standby, SHARED, iter(()), 60.0)
    assert (active.unit, standby.unit) == ("bert-gpu0", "bert-gpu0.standby")
    assert (active.argv[1], standby.argv[1]) == ("active", "standby")
    assert standby.environment == active.environment | {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "50"}


def test_no_standby_process_where_there_is_no_cap_to_raise():
    assert standby_launches(Slot(0, 4), Service("bert", 4), template(standby={}), CUT, iter(()), 0.0) == []
    assert standby_launches(Slot(0), Service("bert"), template(standby={}), SHARED, iter(()), 0.0) == []
    capped = Service("bert", sm_percent=40.0)
    assert standby_launches(Slot(0), capped, template(), SHARED, iter(()), 40.0) == []
    assert standby_launches(Slot(0), capped, template(standby={}), WHOLE, iter(()), 40.0) == []
    assert len(standby_launches(Slot(0), capped, template(standby={}), SHARED, iter(()), 40.0)) == 1


@pytest.mark.parametrize(
    ("health", "asked"),
    [
        ({"http": "http://127.0.0.1:{port}/{workload}"}, (None, "http://127.0.0.1:9000/bert")),
        ({"command": ["/bin/ask", "{port}", "{workload}"]}, (("/bin/ask", "9000", "bert"), None)),
    ],
)
def test_a_health_check_asks_the_process_that_was_started(health, asked):
    (launch,) = launched(health=health, ports=[9000, 9009])
    assert (launch.health.command, launch.health.http) == asked
    (without,) = launched()
    assert without.health is None


def test_systemd_is_given_words_and_expands_none_of_them():
    (launch,) = launched(command=["/bin/serve", "$HOME", "a b"], user="serve", env={"A": "x y"}, drain_s=5)
    command = start_command(launch)
    assert command[:2] == ["systemd-run", "--unit=sliceplan-bert-gpu0.service"]
    assert command[-4:] == ["--", "/bin/serve", "$$HOME", "a b"]
    assert {"--uid=serve", "--setenv=A=x y", "--property=TimeoutStopSec=5"} <= set(command)


@pytest.mark.parametrize(("processes", "units"), [(1, ["bert-gpu0"]), (2, ["bert-gpu0.0", "bert-gpu0.1"])])
def test_processes_are_numbered_where_there_are_several(processes, units):
    assert [one.unit for one in launched(Service("bert", processes=processes))] == units
