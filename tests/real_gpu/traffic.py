"""
Lets the servers of a plan serve requests for a while, and prints a table of how they did.

    python tests/real_gpu/traffic.py PROBLEM.yaml PLAN.json FOLDER SECONDS
"""

import csv
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import yaml

FIELDS = (
    *("service", "model", "rate_rps", "slo_ms", "percent_planned", "sms", "batch"),
    *("predicted_ms", "measured_ms", "requests", "p50_ms", "p99_ms", "late_percent"),
)

WARM = 20
"""One part of so many, the first one, is left out: a queue is empty when it begins."""


def main(problem: Path, plan: Path, folder: Path, seconds: float) -> None:
    """Begins the traffic of all services at one moment, waits until the last has ended, and prints CSV."""
    services = {one["name"]: one for one in read_workloads(problem)}
    begin = time.time() + 1
    name = plan.stem
    part = folder / f"{name}.part"
    part.write_text(json.dumps({"begin": begin, "seconds": seconds, "seed": 5}))
    part.rename(folder / f"{name}.go")
    while len(list(folder.glob(f"{name}.*.json"))) < len(services):
        time.sleep(0.2)
    writer = csv.DictWriter(sys.stdout, FIELDS)
    writer.writeheader()
    writer.writerows(rows(services, json.loads(plan.read_text()), folder, name))


def read_workloads(problem: Path) -> list[dict[str, Any]]:
    """Returns the services of a problem file."""
    workloads: list[dict[str, Any]] = yaml.safe_load(problem.read_text())["workloads"]
    return workloads


def rows(services: dict[str, Any], plan: dict[str, Any], folder: Path, name: str) -> list[dict[str, Any]]:
    """Returns what each service of a plan was planned to be and was, from what its server wrote."""
    found = []
    (gpu,) = plan["gpus"]
    for partition in gpu["partitions"]:
        (served,) = partition["serves"]
        asked = services[served["workload"]]
        about = json.loads((folder / f"{name}.{asked['name']}.json").read_text())
        ms = np.load(folder / f"{name}.{asked['name']}.npy")
        ms = ms[len(ms) // WARM :]
        median, p99 = np.quantile(ms, [0.5, 0.99])
        values = (
            *(asked["name"], asked["model"], asked["rate_rps"], asked["slo_ms"]),
            *(round(partition["sm_percent"], 4), about["sms"], served["batch"]),
            *(round(served["latency_ms"], 3), round(about["batches"][str(served["batch"])][1], 3), len(ms)),
            *(round(median, 2), round(p99, 2), round(100 * float((ms > asked["slo_ms"]).mean()), 3)),
        )
        found.append(dict(zip(FIELDS, values, strict=True)))
    return found


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), float(sys.argv[4]))
