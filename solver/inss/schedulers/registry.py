"""The schedulers by name; the learned one needs an actor, and joins where there is one."""

from ...model.errors import Finding, InputError
from ...model.parsing import closest
from .exact import EXACT
from .gpulet import BDA_GPULET, GPULET
from .greedy import INSS_BLIND, INSS_GREEDY
from .gslice import GSLICE
from .igniter import IGNITER
from .scheduler import Scheduler

SCHEDULERS = {one.name: one for one in (EXACT, INSS_GREEDY, INSS_BLIND, BDA_GPULET, GPULET, GSLICE, IGNITER)}

LEARNED = "inss-sac"


def scheduler_named(name: str) -> Scheduler:
    """Returns a scheduler; InputError: there is none of that name."""
    if name in SCHEDULERS:
        return SCHEDULERS[name]
    message = f"is {name!r}. {closest(name, [*SCHEDULERS, LEARNED])}"
    raise InputError([Finding("--scheduler", "", message)])
