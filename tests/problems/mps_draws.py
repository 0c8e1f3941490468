"""
Random problems on GPUs under MPS, over all of what is accepted: an adversary's draws.

Coefficients are V100's and the four models' of iGniter's paper, or these made steep, flat, tiny or huge one by one, or
drawn afresh. SLOs and rates are mostly near what some share and batch size achieve, so that the answer is in doubt.
GPU types are small ones of our own (few units of a share, few MPS clients) that join the catalogue for a while.
"""

import json
import math
import random
from contextlib import contextmanager
from unittest import mock

from oracles import igniter_scalar

from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.profile import Profile

UNITS = (3, 5, 8, 11, 39, 40)
"""Units of a GPU; of 11 and 39 units, unit times number is above 100 by rounding."""


def small_gpu(units):
    """Returns the name of a GPU type with so many units."""
    return f"SMALL-{units}"


@contextmanager
def small_gpus(least_sms=None):
    """
    Adds the small GPU types to the catalogue for a while.

    `least_sms`: what their hardware gives any client of MPS, of those that have so many at all; None: not known.
    """
    catalogue = load_catalogue()
    like = catalogue["V100-SXM2-16GB"].model_dump(mode="json")
    small = {}
    for units in UNITS:
        clients = 4 if units < 11 else 48
        facts = {**like, "name": small_gpu(units)}
        facts["sm_count"] = {**like["sm_count"], "value": 2 * units}
        facts["mps_max_clients"] = {**like["mps_max_clients"], "value": clients}
        if least_sms is not None and least_sms <= 2 * units:
            facts["mps_least_sms"] = {"value": least_sms, "source": "drawn"}
        small[small_gpu(units)] = (f"small-{units}.json", json.dumps(facts))
    parsed = {name: one for name, one in catalogue._parsed.items() if name not in small}
    with mock.patch.dict(catalogue._text, small), mock.patch.dict(catalogue._parsed, parsed, clear=True):
        yield


ERROR = {"points": 1, "median": 0, "p95": 0, "max": 0}
ALEXNET = {
    "input_bytes": 602112.0, "output_bytes": 4000.0, "kernels": 20, "scheduling_ms": 0.03176828,
    "active": [0.004153511, 8.711584, 23.73607, 0.05552047, 0.346011],
    "power_slope": 0.04, "power_offset_w": 37.1, "cache_slope": 0.003092046, "cache_offset": 2.03,
    "cache_sensitivity": 0.002376375,
}  # fmt: skip
VGG19 = {
    "input_bytes": 602112.0, "output_bytes": 4000.0, "kernels": 44, "scheduling_ms": 0.11,
    "active": [0.16, 93.0, 40.0, 1.2, 2.3],
    "power_slope": 0.36, "power_offset_w": 5.0, "cache_slope": 0.025, "cache_offset": 12.0,
    "cache_sensitivity": 0.004,
}  # fmt: skip
V100 = {
    "max_power_w": 300.0, "idle_power_w": 53.5, "max_frequency_mhz": 1530.0, "frequency_mhz_per_w": -1.025414,
    "scheduling_ms_per_resident": 0.004750653, "scheduling_ms_offset": -0.009022426, "pcie_bytes_per_ms": 1e7,
}  # fmt: skip


def log(draw, low, high):
    return math.exp(draw.uniform(math.log(low), math.log(high)))


