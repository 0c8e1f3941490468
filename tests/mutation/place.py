"""
Where mutants live: copies of the tree, never the tree itself, and processes that can harm nothing but what is theirs.

A change of the agent may well kill the wrong processes. So tests run in a process namespace of their own (Linux,
`unshare` of util-linux), where they see and reach only what they started, and whatever they leave behind ends with it.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from math import ceil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

PACKAGES = ("agent", "app", "plans", "profiles", "solver")
"""Folders of the tree that are packages below `sliceplan`."""


TOOK_TOO_LONG = 128 + signal.SIGXCPU


@dataclass(frozen=True)
class Done:
    """What became of a run of pytest."""

    code: int
    """Its exit code; TOOK_TOO_LONG: it was ended for the time that it took."""
    output: str


_moments = count(1_000_000_000)
"""Seconds since 1970 that no file of a copy has had."""


@dataclass(frozen=True)
class Place:
    """A copy of the tree, and what makes Python import from there."""

    folder: Path

    @property
    def tree(self) -> Path:
        """The copy's root."""
        return self.folder / "tree"

    def make(self, of: Path = ROOT) -> None:
        """Copies a tree: its files that git knows, and new ones that it does not ignore, as they are now."""
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=of,
            capture_output=True,
            check=True,
        )
        for name in listed.stdout.decode().rstrip("\0").split("\0"):
            if (of / name).is_file():
                (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(of / name, self.tree / name)
        self.prepare()

    def write(self, file: str, text: str) -> None:
        """Writes a file of the copy, at a time of its own: Python takes compiled code for the text of its second."""
        path = self.tree / file
        path.write_text(text)
        moment = next(_moments)
        os.utime(path, (moment, moment))

    def copy_to(self, other: "Place") -> None:
        """Copies this place's tree to another one, in place of what is there."""
        shutil.rmtree(other.folder, ignore_errors=True)
        shutil.copytree(self.tree, other.tree, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        other.prepare()

    def prepare(self) -> None:
        """Makes what Python's search for modules looks at first."""
        names = self.folder / "site" / "sliceplan"
        names.mkdir(parents=True, exist_ok=True)
        for package in PACKAGES:
            (names / package).unlink(missing_ok=True)
            (names / package).symlink_to(self.tree / package)
        follow = "from mutation.following import follow_this_process\n\nfollow_this_process()\n"
        (self.folder / "site" / "sitecustomize.py").write_text(follow)

    def environment(self) -> dict[str, str]:
        """Returns the environment of its tests: modules from the copy, the same examples of hypothesis each time."""
        path = os.pathsep.join([str(self.folder / "site"), str(self.tree / "tests")])
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        published = {"SLICEPLAN_REFERENCE": str(ROOT.parent / "shared" / "reference")}  # beside the tree, not the copy
        return {**published, **os.environ, "PYTHONPATH": path, "CI": "1", "TMPDIR": str(home)}

    def pytest(
        self, arguments: Sequence[str], *, plugins: Sequence[str] = (), cpu_s: float | None = None, **more: str
    ) -> Done:
        """
        Runs pytest on the copy, alone among its own processes.

        Parameters
        ----------
        cpu_s
            Time of the processor that each process may take; a test that waits for ever has a limit of its own.
        more
            Variables of the environment.
        """
        # In a file: names of tests can be more than a command line takes.
        with tempfile.NamedTemporaryFile("w", suffix=".arguments") as file:
            file.write("\n".join(arguments))
            file.flush()
            asked = [word for plugin in ("no:cacheprovider", *plugins) for word in ("-p", plugin)]
            done = subprocess.run(
                [*alone(cpu_s), sys.executable, "-m", "pytest", *asked, f"@{file.name}"],
                cwd=self.tree,
                env=self.environment() | more,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
            )
        return Done(done.returncode, done.stdout.decode(errors="replace"))

    def imports_from_here(self) -> bool:
        """Tells whether Python takes the modules of the copy, and no others."""
        code = "import sliceplan.agent as a, sliceplan.solver as s; print(a.__file__, s.__file__)"
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=self.tree,
            env=self.environment(),
            capture_output=True,
            text=True,
            check=True,
        )
        return all(Path(name).resolve().is_relative_to(self.tree.resolve()) for name in done.stdout.split())


def alone(cpu_s: float | None = None) -> list[str]:
    """Returns the words before a command that give it processes of its own; the first of them reaps the others."""
    limit = "" if cpu_s is None else f"ulimit -S -t {ceil(cpu_s)}; "
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return [
        "unshare",
        *user,
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
        "sh",
        "-c",
        f'{limit}"$@"; exit $?',
        "sh",
    ]


def can_be_alone() -> bool:
    """Tells whether this machine gives processes a namespace of their own."""
    try:
        return subprocess.run([*alone(), "true"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False
