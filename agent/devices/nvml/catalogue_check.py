"""Where the catalogue, with which plans are made, and the driver of this node disagree about MIG profiles."""

from collections.abc import Collection, Iterator

from .profiles import catalogue_differences, driver_profiles
from .reading import read_gpu
from .session import opened, said


def catalogue_lines(indices: Collection[int] | None = None) -> Iterator[str]:
    """
    Yields where the catalogue and this node's driver disagree, GPU by GPU; raises DeviceError if it does not answer.

    Parameters
    ----------
    indices
        The GPUs to compare; None: all.
    """
    with opened() as nvml, said(nvml, "the MIG profiles cannot be read"):
        for index in range(nvml.nvmlDeviceGetCount()):
            if indices is None or index in indices:
                gpu = read_gpu(nvml, index).gpu
                found = driver_profiles(nvml, nvml.nvmlDeviceGetHandleByIndex(index), gpu)
                for difference in catalogue_differences(gpu, found):
                    yield f"GPU {index} ({gpu}): {difference}"
