"""The files for deployment: they are shipped, and what they say is what the agent understands."""

import configparser
import shutil
import subprocess
from importlib.resources import as_file, files

import yaml
from support.needs import SYSTEMD, skip_without
from typer.testing import CliRunner

from sliceplan.agent.cli import app
from sliceplan.agent.setup.configuration import AgentConfig

DEPLOY = files("sliceplan.agent.deploy")


def unit():
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str
    parser.read_string(DEPLOY.joinpath("sliceplan-agent.service").read_text())
    return parser


def test_the_example_configuration_is_valid():
    config = AgentConfig.model_validate(yaml.safe_load(DEPLOY.joinpath("agent.yaml").read_text()))
    assert config.template("anything").runner == "systemd"
    assert config.template("search-embedding").drain_s == 60


def test_the_unit_runs_a_command_that_there_is():
    words = unit()["Service"]["ExecStart"].split()
    assert words[0].endswith("/sliceplan-agent")
    done = CliRunner().invoke(app, [words[1], "--help"], env={"COLUMNS": "200"})
    assert done.exit_code == 0
    assert words[2] in done.output


def test_a_stop_of_the_unit_leaves_services_and_what_they_are_known_by():
    service = unit()["Service"]
    assert service["KillMode"] == "process"
    assert (service["RuntimeDirectory"], service["RuntimeDirectoryPreserve"]) == ("sliceplan", "yes")
    assert service["StateDirectory"] == "sliceplan"


def test_systemd_takes_the_unit(tmp_path):
    if not shutil.which("systemd-analyze"):
        skip_without(SYSTEMD)
    with as_file(DEPLOY.joinpath("sliceplan-agent.service")) as path:
        text = path.read_text().replace("/opt/sliceplan/bin/sliceplan-agent", "/bin/true")
    (tmp_path / "sliceplan-agent.service").write_text(text)
    command = ["systemd-analyze", "verify", "--man=no", tmp_path / "sliceplan-agent.service"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = [line for line in done.stderr.splitlines() if "sliceplan-agent.service" in line]
    assert said == []


def test_the_container_runs_the_same_command_and_opens_no_port():
    lines = DEPLOY.joinpath("Containerfile").read_text().splitlines()
    assert 'CMD ["run", "--config", "/etc/sliceplan/agent.yaml"]' in lines
    assert not [line for line in lines if line.startswith("EXPOSE")]
