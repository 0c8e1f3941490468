"""
Says how many kernels a model has and how much of the L2 cache's traffic it makes, as a table for the fit.

    ncu --clock-control none --profile-from-start off --csv \
        --metrics lts__t_sectors.avg.pct_of_peak_sustained_elapsed,gpu__time_duration.sum \
        python tests/real_gpu/cache_use.py run > TRACE.csv
    python tests/real_gpu/cache_use.py table TRACE.csv > CACHE_USE.csv

Each model runs once at each batch size, alone on the whole GPU and kernel by kernel, behind a kernel whose name begins
nothing else.
"""

import csv
import sys
from pathlib import Path

from models import MODELS

BATCHES = (1, 16)
TRAFFIC, TIME = "lts__t_sectors.avg.pct_of_peak_sustained_elapsed", "gpu__time_duration.sum"


def run() -> None:
    """Runs every model at every batch size, the traced part of it once."""
    import torch
    from engine import Engine

    with torch.no_grad():
        engines = {name: Engine(name, BATCHES, as_graph=False) for name in MODELS}
        for engine in engines.values():
            for batch in BATCHES:
                engine.run(batch)
        torch.cuda.synchronize()
        torch.cuda.cudart().cudaProfilerStart()
        for engine in engines.values():
            for batch in BATCHES:
                torch.cuda._sleep(1000)
                engine.run(batch)
        torch.cuda.synchronize()
        torch.cuda.cudart().cudaProfilerStop()


def table(trace: Path) -> None:
    """Prints a row a model and batch size: its kernels, and the mean of their traffic, weighted by their times."""
    kernels: dict[str, dict[str, float]] = {}
    names = {}
    for row in csv.DictReader(line for line in trace.read_text().splitlines() if line.startswith('"')):
        kernels.setdefault(row["ID"], {})[row["Metric Name"]] = float(row["Metric Value"].replace(",", ""))
        names[row["ID"]] = row["Kernel Name"]
    order = iter([(model, batch) for model in MODELS for batch in BATCHES])
    found: dict[tuple[str, int], list[dict[str, float]]] = {}
    for key, metrics in kernels.items():
        if "spin_kernel" in names[key]:
            here = found.setdefault(next(order), [])
        else:
            here.append(metrics)
    print("model,batch,kernels,l2_percent")
    for (model, batch), some in found.items():
        use = sum(one[TRAFFIC] * one[TIME] for one in some) / sum(one[TIME] for one in some)
        print(f"{model},{batch},{len(some)},{use:.4f}")


if __name__ == "__main__":
    run() if sys.argv[1] == "run" else table(Path(sys.argv[2]))
