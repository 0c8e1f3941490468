"""
Fits iGniter's coefficients to what `measure.py` measured, and writes a profile file.

    python tests/real_gpu/fit.py RUNS.jsonl CACHE_USE.csv --gpu H200-141GB --date 2026-11-27 -o PROFILES.yaml

The paper takes the delay of the scheduler and the growth by the cache from traces of one, two, ... copies of a model
(IEEE TPDS 2023, sec. 3.1). Here they come of mixes. First of services alone, by relative least squares,

    t f / F = k_act(batch, share)                                                          (11)

and then of all residents of mixes, by relative least squares with factors that are at least 0, alpha_cache by model,

    t f / F - k_act = n_k (D_2 + alpha_sch (n - 2)) + alpha_cache k_act C                  (5 to 8)

where C is the cache that the others use by their own lines. Times are those of a whole batch as its server waits for
it, copies to and from the GPU included, so nothing is added for loading; kernels of a CUDA graph follow each other
without the host, so nothing is for scheduling alone. Every fifth mix is left out of a first fit, which is judged by it.
"""

import argparse
import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray
from scipy.optimize import curve_fit, nnls

from sliceplan.solver.model.fit_error import FitError
from sliceplan.solver.performance.fitting import fit_error

LEFT_OUT = 5
"""One mix of so many is left out of the fit that is judged."""

Line = NDArray[np.float64]
"""Slope and offset over the ability, 1000 batch / k_act."""


@dataclass(frozen=True)
class Resident:
    """One service of a run."""

    model: str
    batch: int
    percent: float
    """Of the SMs, as the driver gave them."""
    ms: float
    """Median time of a batch."""


@dataclass(frozen=True)
class Run:
    """What ran side by side."""

    residents: tuple[Resident, ...]
    power_w: float
    clock_mhz: float


@dataclass(frozen=True)
class Gpu:
    """What a file of runs says of its GPU."""

    name: str
    driver: str
    limit_w: float
    idle_w: float
    top_mhz: float


@dataclass(frozen=True)
class Alone:
    """What is known of a model from its runs alone."""

    active: tuple[float, ...]
    """k1 to k5."""
    power: Line
    cache: Line
    kernels: int
    errors: dict[str, FitError]

    def ms(self, batch: int, percent: float) -> float:
        """Returns k_act."""
        return float(active_ms(np.array([batch, percent]), *self.active))

    def use(self, line: Line, batch: int, percent: float) -> float:
        """Returns what it asks for by one of its lines."""
        return max(0.0, float(np.polyval(line, 1000 * batch / self.ms(batch, percent))))


@dataclass(frozen=True)
class Together:
    """What neighbours do to each other."""

    per_resident_ms: float
    """alpha_sch."""
    beside_one_ms: float
    """D_2: what one neighbour adds to the delay of a kernel."""
    sensitivity: dict[str, float]
    """alpha_cache of each model."""
    mhz_per_w: float
    """alpha_f."""


def read_runs(path: Path) -> tuple[Gpu, list[Run], list[Run]]:
    """Returns what a file says of its GPU, the runs of services alone, and the mixes."""
    about, *rows = (json.loads(line) for line in path.read_text().splitlines())
    sms = {one["share"]: one["sms"] for one in about["workers"]}
    found: dict[str, list[Run]] = {"solo": [], "mix": []}
    for row in rows:
        residents = tuple(
            Resident(one["model"], one["batch"], 100 * sms[one["share"]] / sms[100], one["q"][1])
            for one in row["residents"]
        )
        found[row["kind"]].append(Run(residents, row["power_w"], row["clock_mhz"]))
    gpu = Gpu(about["name"], about["driver"], about["limit_w"], about["idle_w"], float(about["max_clock_mhz"]))
    return gpu, found["solo"], found["mix"]


def read_cache_use(path: Path) -> dict[str, dict[int, tuple[int, float]]]:
    """Returns model -> batch size -> kernels, and percent of the L2 cache's traffic."""
    found: dict[str, dict[int, tuple[int, float]]] = {}
    for row in csv.DictReader(path.read_text().splitlines()):
        found.setdefault(row["model"], {})[int(row["batch"])] = int(row["kernels"]), float(row["l2_percent"])
    return found