def gpu_coefficients(draw):
    found = dict(V100)
    for _ in range(draw.choice((0, 0, 1, 1, 2, 6))):
        field = draw.choice(list(found))
        per_resident = found["scheduling_ms_per_resident"]
        found[field] = draw.choice(
            {
                "max_power_w": (60.0, 150.0, 1e4, log(draw, 1, 1e4)),
                "idle_power_w": (0.0, 299.999, 53.5),
                "max_frequency_mhz": (0.5, 1.0, 1e5, log(draw, 1, 1e4)),
                "frequency_mhz_per_w": (0.0, -0.01, -5.0, -100.0, -log(draw, 1e-3, 1e4)),
                "scheduling_ms_per_resident": (0.0, 0.1, log(draw, 1e-6, 10)),
                "scheduling_ms_offset": (0.0, -2 * per_resident, 1.0, log(draw, 1e-6, 10)),
                "pcie_bytes_per_ms": (1e7, 1e3, 1.0, 1e12),
            }[field]
        )
    found["idle_power_w"] = min(found["idle_power_w"], found["max_power_w"] * 0.99)
    found["scheduling_ms_offset"] = max(found["scheduling_ms_offset"], -2 * found["scheduling_ms_per_resident"])
    return found


def model_coefficients(draw):
    found = dict(draw.choice((ALEXNET, VGG19)))
    for _ in range(draw.choice((0, 1, 1, 2, 3, 8))):
        field = draw.choice([*found, "power_slope", "power_slope", "active", "active"])
        found[field] = draw.choice(
            {
                "input_bytes": (0.0, 1e6, 1e9),
                "output_bytes": (0.0, 1e6, 1e9),
                "kernels": (1, 1000, 10**6),
                "scheduling_ms": (0.0, 10.0, log(draw, 1e-6, 1e3)),
                "active": (
                    [0.0, 0.0, 10.0, 0.0, 0.0],
                    [0.0, 1.0, 0.0, -0.9, 0.0],
                    [0.0, log(draw, 1e-3, 1e3), log(draw, 1e-3, 1e3), draw.uniform(-0.99, 50), draw.uniform(0, 5)],
                    [0.0, 1e-3, 0.0, 0.0, log(draw, 1e-3, 10)],
                    [-0.01, 5.0, log(draw, 1e-3, 1e2), 1e3, 0.0],
                    [1.0, -3.0, 3.0, 0.0, 0.1],
                    [1.0, -10.0, 24.5, 0.0, 0.1],
                ),
                "power_slope": (0.0, found["power_slope"] * log(draw, 1, 30), log(draw, 1e-3, 1e2), 1e4),
                "power_offset_w": (0.0, -1e4, 300.0, 1e4, draw.uniform(-200, 200)),
                "cache_slope": (0.0, 1.0, log(draw, 1e-4, 1e2)),
                "cache_offset": (0.0, -50.0, 100.0, 1e6),
                "cache_sensitivity": (0.0, 0.1, log(draw, 1e-4, 10)),
            }[field]
        )
    return found


def drawn_profile(draw, model, gpu, coefficients, tables):
    while True:
        try:
            return _drawn_profile(draw, model, gpu, coefficients, tables)
        except ValueError:  # refused, so not of what is accepted
            continue


def _drawn_profile(draw, model, gpu, coefficients, tables):
    known = {
        "gpu": coefficients,
        "model": model_coefficients(draw),
        "measured": {
            "min_batch": draw.choice((1, 1, 1, 2, 8)),
            "max_batch": draw.choice((8, 16, 32, 32)),
            "min_percent": 10.0,
            "max_percent": 100.0,
        },
        "memory_mib": draw.choice((None, None, None, 1000.0, 7000.0, 20_000.0 if draw.random() < 0.1 else 4000.0)),
        "errors": {"active ms": ERROR},
    }
    data = {"model": model, "gpu": gpu, "interference": known, "provenance": {"source": "drawn", "method": "drawn"}}
    if tables:
        data["points"] = own_table(draw, known)
        data["neighbours"] = {
            "own_l2": draw.uniform(-0.01, 0.02), "other_l2": draw.uniform(-0.01, 0.05),
            "own_dram": draw.uniform(-0.01, 0.02), "other_dram": draw.uniform(-0.01, 0.05),
            "constant": draw.uniform(-0.2, 0.2), "pairs": 5, "error": ERROR,
        }  # fmt: skip
    return Profile.model_validate(data)


