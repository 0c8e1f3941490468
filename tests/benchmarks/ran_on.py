"""What a benchmark says first: the machine, and which services and profiles its figures are for."""

import os
import platform
import sys

FITTED = "profiles: fitted, as shipped (profiles/models)"
SCENARIOS = "services around plans/parvagpu-s1.yaml to -s6.yaml (ParvaGPU's scenarios, as shipped)"
RANDOM = "random services of the shipped models (tests/problems/instances.py)"


def say_what_it_ran_on(*what: str, profiles: str = FITTED) -> None:
    """Prints one line, which also tells what else the machine does."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    machine = f"{cores} cores ({platform.machine()}), load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}"
    print(f"Ran on {machine}; {'; '.join((*what, profiles))}.\n", flush=True)


def needs_chromium() -> None:
    """Ends the benchmark with a sentence where this machine has no browser."""
    from support.chromium import CHROMIUM

    if CHROMIUM is None:
        sys.exit("There is no chromium on this machine; `sh .ci/test` installs it.")
