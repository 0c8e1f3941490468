"""Errors that are given by their names have the numbers that NVML gives them."""

import pynvml
import pytest

from sliceplan.agent.model.device_error import NUMBERS, DeviceError


@pytest.mark.parametrize("name", NUMBERS)
def test_an_error_has_the_number_of_its_name(name):
    error = DeviceError(name, "refused", [5, 6], "Wait")
    assert error.number == getattr(pynvml, f"NVML_ERROR_{name}")
    assert (error.name, error.message, error.pids) == (name, "refused", (5, 6))
    assert str(error) == f"refused by pid 5, 6 (NVML_ERROR_{name}, {error.number}). Wait"


def test_an_error_that_nvml_gave_keeps_its_number():
    assert str(DeviceError("UNINITIALIZED", "refused", number=1)) == "refused (NVML_ERROR_UNINITIALIZED, 1)"