def active_ms(x: NDArray[np.float64], k1: float, k2: float, k3: float, k4: float, k5: float) -> NDArray[np.float64]:
    """Eq. 11; x has shape (2, ...): batch and percent."""
    active: NDArray[np.float64] = ((k1 * x[0] + k2) * x[0] + k3) / (x[1] + k4) + k5
    return active


def fit_alone(gpu: Gpu, runs: Sequence[Run], traced: dict[int, tuple[int, float]]) -> Alone:
    """Fits the runs of one model alone; its use of the cache goes through what was traced on the whole GPU."""
    residents = [run.residents[0] for run in runs]
    x = np.array([(one.batch, one.percent) for one in residents], dtype=float).T
    clock, watts = np.array([(run.clock_mhz, run.power_w) for run in runs]).T
    ms = np.array([one.ms for one in residents]) * np.minimum(1, clock / gpu.top_mhz)
    ks, _ = curve_fit(active_ms, x, ms, p0=np.ones(5), sigma=ms, maxfev=100_000)
    ability = 1000 * x[0] / ms
    free = clock > gpu.top_mhz - 1
    power = np.polyfit(ability[free], watts[free] - gpu.idle_w, 1)
    whole = {int(batch): ability[i] for i, (batch, percent) in enumerate(x.T) if percent == 100}
    cache = np.polyfit([whole[batch] for batch in traced], [use for _, use in traced.values()], 1)
    errors = {
        "active ms": fit_error(np.abs(active_ms(x, *ks) / ms - 1)),
        "power W": fit_error(np.abs((np.polyval(power, ability[free]) + gpu.idle_w) / watts[free] - 1)),
    }
    return Alone(tuple(ks.tolist()), power, cache, max(kernels for kernels, _ in traced.values()), errors)


def fit_together(gpu: Gpu, known: dict[str, Alone], solo: Sequence[Run], mixes: Sequence[Run]) -> Together:
    """Fits what neighbours do to the mixes, and what too much power does to all runs."""
    measured = {(one.model, one.batch, one.percent): one.ms for run in solo for one in run.residents}
    models = list(known)
    factors, growth = [], []
    for run in mixes:
        for one, delays, contention in _causes(known, run):
            row = np.zeros(2 + len(models))
            row[:2], row[2 + models.index(one.model)] = delays, contention
            ms = one.ms * min(1.0, run.clock_mhz / gpu.top_mhz)
            alone = measured.get((one.model, one.batch, one.percent), known[one.model].ms(one.batch, one.percent))
            factors.append(row / ms)
            growth.append((ms - alone) / ms)
    (per_resident, beside_one, *alphas), _ = nnls(np.array(factors), np.array(growth))
    runs = [*solo, *mixes]
    over = np.maximum([_demand_w(gpu, known, run) - gpu.limit_w for run in runs], 0.0)
    loss = np.array([run.clock_mhz - gpu.top_mhz for run in runs])
    slope = min(0.0, float(over @ loss / (over @ over))) if over.any() else 0.0
    return Together(per_resident, beside_one, dict(zip(models, alphas, strict=True)), slope)


def ratios(gpu: Gpu, known: dict[str, Alone], together: Together, mixes: Sequence[Run]) -> NDArray[np.float64]:
    """Returns predicted over measured time of every resident of some mixes."""
    found = []
    for run in mixes:
        over = max(0.0, _demand_w(gpu, known, run) - gpu.limit_w)
        slow = gpu.top_mhz / (gpu.top_mhz + together.mhz_per_w * over)
        for one, (further, first), contention in _causes(known, run):
            delay = further * together.per_resident_ms + first * together.beside_one_ms
            beside = known[one.model].ms(one.batch, one.percent) + delay
            found.append((beside + together.sensitivity[one.model] * contention) * slow / one.ms)
    return np.array(found)


def _causes(known: dict[str, Alone], run: Run) -> Iterator[tuple[Resident, tuple[float, float], float]]:
    """Yields of each resident n_k (n - 2) and n_k, and k_act C."""
    uses = [known[one.model].use(known[one.model].cache, one.batch, one.percent) for one in run.residents]
    for one, own in zip(run.residents, uses, strict=True):
        its = known[one.model]
        delays = its.kernels * (len(uses) - 2.0), float(its.kernels)
        yield one, delays, its.ms(one.batch, one.percent) * (sum(uses) - own)