def own_table(draw, known):
    """Returns a table of the model alone at some shares, the clock apart, each figure off by a little."""
    points = []
    for percent in draw.choice(((20.0, 40.0, 50.0, 60.0, 80.0), (25.0, 50.0, 100.0), (50.0, 75.0, 100.0))):
        for batch, processes in {(known["measured"]["min_batch"], 1), (8, 1), (8, draw.choice((1, 1, 2)))}:
            if batch < 8 and draw.random() < 0.1:
                continue
            k1, k2, k3, k4, k5 = known["model"]["active"]
            time_ms = max(((k1 * batch + k2) * batch + k3) / (percent + k4) + k5, 1e-6) * draw.uniform(0.9, 1.3)
            use = draw.uniform(0, 100) if draw.random() < 0.8 else None
            points.append(
                {"sm_percent": percent, "batch": batch, "processes": processes, "latency_ms": time_ms,
                 "throughput_rps": 1000 * processes * batch / time_ms, "l2_percent": use, "dram_percent": use}
            )  # fmt: skip
    return points


def drawn_workload(draw, name, profiles, settings, easy=False):
    """Returns a workload of one of the models, with an SLO and a rate near, or if easy below, what a share achieves."""
    profile = draw.choice(profiles)
    known = profile.interference
    extent = known.measured
    workload = {"name": name, "model": profile.model}
    batches = range(extent.min_batch, extent.max_batch + 1)
    if profile.points:
        batches = sorted({point.batch for point in profile.points} & set(batches))
    elif draw.random() < 0.9:
        batches = sorted(draw.sample(batches, k=min(draw.choice((1, 1, 1, 2, 2, 3)), len(batches))))
        workload["batch_sizes"] = batches
    number = load_catalogue()[profile.gpu].sm_count.value // 2
    most = max(int(number * (100 - settings["shadow_percent"]) / 100), 1)
    shares = sorted({1, max(most // 5, 1), max(most // 3, 1), max(most // 2, 1), max(3 * most // 4, 1), most})
    at = [
        igniter_scalar.predict(known.gpu, [(known.model, batch, 100 * units / number)])[0]
        for batch in (batches[0], batches[-1])
        for units in shares
    ]
    near = draw.choice((draw.choice(at), draw.choice(at), min(at, key=lambda one: one.latency_ms)))
    replicas = draw.choice(("one", "one", "one", "any", "two", "many"))
    limit = near.latency_ms * draw.choice((1.0001, draw.uniform(1, 1.3), draw.uniform(1, 2), draw.uniform(1, 8)))
    rate = near.throughput_rps * draw.choice((draw.uniform(0.05, 0.5), draw.uniform(0.3, 0.999)))
    if replicas != "one":
        rate *= draw.choice((0.5, 1.0, draw.uniform(1, 2.5)))
    if easy:
        limit, rate = limit * draw.uniform(1, 2), rate * draw.uniform(0.1, 0.8)
    if draw.random() < 0.05:
        rate = draw.choice((1e-9, 1e-3, 1.0, log(draw, 1e-6, 1e6)))
    if draw.random() < (0.001 if easy else 0.05):
        limit = draw.choice((0.95 * near.latency_ms, 1e-3, 1e6, log(draw, 1e-3, 1e6)))
    workload["slo_ms"] = min(max(limit / settings["slo_fraction"], 1e-9), 1e9)
    workload["rate_rps"] = min(max(rate / (1 + settings["headroom"]), 1e-9), 1e7)
    if replicas == "one":
        workload["max_replicas"] = 1
    elif replicas == "two":
        workload["max_replicas"] = 2
        workload["min_replicas"] = draw.choice((1, 1, 2))
    elif replicas == "many":
        workload["min_replicas"] = draw.choice((1, 2, 3))
        workload["max_replicas"] = draw.choice((3, 4, None))
    if easy or draw.random() < 0.2:
        workload["memory_mib"] = draw.choice(
            (500.0, 3000.0) if easy else (500.0, 3000.0, 6000.0, 8079.0, 9000.0, 16158.0)
        )
    if draw.random() < 0.1:
        workload["value"] = draw.choice((0.0, 1.0, 1e6))
    return workload


def drawn_settings(draw):
    return {
        "slo_fraction": draw.choice((0.5, 1.0, draw.uniform(0.1, 1.0))),
        "headroom": draw.choice((0.0, 0.0, 0.2, 5.0)),
        "mps_rules": draw.choice(("free", "free", "igniter")),
        "shadow_percent": draw.choice((0.0,) * 12 + (10.0, 50.0, 90.0, 99.0)),
        "max_processes": draw.choice((1, 3)),
    }


def drawn_fleet(draw, types, easy):
    fleet = []
    for gpu in types:
        entry = {"gpu": gpu, "price_per_hour": draw.choice((1.0, 1.0, 2.5, round(draw.uniform(0.5, 4), 2)))}
        kinds = (["mps"], ["mps"], ["mps"], ["mps", "exclusive"], ["exclusive"])
        entry["sharing"] = draw.choice(kinds[:4] if easy else kinds)
        if draw.random() < (0.2 if easy else 0.5):
            entry["count"] = draw.choice((0 if draw.random() < 0.1 else 2, 1, 2, 3, 4, 10)) + 20 * easy
        fleet.append(entry)
    if not any("mps" in entry["sharing"] for entry in fleet):
        fleet[0]["sharing"] = ["mps"]
    return fleet


def drawn(seed, family="small"):
    """Returns a problem and its profiles; `family` is one of FAMILIES."""
    draw = random.Random(f"{family}-{seed}")
    return FAMILIES[family](draw, f"mps-{family}-{seed}")


def _problem(draw, name, types, models, workloads, coefficients=gpu_coefficients, easy=False, **settings):
    """Returns a problem with so many models and workloads, and its profiles."""
    profiles = []
    tables = draw.random() < 0.3
    for gpu in types:
        of_gpu = coefficients(draw)
        profiles += [drawn_profile(draw, f"m{i}", gpu, of_gpu, tables) for i in range(models)]
    if len(profiles) > 1 and len(types) > 1 and draw.random() < 0.2:
        profiles.pop()
    asked = drawn_settings(draw) | settings
    asking = [drawn_workload(draw, f"w{i}", profiles, asked, easy) for i in range(workloads)]
    if len(types) > 1 and draw.random() < 0.2:
        asking[0]["gpus"] = [draw.choice(types)]
    fleet = drawn_fleet(draw, types, easy)
    data = {"version": 1, "name": name, "fleet": fleet, "workloads": asking, "settings": asked}
    return Problem.model_validate(data), profiles


def _small(draw, name):
    """Few units, models and workloads, so that everything can be tried."""
    types = [draw.choice([small_gpu(units) for units in UNITS[:5]] * 2 + ["V100-SXM2-16GB", "T4"])]
    if draw.random() < 0.25:
        types.append(draw.choice([small_gpu(3), small_gpu(5), small_gpu(8)]))
    models, workloads = draw.choice((1, 2, 2, 3)), draw.choice((1, 1, 2, 2, 3, 4))
    return _problem(draw, name, list(dict.fromkeys(types)), models, workloads)


def _large(draw, name):
    """Up to 40 workloads and three GPU types; too many to try everything."""
    types = draw.sample(
        ["V100-SXM2-16GB", "T4", small_gpu(39), small_gpu(40), small_gpu(8)], k=draw.choice((1, 1, 2, 3))
    )
    return _problem(
        draw,
        name,
        types,
        draw.choice((1, 3, 6)),
        draw.randint(5, 40),
        easy=True,
        shadow_percent=draw.choice((0.0, 10.0)),
    )


def _absurd(draw, name):
    """Figures that no GPU has, but that are accepted: each coefficient up to what a float holds."""

    def gpu(draw):
        found = gpu_coefficients(draw)
        found[draw.choice([key for key in found if key != "scheduling_ms_offset"])] *= 10.0 ** draw.choice(DECADES)
        found["idle_power_w"] = min(found["idle_power_w"], found["max_power_w"] / 2)
        found["scheduling_ms_offset"] = max(found["scheduling_ms_offset"], -2 * found["scheduling_ms_per_resident"])
        return found

    problem, profiles = _problem(draw, name, [draw.choice((small_gpu(5), "T4"))], 2, draw.choice((1, 2)), gpu)
    changed = []
    for profile in profiles:
        data = profile.model_dump(mode="json")
        model = data["interference"]["model"]
        field = draw.choice([*model, "active"])
        if field == "active":
            at = draw.choice((0, 1, 2, 3, 4))
            model["active"][at] = abs(model["active"][at]) * 10.0 ** draw.choice(DECADES)
        elif field == "kernels":
            model["kernels"] *= 10 ** draw.choice((3, 9, 15))
        else:
            model[field] = max(model[field], 1e-3) * 10.0 ** draw.choice(DECADES)
        if draw.random() < 0.3:
            data["interference"]["measured"]["max_batch"] = draw.choice((4096, 65536))
        try:
            changed.append(Profile.model_validate(data))
        except ValueError:
            changed.append(profile)
    return problem, changed


DECADES = (-300, -30, -9, -3, 3, 9, 15, 30, 300)


def _many_replicas(draw, name):
    """Workloads that need many GPUs, or want many partitions, of which the fleet has as many as needed."""
    problem, profiles = _problem(
        draw, name, [draw.choice((small_gpu(8), "T4"))], 2, draw.choice((1, 2, 3)), easy=True, shadow_percent=0.0
    )
    workloads = []
    for one in problem.workloads:
        least = draw.choice((1, 1, 10, 100, 2000))
        rate = min(one.rate_rps * draw.choice((1, 10, 100, 1000)), 1e7)
        limits = {
            "min_replicas": least,
            "max_replicas": draw.choice((None, None, 5 * least, 100_000)),
            "rate_rps": rate,
        }
        workloads.append(one.model_copy(update=limits))
    fleet = tuple(entry.model_copy(update={"count": draw.choice((None, None, 50))}) for entry in problem.fleet)
    return problem.model_copy(update={"workloads": tuple(workloads), "fleet": fleet}), profiles


def _mixed(draw, name):
    """MIG beside MPS and whole GPUs."""
    problem, profiles = _problem(draw, name, [draw.choice((small_gpu(8), "T4"))], 2, draw.choice((1, 2, 3, 4)))
    for model in ("m0", "m1"):
        points = [
            {"mig_profile": mig, "batch": batch, "processes": 1, "latency_ms": time_ms,
             "throughput_rps": 1000 * batch / time_ms}
            for mig in draw.sample(("1g.6gb", "2g.12gb", "4g.24gb", "1g.6gb+me"), k=draw.choice((1, 2, 3)))
            for batch in draw.sample((1, 2, 4, 8, 16, 32), k=2)
            for time_ms in [log(draw, 0.5, 500)]
        ]  # fmt: skip
        data = {
            "model": model,
            "gpu": "A30-24GB",
            "points": points,
            "provenance": {"source": "drawn", "method": "drawn"},
        }
        profiles.append(Profile.model_validate(data))
    a30 = {
        "gpu": "A30-24GB",
        "price_per_hour": draw.choice((1.0, 2.0, 0.7)),
        "sharing": ["mig"],
        "count": draw.choice((None, 1, 4)),
    }
    data = problem.model_dump(mode="json")
    return Problem.model_validate({**data, "fleet": [*data["fleet"], a30]}), profiles


FAMILIES = {
    "small": _small,
    "large": _large,
    "absurd": _absurd,
    "many-replicas": _many_replicas,
    "mixed": _mixed,
}
