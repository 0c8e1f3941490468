"""Which type of the catalogue a GPU of this node is."""

import contextlib
from types import ModuleType
from typing import Any

from ....solver.model.driver_names import catalogue_name


def gpu_type(nvml: ModuleType, handle: Any) -> str:
    """Returns the type of a GPU of this node in the catalogue, as `catalogue_name`."""
    driver_name = nvml.nvmlDeviceGetName(handle)
    memory_mib = None
    with contextlib.suppress(nvml.NVMLError):  # denied in some containers
        memory_mib = nvml.nvmlDeviceGetMemoryInfo(handle).total / 2**20
    return catalogue_name(driver_name, memory_mib)
