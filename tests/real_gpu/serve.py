"""
A server of one model, as an agent starts it: healthy when its model is ready, and then under traffic of its own.

Requests arrive at random (Poisson) at the rate that is told; a free server takes what waits at once, up to its batch
size. Traffic begins and ends when a file NAME.go says (`traffic.py`); what every request took is written beside it.
"""

import argparse
import gc
import json
import threading
import time
import zlib
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import torch
from engine import Engine
from traffic import read_workloads


def main() -> None:
    """Serves until it is ended."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--workload", required=True)
    parser.add_argument("--problem", type=Path, required=True, help="problem that says its model and its rate")
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--traffic", type=Path, required=True, help="folder of the files that begin traffic")
    asked = parser.parse_args()
    with torch.no_grad():
        (its,) = (one for one in read_workloads(asked.problem) if one["name"] == asked.workload)
        engine, rate = Engine(its["model"], range(1, asked.batch + 1)), float(its["rate_rps"])
        for batch in range(1, asked.batch + 1):
            for _ in range(5):
                engine.run(batch)
        threading.Thread(target=_healthy, args=(asked.port,), daemon=True).start()
        sms = torch.cuda.get_device_properties(0).multi_processor_count
        done: set[str] = set()
        while True:
            for file in sorted(asked.traffic.glob("*.go")):
                says = json.loads(file.read_text())
                if file.name in done or says["begin"] < time.time():
                    continue
                done.add(file.name)
                ms, about = under_traffic(engine, rate, asked.batch, says, asked.workload)
                name = asked.traffic / f"{file.stem}.{asked.workload}"
                np.save(f"{name}.npy", ms)
                part = Path(f"{name}.part")
                part.write_text(json.dumps({**about, "sms": sms, "batch": asked.batch, "rate": rate}))
                part.rename(f"{name}.json")
            time.sleep(0.02)


def under_traffic(
    engine: Any, rate: float, most: int, says: dict[str, Any], workload: str
) -> tuple[np.ndarray, dict[str, Any]]:
    """
    Serves the requests of `seconds` from `begin` on.

    Returns
    -------
    The ms that each request took, in their order; and the batches by size (how many, and median and P99 of their ms).
    """
    rng = np.random.default_rng([says["seed"], zlib.crc32(workload.encode())])
    arrivals = np.cumsum(rng.exponential(1 / rate, int(rate * says["seconds"] * 1.2) + 100))
    arrivals = arrivals[arrivals < says["seconds"]] + says["begin"]
    ends = np.empty(len(arrivals))
    sizes, took = [], []
    times = [*arrivals.tolist(), float("inf")]
    gc.disable()
    first, here = 0, 0
    while first < len(arrivals):
        now = time.time()
        while times[here] <= now:
            here += 1
        size = min(here - first, most)
        if size:
            took.append(engine.run(size))
            ends[first : first + size] = time.time()
            sizes.append(size)
            first += size
    gc.enable()
    of, ran = np.array(sizes), np.array(took)
    batches = {
        size: [int((of == size).sum()), *np.quantile(ran[of == size], [0.5, 0.99])] for size in sorted(set(sizes))
    }
    return 1000 * (ends - arrivals), {"batches": batches}


class _Ready(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        """Says nothing."""


def _healthy(port: int) -> None:
    HTTPServer(("127.0.0.1", port), _Ready).serve_forever()


if __name__ == "__main__":
    main()
