"""
How long the page is kept busy by links and uploads that are made for it, and how much memory they take.

    .venv/bin/python tests/benchmarks/hostile.py [--mib 4.5]

Each is read in a process of its own; the memory is what that process has at most beyond what it has before.
"""

import argparse
import json
import multiprocessing
import resource
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from ran_on import say_what_it_ran_on
from support.hostile_inputs import hostile_problems, packed

from sliceplan.app.session.deep_link import opened_session
from sliceplan.app.session.links import MOST_BYTES, MOST_CHARACTERS
from sliceplan.app.session.uploaded import uploaded_problem
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.model.errors import InputError


def main() -> None:
    """Prints a line for each kind, the slowest of each kind of input last."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mib", type=float, default=4.5)
    size = int(parser.parse_args().mib * 2**20)
    say_what_it_ran_on("links and files that are made to keep their reader busy")
    read_upload("a.json", json.dumps(example_problems()["demo"].model_dump(mode="json")))
    worst = {"link": (0.0, 0.0), "JSON": (0.0, 0.0), "YAML": (0.0, 0.0)}
    for kind, name, read in inputs(size):
        seconds, mib, said = alone(read)
        worst[kind] = max(worst[kind][0], seconds), max(worst[kind][1], mib)
        print(f"{kind} {name}: {seconds:.2f} s, {mib:.0f} MiB: {said}", flush=True)
    for kind, (seconds, mib) in worst.items():
        print(f"{kind}: at most {seconds:.2f} s of CPU time and {mib:.0f} MiB")


def inputs(size):
    """Yields the kind, the name, and what reads it."""
    for name, text in hostile_problems(MOST_BYTES - 100):
        link = packed(text)
        if len(link) <= MOST_CHARACTERS:
            yield "link", f"{name} ({len(link):,} characters)", lambda link=link: opened_session({"problem": link}, "u")
    for name, text in hostile_problems(size):
        yield "JSON", name, lambda text=text: read_upload("a.json", text)
        yield "YAML", name, lambda text=text: read_upload("a.yaml", text)
    rows = "".join(f"- {{name: w{i}, model: resnet50, rate_rps: 1, slo_ms: 200}}\n" for i in range(22_000))
    text = f"version: 1\nname: x\nfleet: [{{gpu: A100-80GB}}]\nworkloads:\n{rows}"
    yield "YAML", "22,000 services, as many as are read", lambda: read_upload("a.yaml", text)


def read_upload(name, text):
    """Reads a file as the page does."""
    return uploaded_problem(name, text.encode())


def alone(read):
    """Returns CPU seconds, MiB, and what was said, of something that is done in a process of its own."""
    receiving, sending = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=measured, args=(read, sending))
    process.start()
    found = receiving.recv()
    process.join()
    return found


def measured(read, sending):
    """Does something, and sends what it took."""
    before, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    try:
        read()
        said = "read"
    except InputError as error:
        said = str(error).splitlines()[0][:90]
    took = time.process_time() - begun
    sending.send((took, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024, said))


if __name__ == "__main__":
    main()
