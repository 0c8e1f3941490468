"""The commands that the pages show are run, and print what the pages show."""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from problems.instances import ROOT
from support.command_line import call
from support.doc_pages import PAGES, blocks

from sliceplan.app.access.policy import Access
from sliceplan.solver.formats.problem_files import problem_from
from sliceplan.solver.model.inss_problem import InssProblem
from sliceplan.solver.model.layer_times import LayerFile
from sliceplan.solver.model.parsing import parse_record

PROGRAMS = {"sliceplan": "sliceplan.solver.cli", "sliceplan-agent": "sliceplan.agent.cli"}

WITH_COMMANDS = [page for page in PAGES if blocks(page, "console")]


def shown(block):
    """Yields each command of a block, with the exit code and the lines that the page says it ends with."""
    command: list[str] = []
    lines: list[str] = []
    for line in block.splitlines():
        goes_on = command and not lines and (line.startswith("> ") or command[-1].endswith("\\"))
        if line.startswith("$ "):
            if command:
                yield one(command, lines)
            command, lines = [line[2:]], []
        elif goes_on:
            command.append(line.removeprefix("> "))
        else:
            lines.append(line)
    if command:
        yield one(command, lines)


def one(command, lines):
    text = "\n".join(command)
    code = re.search(r"exit code (\d+)\)?$", command[0])
    return text, int(code[1]) if code else 0, lines


def printed(command, folder, environment):
    """Runs a command as a shell would, and returns its exit code and output; what it exports stays in force."""
    words = shlex.split(command.replace("\\\n", " "), comments=True)
    if words[0] == "export":
        environment |= dict(word.split("=", 1) for word in words[1:])
        return 0, ""
    if words[0] in PROGRAMS and not {">", "|", "&&"} & set(words):
        done = call(PROGRAMS[words[0]], *words[1:], env=environment)
    else:
        done = subprocess.run(
            ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
    return done.returncode, done.stdout + done.stderr


def same(line):
    """Returns a line without what differs from run to run: durations, and the spaces that follow from them."""
    return re.sub(r"(?<=\S) +", " ", re.sub(r"\d+\.\d+ s\b", "TIME", line)).rstrip()


def assert_shown(expected, output, command):
    """Asserts that the lines come in the output, one after the other; `…` stands for any that are left out."""
    rest = [same(line) for line in output.splitlines()]
    anywhere = False
    for line in map(same, expected):
        if line == "…":
            anywhere = True
            continue
        assert line in rest, f"{command} does not print {line!r}:\n{output}"
        if not anywhere:
            assert rest[0] == line, f"{command} prints {rest[0]!r} before {line!r}"
        rest = rest[rest.index(line) + 1 :]
        anywhere = False
    assert anywhere or not [line for line in rest if line], f"{command} prints more: {rest}"


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_shows_what_its_commands_print(page, tmp_path, monkeypatch):
    shutil.copytree(ROOT / "plans", tmp_path / "plans")
    monkeypatch.chdir(tmp_path)
    for block in blocks(page, "console"):
        environment = {**os.environ, "COLUMNS": "80"}
        for command, code, lines in shown(block):
            ended, output = printed(command, tmp_path, environment)
            assert ended == code, (command, output)
            if lines:
                assert_shown(lines, output, command)


def test_pages_with_commands_are_found():
    names = {page.name for page in WITH_COMMANDS}
    assert {"README.md", "tutorial.md", "agent.md", "what-if.md"} <= names


def test_the_examples_in_python_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("plans").symlink_to(ROOT / "plans")
    found = [text for page in PAGES for text in blocks(page, "python")]
    assert found
    for text in found:
        exec(compile(text, "a page", "exec"), {})
    assert "optimal" in capsys.readouterr().out


def test_what_the_pages_state_in_yaml_is_read():
    """Problems, and parts of problems, which are then those of the demo; the access file; files of layer times."""
    demo = yaml.safe_load((ROOT / "plans" / "demo.yaml").read_text())
    read = 0
    for page in PAGES:
        for text in blocks(page, "yaml"):
            data = yaml.safe_load(text.replace("\n…", ""))
            if "editors" in data:
                parse_record(Access, data, str(page))
            elif "models" in data and "gpus" in data:
                parse_record(InssProblem, data, str(page))
            elif "models" in data:
                parse_record(LayerFile, data, str(page))
            else:
                problem_from({**demo, **data}, str(page))
            read += 1
    assert read >= 5
