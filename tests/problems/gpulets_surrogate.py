"""
A surrogate of gpu-lets' test bed, whose latency tables were never published: five services, by what is published.

    over b    the artefact's kernel times on an RTX 2080 Ti at batches of powers of two, made monotone, linear between;
              the whole is scaled so that a batch of 32 on a whole GPU takes half of the paper's SLO, as it says
    over p    the slow-down on a share is that of a like model on the public tables of an A100
    `rtx`     a factor of 1.1 on latencies, and the artefact's times to form a batch; `rtx-clean`: neither

It has the paper's own SLOs, utilisations and constants, and is no evidence about an RTX 2080 Ti.
"""

import csv
from functools import cache

import numpy as np
from support.needs import PUBLISHED, skip_without

from problems.gpulets import MODELS, SHARES, a100_profiles, constants_2080ti
from problems.instances import REFERENCE
from sliceplan.solver.performance.interference.solo_tables import SoloTable
from sliceplan.solver.planners.time_sharing.services import LARGEST, Services, Use

NAMES = ("lenet", "googlenet", "resnet50", "ssd", "vgg16")
SLO_MS = (5, 44, 95, 136, 130)
LIKE = dict(zip(NAMES, MODELS, strict=True))
"""The model of the A100's tables whose slow-down on shares is taken."""
POWERS = (1, 2, 4, 8, 16, 32)
BATCHES = np.arange(1, LARGEST + 1)


@cache
def _rows():
    file = REFERENCE / "glet" / "2080ti_UTIL.csv"
    if not file.is_file():
        skip_without(PUBLISHED, f"the artefact's utilisations are not in {file}")
    with file.open() as text:
        return {(row["bench"], int(row["batch"])): row for row in csv.DictReader(text)}


def _over_batches(name, column):
    bench = "ssd-mobilenetv1" if name == "ssd" else name
    return [float(_rows()[bench, batch][column]) for batch in POWERS]


@cache
def _forming_ms(name):
    """Returns the time to form a batch, of batches 0 to 32."""
    if name == "lenet":
        return (0.0, *[0.4] * LARGEST)
    factor, size = (2.5, "3_300_300") if name == "ssd" else (1.9, "3_224_224")
    lines = (REFERENCE / "glet" / f"{size}.txt").read_text().split()
    known = {int(line.split(",")[0]): float(line.split(",")[1]) for line in lines}
    return (0.0, *(factor * known[batch] for batch in range(1, LARGEST + 1)))


@cache
def _latency(name):
    """Returns share -> latency of batches 0 to 32."""
    times = np.maximum.accumulate(_over_batches(name, "avg_duration(ms)"))
    whole = np.interp(BATCHES, POWERS, times) / times[-1] * SLO_MS[NAMES.index(name)] / 2
    table = SoloTable.of(next(one for one in a100_profiles() if one.model == LIKE[name]))
    like = {share: np.array([table.at(int(b), share).latency_ms for b in BATCHES]) for share in SHARES}
    return {share: [0.0, *(whole * like[share] / like[100]).tolist()] for share in SHARES}


@cache
def _use(name):
    own_l2, other_l2, own_dram, other_dram, constant = constants_2080ti()
    l2, dram = (
        np.interp(BATCHES, POWERS, _over_batches(name, column)) / 100 for column in ("l2_util(%)", "mem_util(%)")
    )
    own = {s: [0.0, *((own_l2 * l2 + own_dram * dram) * s / 100 + constant).tolist()] for s in SHARES}
    other = {s: [0.0, *((other_l2 * l2 + other_dram * dram) * s / 100).tolist()] for s in SHARES}
    return Use(own, other)


def surrogate(rates, *, clean, interferes=False, names=NAMES, slo_ms=SLO_MS):
    """Returns services at these rates, by default the paper's five."""
    return Services(
        names,
        rates,
        slo_ms,
        [_latency(name) for name in names],
        SHARES,
        ratio=1.0 if clean else 1.1,
        overhead_ms=None if clean else [_forming_ms(name) for name in names],
        use=[_use(name) for name in names] if interferes else None,
    )
