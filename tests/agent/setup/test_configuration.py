"""The agent's configuration: what is taken, and what is refused with its reason."""

import pytest

from sliceplan.agent.setup.configuration import read_config
from sliceplan.agent.setup.device import device_of
from sliceplan.solver.model.errors import InputError

LEAST = {"version": 1, "plan": {"source": "/etc/sliceplan/plan.json"}}


@pytest.fixture
def config(tmp_path):
    """Returns a function that reads a configuration made of some fields."""
    import yaml

    def read(**fields):
        path = tmp_path / "agent.yaml"
        path.write_text(yaml.safe_dump({**LEAST, **fields}))
        path.chmod(0o600)
        return read_config(path)

    return read


def service(**fields):
    return {"services": {"*": {"command": ["/usr/bin/serve"], **fields}}}


def refusal(read, **fields):
    with pytest.raises(InputError) as caught:
        read(**fields)
    return str(caught.value)


def test_little_is_needed(config):
    found = config()
    assert found.device == "nvml"
    assert str(found.state_dir) == "/var/lib/sliceplan"
    assert found.template("bert") is None
    assert "." not in found.node_name


def test_a_workload_has_its_own_template_or_the_one_of_all(config):
    one = {"command": ["/bin/one"]}
    found = config(services={"bert": one, "*": {"command": ["/bin/all"]}})
    assert found.template("bert").command == ("/bin/one",)
    assert found.template("vgg").command == ("/bin/all",)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (service(command=["serve"]), "expected the absolute path of a program"),
        (service(command=["/bin/{workload}"]), "without placeholders"),
        (service(command=["/bin/x", "{wrkload}"]), "has the placeholder {wrkload}; known: {workload}"),
        (service(command=["/bin/x", "{workload.__class__}"]), "has the placeholder {workload.__class__}"),
        (service(command=["/bin/x", "{batch:>9}"]), "has the placeholder {batch}"),
        (service(command=["/bin/x", "{"]), "a brace itself is written twice"),
        (service(command=["/bin/x", "{port}"]), "uses {port}, and has no `ports`"),
        (service(command=["/bin/x", "a\0b"]), "NUL character"),
        (service(ports=[9, 80]), "expected two numbers of 1024 to 65535"),
        (service(env={"CUDA_VISIBLE_DEVICES": "0"}), "which the agent sets from the plan"),
        (service(env={"A=B": "0"}), "expected the name of an environment variable"),
        (service(user="-root"), "user"),
        (service(shell=True), "shell is not a field here"),
        (service(health={}), "needs either command or http"),
        (service(health={"http": "http://example.com/"}), "expected http:// and one of 127.0.0.1"),
        ({"services": {"../x": {"command": ["/bin/x"]}}}, "expected the name of a workload"),
        ({"plan": {"source": "http://example.com/plan"}}, "neither a path nor an HTTPS URL"),
        ({"plan": {"source": "plan.json"}}, "expected an absolute path"),
        ({"state_dir": "state"}, "expected an absolute path"),
        ({"device": "simulated"}, "`simulated_node` goes with"),
        ({"after_apply": [["nvidia-ctk"]]}, "begins with an absolute path"),
        ({"ignore_owners": [{"owner": "gpu-operator", "reason": ""}]}, "reason"),
        ({"nodes": "n1"}, "nodes is not a field here. Did you mean 'node'?"),
    ],
)
def test_what_is_wrong_is_said_where_it_stands(config, fields, message):
    assert message in refusal(config, **fields)


def test_a_file_that_others_can_write_is_refused(config, tmp_path):
    config()
    (tmp_path / "agent.yaml").chmod(0o666)
    with pytest.raises(InputError, match="run: chmod go-w"):
        read_config(tmp_path / "agent.yaml")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_config(tmp_path / "agent.yaml")


def test_a_folder_is_no_configuration(tmp_path):
    with pytest.raises(InputError, match="is a folder; expected a file"):
        read_config(tmp_path)


@pytest.mark.parametrize(("device", "kind"), [("nvml", "NvmlNode"), ("cores", "CoreNode"), ("nvml+cores", "BothKinds")])
def test_the_agent_drives_what_it_is_told_to(config, device, kind):
    found = config(device=device)
    assert type(device_of(found)).__name__ == kind
    assert found.divides_cpus == ("cores" in device)


def test_a_health_check_by_a_command_needs_no_ports(config):
    health = {"command": ["/bin/true"]}
    assert config(**service(health=health)).template("bert").health.command == ("/bin/true",)


@pytest.mark.parametrize("command", [[], ["nvidia-ctk", "cdi"], [""]])
def test_a_command_after_a_plan_was_applied_begins_with_an_absolute_path(config, command):
    assert "expected one that begins with an absolute path" in refusal(config, after_apply=[["/bin/true"], command])


@pytest.mark.parametrize(
    ("name", "taken", "refused"),
    [
        ("active_thread_percentage", (0.5, 100), (0, 100.5)),
        ("pinned_memory_mib", (1, 4096), (0, -1)),
    ],
)
def test_defaults_of_mps_are_shares_and_amounts_that_there_can_be(config, name, taken, refused):
    assert [getattr(config(mps={name: one}).mps, name) for one in taken] == list(taken)
    for one in refused:
        assert name in refusal(config, mps={name: one})
