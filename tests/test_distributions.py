"""What is published is complete: each distribution is built, installed where nothing of ours is, and solves."""

import json
import os
import shutil
import site
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
from problems.instances import ROOT

NAME = "sliceplan-{version}".format(**tomllib.loads((ROOT / "pyproject.toml").read_text())["project"])

LEFT_OUT = (".git", ".venv", "*.egg-info", "__pycache__", ".*_cache", ".hypothesis", "build", "dist", "tests")
"""Of the folder that is built; a published file must not depend on what a developer has lying there."""

OURS = ("sliceplan", "__editable__", "__pycache__")

BUILD = "import sys; from setuptools import build_meta; print(getattr(build_meta, sys.argv[1])(sys.argv[2]))"


def run(folder, *command):
    """Runs a command without any package index, and returns what it printed."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PIP_", "PYTHON"))}
    environment |= {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull, "PYTHON": sys.executable}
    done = subprocess.run(
        list(map(str, command)), cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


@pytest.fixture(scope="module")
def source_distribution(tmp_path_factory):
    folder = tmp_path_factory.mktemp("source")
    shutil.copytree(ROOT, folder / "tree", ignore=shutil.ignore_patterns(*LEFT_OUT))
    run(folder / "tree", sys.executable, "-c", BUILD, "build_sdist", folder)
    return folder / f"{NAME}.tar.gz"


@pytest.fixture(scope="module")
def unpacked(source_distribution, tmp_path_factory):
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(source_distribution) as archive:
        archive.extractall(folder, filter="data")
    return folder / NAME


@pytest.fixture(scope="module")
def wheel(unpacked, tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    copy = shutil.copytree(unpacked, folder / "tree")
    run(copy, sys.executable, "-c", BUILD, "build_wheel", folder)
    return folder / f"{NAME}-py3-none-any.whl"


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    """A folder with the packages of the tests' environment, and without sliceplan: links, as they take 1 GB."""
    folder = tmp_path_factory.mktemp("others")
    for place in site.getsitepackages():
        for package in Path(place).glob("*"):
            if not package.name.startswith(OURS) and package.suffix != ".pth":
                (folder / package.name).symlink_to(package)
    return folder


def environment_in(folder, others):
    """Makes folder/.venv, which has the packages that sliceplan needs, and nothing of sliceplan."""
    venv.create(folder / ".venv", symlinks=True)
    python = folder / ".venv" / "bin" / "python"
    (place,) = (folder / ".venv" / "lib").glob("python3*/site-packages")
    (place / "others.pth").write_text(f"{others}\n")
    found = run(folder, python, "-c", "from importlib.util import find_spec; print(find_spec('sliceplan'))")
    assert found == "None\n"
    return python


def assert_plans(folder):
    """Asserts that the commands of an environment solve, check and take a plan to an agent."""
    programs = folder / ".venv" / "bin"
    shutil.copy(ROOT / "plans" / "demo.yaml", folder / "mine.yaml")
    run(folder, programs / "sliceplan", "solve", "mine.yaml", "-o", "mine.plan.json")
    assert json.loads((folder / "mine.plan.json").read_text())["status"] == "optimal"
    run(folder, programs / "sliceplan", "check", "mine.yaml", "mine.plan.json")
    assert "keygen" in run(folder, programs / "sliceplan-agent", "--help")


def test_the_wheel_of_the_source_distribution_has_every_file_of_the_packages(wheel):
    tops = ("agent", "app", "plans", "profiles", "solver")
    files = [path for top in tops for path in (ROOT / top).rglob("*") if path.is_file() and path.suffix != ".pyc"]
    with zipfile.ZipFile(wheel) as archive:
        names = [name.removeprefix("sliceplan/") for name in archive.namelist() if ".dist-info/" not in name]
    assert sorted(names) == sorted(str(path.relative_to(ROOT)) for path in files)


def test_the_wheel_solves_where_nothing_else_of_ours_is(wheel, others, tmp_path):
    python = environment_in(tmp_path, others)
    run(tmp_path, python, "-m", "pip", "install", "-q", "--no-deps", wheel)
    assert_plans(tmp_path)


def test_the_source_distribution_sets_itself_up_as_the_readme_says_and_solves(unpacked, others):
    """It lacked requirements.lock, so that its own set-up command failed."""
    assert "sh .ci/setup && .venv/bin/sliceplan solve plans/demo.yaml" in (unpacked / "README.md").read_text()
    environment_in(unpacked, others)
    run(unpacked, "sh", ".ci/setup")
    assert_plans(unpacked)
