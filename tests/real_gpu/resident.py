"""
A process on one share of a GPU: it holds all models, and runs over and over what it is told, from one time to another.

An order is a line of JSON on its standard input: model, batch, and the times `begin`, `count_from` and `end` in
seconds since 1970. Its answer is a line, too: how many batches were counted, and quantiles of their ms. The first line
tells the share that was asked for and the SMs that it is.
"""

import json
import os
import sys
import time

import numpy as np
import torch
from engine import Engine
from models import MODELS

QUANTILES = (0.01, 0.5, 0.9, 0.99)


def main() -> None:
    """Answers orders until there are no more."""
    batches = [int(word) for word in sys.argv[1].split(",")]
    with torch.no_grad():
        engines = {name: Engine(name, batches) for name in MODELS}
        sms = torch.cuda.get_device_properties(0).multi_processor_count
        say({"share": int(os.environ["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"]), "sms": sms})
        for line in sys.stdin:
            order = json.loads(line)
            engine, batch = engines[order["model"]], order["batch"]
            while time.time() < order["begin"]:
                pass
            times = []
            while (now := time.time()) < order["end"]:
                took = engine.run(batch)
                if order["count_from"] <= now:
                    times.append(took)
            say({"n": len(times), "q": np.quantile(times, QUANTILES).tolist()})


def say(what: object) -> None:
    """Prints a line of JSON."""
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    main()
