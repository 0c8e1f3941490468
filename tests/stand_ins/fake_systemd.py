"""
A systemd and a tree of cgroups that are only files: `systemctl`, `systemd-run` and `lscpu` note what they are told.

A slice is a folder with the two files that the kernel has for it; a unit is a file. Nothing runs.
"""

import os

from .lscpu import lscpu

SYSTEMCTL = """#!/bin/sh
echo "systemctl $*" >> {folder}/calls
[ -e {folder}/broken ] && {{ echo "Failed to connect to bus" >&2; exit 1; }}
tree={folder}/cgroup/sliceplan.slice
apply() {{
  for word in $(cat "{folder}/allowed/$1"); do
    case $word in
    AllowedCPUs=*) echo "${{word#*=}}" > "$tree/$1/cpuset.cpus.effective" ;;
    AllowedMemoryNodes=*) echo "${{word#*=}}" > "$tree/$1/cpuset.mems.effective" ;;
    esac
  done
  [ -e {folder}/parent ] && cp {folder}/parent "$tree/$1/cpuset.cpus.effective"
  return 0
}}
case $1 in
set-property)
  slice=$3; shift 3; mkdir -p {folder}/allowed; echo "$@" > "{folder}/allowed/$slice"
  if [ -d "$tree/$slice" ]; then apply "$slice"; fi ;;
start) mkdir -p "$tree/$2"; apply "$2" ;;
stop) case $2 in *.slice) rm -rf "$tree/$2" ;; *) rm -f "{folder}/units/$2" ;; esac ;;
show)
  while [ "$1" != -- ]; do shift; done; shift
  for unit in "$@"; do
    if [ -e "{folder}/units/$unit" ]; then echo "MainPID=1"; echo "ActiveState=active"
    else echo "MainPID=0"; echo "ActiveState=inactive"; fi
    shift; [ $# = 0 ] || echo
  done ;;
esac
"""

SYSTEMD_RUN = """#!/bin/sh
echo "systemd-run $*" >> {folder}/calls
unit=${{1#--unit=}}
mkdir -p {folder}/units
echo "$*" > "{folder}/units/$unit"
"""

LSCPU = """#!/bin/sh
cat {folder}/lscpu
"""


class FakeSystemd:
    """The stand-ins below one folder."""

    def __init__(self, folder, monkeypatch, **host):
        self.folder = folder / "systemd"
        tools = self.folder / "bin"
        tools.mkdir(parents=True)
        for name, text in (("systemctl", SYSTEMCTL), ("systemd-run", SYSTEMD_RUN), ("lscpu", LSCPU)):
            (tools / name).write_text(text.format(folder=self.folder))
            (tools / name).chmod(0o755)
        monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
        self.cgroups = self.folder / "cgroup"
        self.cgroups.mkdir()
        (self.cgroups / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
        self.host(**host)

    def host(self, **host):
        """Lets `lscpu` show a host (stand_ins/lscpu.py)."""
        (self.folder / "lscpu").write_text(lscpu(**host)[0])

    def calls(self, *without):
        """Returns what the tools were told, but for some verbs, and forgets it."""
        file = self.folder / "calls"
        lines = file.read_text().splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        return [line for line in lines if line.split()[1] not in without]

    def effective(self, name, cpus=None):
        """Returns the CPUs of a slice by the name of its service; or lets it have others, as somebody else could."""
        file = self.cgroups / "sliceplan.slice" / f"sliceplan-{name.replace('-', ':')}.slice" / "cpuset.cpus.effective"
        if cpus is not None:
            file.write_text(f"{cpus}\n")
        return file.read_text().strip() if file.exists() else None

    def parent_has(self, cpus):
        """Lets the kernel give every slice these CPUs from now on, whatever is asked for."""
        (self.folder / "parent").write_text(f"{cpus}\n")
