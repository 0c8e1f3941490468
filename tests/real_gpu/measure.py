"""
Measures models alone and beside each other on shares of one GPU under MPS; writes a line of JSON a run.

    python tests/real_gpu/measure.py RUNS.jsonl [MIXES]

Every share is a process of its own (`resident.py`), since a share is given at the start; a run tells some of them what
to execute. Power and clock are read meanwhile. No setting of the GPU is changed: an MPS daemon with folders of its own
is started, and ended. It takes PyTorch, nvidia-ml-py and some 20 GB of the GPU's memory; 150 s on an H200 with 16 CPUs.
"""

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pynvml as nvml
from models import MODELS

SHARES = (10, 10, 20, 20, 20, 30, 40, 50, 70, 100)
"""Percent of each process; those of a run are 100 at most, the others stand still meanwhile."""

ALONE = (10, 20, 30, 50, 70, 100)
BATCHES = (1, 4, 8, 16, 32)

SETTLE_S, ALONE_S, MIX_S = 0.12, 0.4, 0.6

NVML_FI_DEV_POWER_INSTANT = 186
"""Power now; what nvmlDeviceGetPowerUsage says is the mean of a second on these GPUs."""


def main(out: Path, mixes: int) -> None:
    """Measures all there is, and writes each run as it ends."""
    nvml.nvmlInit()
    gpu = nvml.nvmlDeviceGetHandleByIndex(0)
    with residents() as processes, out.open("w") as file:
        told = [json.loads(one.stdout.readline()) for one in processes]
        time.sleep(1)
        for row in ({"kind": "gpu", **about(gpu), "workers": told}, *runs(gpu, processes, mixes)):
            file.write(json.dumps(row) + "\n")
            file.flush()


@contextmanager
def residents() -> Iterator[list[Any]]:
    """Starts an MPS daemon and a process for each share, and ends them."""
    folder = Path(tempfile.mkdtemp())
    env = {**os.environ, "CUDA_MPS_PIPE_DIRECTORY": f"{folder}/pipe", "CUDA_MPS_LOG_DIRECTORY": f"{folder}/log"}
    for part in ("pipe", "log"):
        (folder / part).mkdir()
    subprocess.run(["nvidia-cuda-mps-control", "-d"], env=env, check=True)
    words = [sys.executable, str(Path(__file__).with_name("resident.py")), ",".join(map(str, BATCHES))]
    started = []
    try:
        for share in SHARES:
            its = {**env, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": str(share), "OMP_NUM_THREADS": "1"}
            started.append(subprocess.Popen(words, env=its, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        yield started
    finally:
        for one in started:
            one.stdin.close()
        for one in started:
            one.wait(20)
        subprocess.run(["nvidia-cuda-mps-control"], input="quit\n", text=True, env=env, timeout=30, check=False)


def runs(gpu: Any, processes: Sequence[Any], mixes: int) -> Iterator[dict[str, Any]]:
    """Yields each run: all models alone, then mixes drawn at random, every fifth of copies of one service."""
    for model in MODELS:
        for share in ALONE:
            for batch in BATCHES:
                yield {"kind": "solo", **run(gpu, processes, [SHARES.index(share)], [(model, batch)], ALONE_S)}
    rng = random.Random(7)
    for number in range(mixes):
        who = some(rng)
        what = [(rng.choice(MODELS), rng.choice(BATCHES)) for _ in who]
        if number % 5 == 0:
            what = [what[0]] * len(who)
        yield {"kind": "mix", **run(gpu, processes, who, what, MIX_S)}


def some(rng: random.Random) -> list[int]:
    """Returns 2 to 6 processes that have 60 to 100 % of the GPU together."""
    while True:
        who = rng.sample(range(len(SHARES)), rng.randint(2, 6))
        if 60 <= sum(SHARES[one] for one in who) <= 100:
            return who


def run(
    gpu: Any, processes: Sequence[Any], who: Sequence[int], what: Sequence[tuple[str, int]], length_s: float
) -> dict[str, Any]:
    """Lets processes execute side by side; returns what each took, and the mean power and clock meanwhile."""
    begin = time.time() + 0.01
    order = {"begin": begin, "count_from": begin + SETTLE_S, "end": begin + SETTLE_S + length_s}
    for one, (model, batch) in zip(who, what, strict=True):
        processes[one].stdin.write(json.dumps({**order, "model": model, "batch": batch}) + "\n")
        processes[one].stdin.flush()
    power, clock = [], []
    while (now := time.time()) < order["end"]:
        if now > order["count_from"]:
            power.append(power_w(gpu))
            clock.append(nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_SM))
        time.sleep(0.02)
    answers = [json.loads(processes[one].stdout.readline()) for one in who]
    return {
        "residents": [
            {"share": SHARES[one], "model": model, "batch": batch, **answer}
            for one, (model, batch), answer in zip(who, what, answers, strict=True)
        ],
        "power_w": statistics.fmean(power),
        "clock_mhz": statistics.fmean(clock),
    }


def about(gpu: Any) -> dict[str, Any]:
    """Returns what the fit asks of the GPU, at rest."""
    return {
        "name": nvml.nvmlDeviceGetName(gpu),
        "driver": nvml.nvmlSystemGetDriverVersion(),
        "limit_w": nvml.nvmlDeviceGetEnforcedPowerLimit(gpu) / 1000,
        "idle_w": power_w(gpu),
        "max_clock_mhz": nvml.nvmlDeviceGetMaxClockInfo(gpu, nvml.NVML_CLOCK_SM),
    }


def power_w(gpu: Any) -> float:
    """Returns what the GPU draws now."""
    watts: float = nvml.nvmlDeviceGetFieldValues(gpu, [NVML_FI_DEV_POWER_INSTANT])[0].value.uiVal / 1000
    return watts


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 90)
