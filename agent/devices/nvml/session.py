"""
Sessions of NVML, NVIDIA's management library, and its errors in words.

A session is opened for one read-back or one change and closed again. One that stays open does not see MIG devices that
were made later, shows old indices of theirs, and is itself a client that can block a change of MIG mode or a reset.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import TypeVar

from ....solver.model.errors import MissingExtraError
from ...model.device_error import DeviceError

ResultT = TypeVar("ResultT")

HINTS = {
    "NO_PERMISSION": "Run the agent as root",
    "NOT_SUPPORTED": "The GPU, its driver or its virtual machine does not allow it; a vGPU guest cannot change MIG",
    "IN_USE": "Stop these processes, or wait for them with a time to drain; monitoring (DCGM, nvidia-smi -l, "
    "persistenced, a display server) counts too",
    "INSUFFICIENT_RESOURCES": "Its slices or engines are taken; `sliceplan-agent status` shows by what",
    "RESET_REQUIRED": "The GPU must be reset first",
    "DRIVER_NOT_LOADED": "Load the NVIDIA driver (modprobe nvidia), or see dmesg",
    "LIBRARY_NOT_FOUND": "This node has no NVIDIA driver",
    "LIB_RM_VERSION_MISMATCH": "The driver was updated while it was loaded; reboot the node",
    "GPU_IS_LOST": "The GPU fell off the bus; reboot the node",
    "TIMEOUT": "The driver may be stuck; see dmesg for Xid errors",
}
"""NVML error -> what a person can do about it."""


def library() -> ModuleType:
    """Returns NVIDIA's binding; raises MissingExtraError if it is not installed."""
    try:
        import pynvml
    except ModuleNotFoundError as error:
        raise MissingExtraError("nvidia-ml-py", "agent") from error
    module: ModuleType = pynvml
    return module


@contextmanager
def opened() -> Iterator[ModuleType]:
    """Opens a session for as long as the context lasts; raises DeviceError if there is no driver."""
    nvml = library()
    with said(nvml, "NVML cannot be used"):
        nvml.nvmlInit()
    try:
        yield nvml
    finally:
        with said(nvml, "NVML cannot be closed"):
            nvml.nvmlShutdown()


@contextmanager
def said(nvml: ModuleType, what: str, holders: Callable[[], list[int]] = list) -> Iterator[None]:
    """
    Turns NVML's errors into DeviceErrors.

    Parameters
    ----------
    what
        What was tried, for the message.
    holders
        Finds the processes that are in the way, asked only if NVML says that something is in use.
    """
    try:
        yield
    except nvml.NVMLError as error:
        name = error_name(nvml, error.value)
        pids = holders() if name == "IN_USE" else []
        raise DeviceError(name, what, pids, HINTS.get(name), number=error.value) from error


def error_name(nvml: ModuleType, number: int) -> str:
    """Returns NVML's name of an error, without its prefix."""
    prefix = "NVML_ERROR_"
    return next((name.removeprefix(prefix) for name in dir(nvml) if _is(nvml, name, prefix, number)), "UNKNOWN")


def within(timeout_s: float, what: str, call: Callable[[], ResultT]) -> ResultT:
    """
    Returns what a call returns; raises DeviceError (TIMEOUT) if it takes too long.

    NVML has no time limits, and a call of it cannot be interrupted: one that hangs is left to itself in its thread.
    """
    results: list[ResultT] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True, name="nvml")
    thread.start()
    thread.join(timeout_s)
    if thread.is_alive():
        raise DeviceError("TIMEOUT", f"{what}: no answer within {timeout_s:g} s", hint=HINTS["TIMEOUT"])
    if errors:
        raise errors[0]
    return results[0]


def _is(nvml: ModuleType, name: str, prefix: str, number: int) -> bool:
    return name.startswith(prefix) and getattr(nvml, name) == number