def _demand_w(gpu: Gpu, known: dict[str, Alone], run: Run) -> float:
    uses = (known[one.model].use(known[one.model].power, one.batch, one.percent) for one in run.residents)
    return gpu.idle_w + sum(uses)


def profile(
    gpu: Gpu, model: str, its: Alone, together: Together, beside: FitError, *, gpu_type: str, date: str
) -> dict[str, Any]:
    """Returns a profile as its file has it."""

    def rounded(value: float) -> float:
        return float(f"{value:.7g}")

    errors = {**its.errors, "beside neighbours ms": beside}
    return {
        "model": model,
        "gpu": gpu_type,
        "provenance": {
            "source": f"measured by this project on one {gpu.name}, driver {gpu.driver} (tests/real_gpu/measure.py)",
            "method": (
                "PyTorch 2.11, half precision, random weights, one CUDA graph a batch size; coefficients fitted by "
                "tests/real_gpu/fit.py (relative least squares, equations 5 to 11 of iGniter's paper)."
            ),
            "date": date,
        },
        "interference": {
            "gpu": {
                "max_power_w": gpu.limit_w,
                "idle_power_w": gpu.idle_w,
                "max_frequency_mhz": gpu.top_mhz,
                "frequency_mhz_per_w": rounded(together.mhz_per_w),
                "scheduling_ms_per_resident": rounded(together.per_resident_ms),
                "scheduling_ms_offset": rounded(together.beside_one_ms - 2 * together.per_resident_ms),
                "pcie_bytes_per_ms": 1e7,
            },
            "model": {
                "input_bytes": 0.0,
                "output_bytes": 0.0,
                "kernels": its.kernels,
                "scheduling_ms": 0.0,
                "active": [rounded(k) for k in its.active],
                "power_slope": rounded(its.power[0]),
                "power_offset_w": rounded(its.power[1]),
                "cache_slope": rounded(its.cache[0]),
                "cache_offset": rounded(its.cache[1]),
                "cache_sensitivity": rounded(together.sensitivity[model]),
            },
            "measured": {"min_batch": 1, "max_batch": 32, "min_percent": 9.0, "max_percent": 100.0},
            "errors": {name: error.model_dump() for name, error in errors.items()},
        },
    }


def fitted(
    runs: Path, cache_use: Path, *, gpu_type: str, date: str
) -> tuple[list[dict[str, Any]], NDArray[np.float64]]:
    """Returns the profiles, and predicted over measured times in the mixes that a first fit did not see."""
    gpu, solo, mixes = read_runs(runs)
    traced = read_cache_use(cache_use)
    known = {
        model: fit_alone(gpu, [run for run in solo if run.residents[0].model == model], traced[model])
        for model in dict.fromkeys(run.residents[0].model for run in solo)
    }
    seen = [run for number, run in enumerate(mixes) if number % LEFT_OUT]
    unseen = ratios(gpu, known, fit_together(gpu, known, solo, seen), mixes[::LEFT_OUT])
    together = fit_together(gpu, known, solo, mixes)
    beside = fit_error(np.abs(ratios(gpu, known, together, mixes) - 1))
    profiles = [
        profile(gpu, model, its, together, beside, gpu_type=gpu_type, date=date) for model, its in known.items()
    ]
    return profiles, unseen


def main() -> None:
    """Writes the profiles, and prints how far the fit is off in mixes that it did not see."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("runs", type=Path)
    parser.add_argument("cache_use", type=Path)
    parser.add_argument("--gpu", required=True, help="type in the catalogue")
    parser.add_argument("--date", required=True)
    parser.add_argument("-o", "--output", type=Path, required=True)
    asked = parser.parse_args()
    profiles, unseen = fitted(asked.runs, asked.cache_use, gpu_type=asked.gpu, date=asked.date)
    text = yaml.safe_dump({"version": 1, "profiles": profiles}, sort_keys=False, default_flow_style=None, width=10_000)
    asked.output.write_text(text)
    error = fit_error(np.abs(unseen - 1))
    print(
        f"{error.points} services in mixes that the fit did not see: off by {error.median:.1%} in the median, "
        f"{error.p95:.1%} in the 95th percentile, {error.max:.1%} at most; the least of predicted / measured is "
        f"{min(unseen):.3f}"
    )


if __name__ == "__main__":
    main()
