"""Active thread percentages: a client gets every SM of its share, whatever precision the driver reads it with."""

import numpy as np
import pytest

from sliceplan.solver.model.active_threads import active_thread_percentage
from sliceplan.solver.model.catalogue import load_catalogue

H200_SMS = 132

MEASURED = {
    "1": 8,
    "1.51515151515152": 8,
    "3.03030303030303": 8,
    "4.54545454545454": 8,
    "6.06060606060606": 8,
    "7.57575757575758": 10,
    "8": 10,
    "9.0908091": 10,
    "9.09090909090909": 10,
    "9.0910091": 12,
    "10.6060606060606": 12,
    "12.1212121212121": 14,
    "13.6363636363636": 16,
    "15": 18,
    "15.1515151515152": 20,
    "16.6666666666667": 22,
    "18.1818181818182": 24,
    "19.6969696969697": 26,
    "21.2121212121212": 26,
    "22": 28,
    "24.242324": 30,
    "24.2424242424242": 30,
    "24.242524": 32,
    "25.7575757575758": 34,
    "29": 38,
    "31.8181818181818": 40,
    "33.3333333333333": 42,
    "36": 46,
    "43": 56,
    "48.4848484848485": 64,
    "50": 66,
    "57": 74,
    "64": 84,
    "66.6666666666667": 88,
    "85": 112,
    "90.9090909090909": 120,
    "92.424142": 120,
    "92.424342": 122,
    "98.4848484848485": 130,
    "99": 130,
    "99.9999": 130,
    "100": 132,
}
"""Active thread percentage -> SMs that a client saw on an H200 with driver 580.159.04, 2026-11-27."""

LEAST_SMS = 8
"""What a client got there of any smaller share."""


def given(percent: str, sms: int, number: type) -> int:
    """Returns the SMs of a client by the rule that was measured, where percentages are read as numbers of a type."""
    return 2 * int(number(percent) * number(sms) / number(200))


def test_the_rule_is_the_one_that_was_measured():
    assert {percent: max(LEAST_SMS, given(percent, H200_SMS, np.float64)) for percent in MEASURED} == MEASURED


@pytest.mark.parametrize("number", [np.float32, np.float64])
@pytest.mark.parametrize("gpu", load_catalogue().values(), ids=lambda gpu: gpu.name)
def test_every_share_in_whole_units_gets_all_its_sms_and_no_more(gpu, number):
    sms = int(gpu.sm_count.value)
    units = sms // 2
    found = [given(active_thread_percentage(k * gpu.mps_unit_percent), sms, number) for k in range(1, units + 1)]
    assert found == [2 * k for k in range(1, units + 1)]
    assert active_thread_percentage(units * gpu.mps_unit_percent) == "100"


def test_what_has_few_digits_stays_as_it_is():
    assert [active_thread_percentage(share) for share in (25.0, 37.5, 1.5625, 100.0)] == ["25", "37.5", "1.5625", "100"]
    assert active_thread_percentage(1400 / 132) == "10.6062"
