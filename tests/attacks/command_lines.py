"""
Random inputs on the command line: damaged files, values that no field takes, options that do not belong.

    PYTHONPATH=tests nice .venv/bin/python tests/attacks/command_lines.py [--count 10000] [--seed 1]

Each begins as a command that works. Whatever is done to its files and arguments, it ends with a known exit code and
its sentences: no traceback, nothing on a terminal that is not text, no file where it was refused. All run in this
process, one after the other, with a limit of half a second for every search.
"""

import argparse
import contextlib
import io
import json
import os
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from unittest import mock

import yaml
from problems.instances import ROOT
from problems.rounds import two_in_a_round
from stand_ins.driver_listings import lgip, lgipp
from stand_ins.load_tests import GENAI_PERF, MLPERF_SERVER, MODEL_ANALYZER, PERF_ANALYZER, metrics, vllm

from sliceplan.solver import cli
from sliceplan.solver.commands.exit_codes import Exit
from sliceplan.solver.model.errors import printable

PLANS = ROOT / "plans"

LIMIT_S = 0.5

NASTY = [
    None, True, False, 0, -1, 1, 2**31, 2**63, 10**400, 1e-310, 1e308, -0.0, float("nan"), float("inf"), "", " ", "a",
    "A100-80GB", "resnet50", "1g.10gb", "mig", "\x1b[31mred\x1b[0m", "[bold]x[/bold]", "[/]", "\x00", "\u202e",
    "\ud800", "=1+1", "../../etc/passwd", "x" * 5000, [], [[]], {}, {"": ""}, [None], {"gpu": None}, [0] * 300,
]  # fmt: skip
"""Values for a field."""

ALIKE = [
    None,
    True,
    False,
    "a",
    "b",
    "A100-80GB",
    "T4",
    "resnet50",
    "bert",
    "mig",
    "mps",
    "exclusive",
    "1g.10gb",
    "search",
    [],
    {},
]
"""Values of the kinds that fields have."""

SCRAPS = [
    "\x00", "\x1b[2J", "\x9b", "\r", "\n", "\t", "&a ", "*a", "<<: ", "!!bool x", "!!python/object:os.system x", "? ",
    "- ", ": ", "{", "}", "[" * 40, "]", '"', "'", "|", ">", "#", "---\n", "1e999", "0x" + "f" * 300, ".nan", "9" * 400,
    "\u2028", "\ufeff", "2026-13-45", "\U0010ffff", "NaN", "Infinity", ",", ";",
]  # fmt: skip
"""Pieces of text for a file."""

ARGUMENTS = [
    "", "-", "--", "-1", "0", "1e999", "nan", "x" * 300, "\x1b[31m", "[red]x", "A100-80GB", "A100-80GB=0", "a:8", "a:",
    ":8", "rate=1:2:0.5", "rate=1:2:0", "rate=2:1", "rate=nan", "slo:a=1", "price:A100-80GB=1,2", "--help",
    "--time-limit", "--gap", "--planner", "exact", "parvagpu", "whole-gpu", "--most", "--json", "--profiles", ".",
    "/dev/null", "/dev/zero", "/nonexistent/file", "problem.yaml", "plan.json", "=", "--spare", "A100-80GB=1",
    "--prices", "aws-us-east-1",
]  # fmt: skip


PROFILE = {
    "model": "ours",
    "gpu": "A100-80GB",
    "provenance": {"source": "our test bench", "method": "median of 50 runs"},
    "points": [
        {
            "mig_profile": "1g.10gb",
            "batch": batch,
            "processes": 1,
            "latency_ms": ms,
            "throughput_rps": 1000 * batch / ms,
        }
        for batch, ms in ((1, 4.1), (8, 11.3))
    ],
}
"""Of a model that nobody else knows."""

LAYERS = """version: 1
models:
- model: ranker
  cores: [8, 16, 24]
  layers:
  - {name: conv1, macs: 118013952, ms: [0.515, 0.266, 0.184]}
  - {name: conv2, macs: 12845056, ms: [0.051, 0.028, 0.022]}
  provenance: {source: our test bench, method: median of 50 runs}
"""

VERSIONS = """version: 1
models:
- model: ranker
  cores: [8, 16]
  levels: [1, 2]
  layers:
  - name: conv1
    macs: 118013952
    versions:
    - {name: local, block_size: 64, parallelism: 8, ms: [[3.0, 1.6], [9.0, 5.0]]}
    - {name: parallel, block_size: 8, parallelism: 64, ms: [[4.0, 2.0], [5.0, 2.4]]}
  provenance: {source: our test bench, method: median of 50 runs}
"""

COUNTERS = "level,miss,accesses\n1,0.1,3\n1.5,0.3,4\n2.1,0.5,9\n2.2,0.6,7\n1.2,0.2,1\n"

ON_GIVEN_GPUS = """version: 1
name: two-on-one
gpus:
- {type: T4, count: 1, memory_mib: 16000, unit_percent: 10}
models:
- {model: a, rate_rps: 20, slo_ms: 200, running: {linear: [4, 1, 50, 20]}}
- {model: b, rate_rps: 10, slo_ms: 400, running: {linear: [4, 1, 50, 20]}}
provenance: {source: our test bench, method: median of 50 runs}
"""


@dataclass(frozen=True)
class Begin:
    """A command that works, with the files that it reads; text of them by name."""

    arguments: tuple[str, ...]
    files: dict[str, str]


def begins() -> list[Begin]:
    """Returns the commands that the random ones begin as."""
    problem = (PLANS / "demo.yaml").read_text()
    plan = (PLANS / "demo.plan.json").read_text()
    other = (PLANS / "mixed.plan.json").read_text()
    both = {"problem.yaml": problem, "plan.json": plan}
    profiles = (ROOT / "profiles" / "models" / "v100-sxm2-16gb-igniter.yaml").read_text()
    as_json = json.dumps({"version": 1, "name": "s", "fleet": [{"gpu": "A100-80GB", "count": 4}], "workloads": [
        {"name": "a", "model": "resnet50", "rate_rps": 100, "slo_ms": 200}]})  # fmt: skip
    node = {"kind": "Node", "metadata": {"name": "n", "labels": {"nvidia.com/gpu.count": "1"}},
            "status": {"capacity": {"nvidia.com/mig-3g.40gb": "2"}}}  # fmt: skip
    limit = ("--time-limit", str(LIMIT_S))
    own = json.loads(as_json) | {"profiles": [PROFILE]}
    own["workloads"] = [{**own["workloads"][0], "model": PROFILE["model"]}]
    turning, in_turn = two_in_a_round()
    in_turns = {"problem.json": turning.model_dump_json(), "plan.json": in_turn.model_dump_json()}
    load = (
        "--gpu",
        "A100-80GB",
        "--mig-profile",
        "3g.40gb",
        "--model",
        "m",
        "--batch",
        "8",
        "--processes",
        "1",
        "-o",
        "out.yaml",
    )
    tools = {"genai-perf": GENAI_PERF, "mlperf": MLPERF_SERVER, "model-analyzer": MODEL_ANALYZER,
             "perf-analyzer": PERF_ANALYZER, "aiperf": metrics(), "vllm": vllm()}  # fmt: skip
    return [
        Begin(("solve", "problem.yaml", *limit, "-o", "out.json"), {"problem.yaml": problem}),
        Begin(("solve", "problem.json", *limit), {"problem.json": as_json}),
        Begin(("solve", "problem.json", "--planner", "parvagpu", "--start", "plan.json"),
              {"problem.json": as_json, "plan.json": plan}),
        Begin(("price", "problem.json", *limit), {"problem.json": as_json}),
        Begin(("headroom", "problem.json", *limit, "-o", "out.json"), {"problem.json": as_json}),
        Begin(("capacity", "problem.json", *limit, "-o", "out.json", "--json", "report.json"),
              {"problem.json": as_json}),
        Begin(("solve", "problem.json", *limit, "-o", "out.json"), {"problem.json": json.dumps(own)}),
        Begin(("scenarios", "problem.json", "--family", "grid=0,100", *limit, "--csv", "out.csv", "--svg", "out.svg"),
              {"problem.json": as_json}),
        Begin(("scenarios", "problem.json", "--family", "scale=1:2:1", *limit, "--keep", "kept.json"),
              {"problem.json": as_json}),
        Begin(("cores", "layers.yaml", "--slo-ms", "5", "--queries", "50", "--cores", "24"), {"layers.yaml": LAYERS}),
        Begin(("cores", "layers.yaml", "--slo-ms", "9", "--queries", "50", "--cores", "16"), {"layers.yaml": VERSIONS}),
        Begin(
            ("cores", "layers.yaml", "--slo-ms", "9", "--queries", "30", "--cores", "24", "--full-level", "2"),
            {"layers.yaml": VERSIONS},
        ),
        Begin(("choose-versions", "layers.yaml", "--slo-ms", "9", "-o", "chosen.yaml"), {"layers.yaml": VERSIONS}),
        Begin(("fit-proxy", "counters.csv", "--level", "1", "-o", "proxy.json"), {"counters.csv": COUNTERS}),
        Begin(("inss", "models.yaml", "--scheduler", "exact", "--scheduler", "gslice", "--tasks", "100"),
              {"models.yaml": ON_GIVEN_GPUS}),
        Begin(("shed", "problem.json", *limit, "-o", "out.json"), {"problem.json": as_json}),
        Begin(("check", "problem.yaml", "plan.json"), both),
        Begin(("simulate", "problem.yaml", "plan.json", "--requests", "100", "--fail-gpu", "A100-80GB/1@1"), both),
        Begin(("simulate", "problem.yaml", "plan.json", "--requests", "100", "--neighbours", "simulated"), both),
        Begin(("simulate", "problem.yaml", "plan.json", "--seconds", "1", "--arrivals", "search-embedding=trace:t.csv",
               "--batching", "delay:5:4,8", "--measured-batches"),
              {**both, "t.csv": "time,service\n0,search-embedding\n1.5,search-embedding\n"}),
        *(Begin((name, "problem.json", "plan.json"), in_turns) for name in ("check", "simulate")),
        Begin(("follow", "problem.json", "rates.csv", "--policy", "gpulets", "--time-limit", "0.2"),
              {"problem.json": as_json, "rates.csv": "seconds,service,rate_rps\n0,a,5\n30,a,8\n60,a,2\n"}),
        Begin(("show", "plan.json"), {"plan.json": in_turns["plan.json"]}),
        Begin(("show", "plan.json"), {"plan.json": plan}),
        Begin(("show", "plan.json"), {"plan.json": other}),
        Begin(("transition", "old.json", "plan.json", "-o", "out.json"), {"old.json": other, "plan.json": plan}),
        Begin(("replan", "problem.json", "--running", "plan.json", *limit),
              {"problem.json": as_json, "plan.json": plan}),
        Begin(("assign", "plan.json", "--nodes", "a:8:A100-80GB",), {"plan.json": plan}),
        *(Begin(("export", "plan.json", "--format", name, "-o", "out"), {"plan.json": plan})
          for name in ("csv", "mig-parted", "node-labels")),
        Begin(("export", "plan.json", "--format", "deployments", "--image", "x:1", "-o", "out"), {"plan.json": plan}),
        Begin(("export", "plan.json", "--format", "triton", "--problem", "problem.yaml", "-o", "out"), both),
        *(Begin(("import-measurements", tool, "load.txt", *load), {"load.txt": text}) for tool, text in tools.items()),
        Begin(("check-catalogue", "list.txt", "--gpu", "A100-80GB"),
              {"list.txt": lgip("A100-80GB") + lgipp("A100-80GB")}),
        Begin(("profiles", "--profiles", "p.yaml"), {"p.yaml": profiles}),
        Begin(("import-state", "node-json", "node.json", "--gpu", "A100-80GB", "--idle"),
              {"node.json": json.dumps(node)}),
        Begin(("gpus",), {}),
        Begin(("schema", "plan"), {}),
    ]  # fmt: skip


def with_other_value(draw: Random, data: object, gently: bool) -> object:
    """Returns data with the value of one random place replaced, taken away or repeated; gently: by one alike."""
    if isinstance(data, dict) and data and (gently or draw.random() < 0.85):
        key = draw.choice(list(data))
        if draw.random() < 0.05:
            return {name: value for name, value in data.items() if name != key}
        return {**data, key: with_other_value(draw, data[key], gently)}
    if isinstance(data, list) and data and (gently or draw.random() < 0.85):
        i = draw.randrange(len(data))
        if draw.random() < 0.1:
            return draw.choice([[*data, data[i]], data[:i], data[::-1]])
        return [*data[:i], with_other_value(draw, data[i], gently), *data[i + 1 :]]
    if gently and isinstance(data, int | float) and not isinstance(data, bool):
        return type(data)(data * draw.choice([0, 0.1, 0.5, 2, 10, 1000]) + draw.choice([0, 0, 1, -1]))
    return draw.choice(ALIKE if gently else NASTY)


def damaged(draw: Random, text: str) -> bytes:
    """Returns a file with some places changed: values where it is data, pieces of its text, bytes."""
    kind = draw.random()
    data = yaml.safe_load(text) if kind < 0.65 and text[0] in "{v" else None
    if isinstance(data, dict):
        for _ in range(draw.randint(1, 3)):
            data = with_other_value(draw, data, gently=kind < 0.4)
        return json.dumps(data).encode("utf-8", "surrogatepass")
    if kind < 0.93:
        for _ in range(draw.randint(1, 3)):
            begin = draw.randint(0, len(text))
            end = min(len(text), begin + draw.choice([0, 0, 1, 5, 40, 1000]))
            text = text[:begin] + draw.choice([*SCRAPS, text[begin:end] * 2, ""]) + text[end:]
        return text.encode()
    content = bytearray(text.encode())
    for _ in range(draw.randint(1, 8)):
        content[draw.randrange(len(content))] = draw.randrange(256)
    return bytes(content)


def changed(draw: Random, begin: Begin) -> tuple[list[str], dict[str, bytes]]:
    """Returns random arguments and files."""
    arguments = list(begin.arguments)
    files = {name: text.encode() for name, text in begin.files.items()}
    touched = draw.random()
    if touched < 0.85 and files:
        name = draw.choice(list(files))
        files[name] = damaged(draw, begin.files[name])
    if touched > 0.75 or not files:
        for _ in range(draw.randint(1, 2)):
            place = draw.randint(1, len(arguments))
            arguments[place : place + draw.randint(0, 1)] = [draw.choice(ARGUMENTS)]
    return arguments, files


class Ended(SystemExit):
    """Stands for the end of the process."""


def run_quietly(arguments: list[str]) -> tuple[int, str, str]:
    """Runs the command line in this process; returns its exit code and what it printed."""

    def end(code: int) -> None:
        raise Ended(code)

    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.object(sys, "argv", ["sliceplan", *arguments]),
        mock.patch.object(cli, "_leave", end),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("error")
        try:
            cli.main()
            code = 0
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    return code, out.getvalue(), err.getvalue()


def run_in(folder: Path, arguments: Sequence[str], files: dict[str, bytes]) -> tuple[int, str, str, list[str]]:
    """Runs the command line in a new folder with files; returns its exit code, what it printed, and new files."""
    folder.mkdir()
    for file, content in files.items():
        (folder / file).write_bytes(content)
    home = Path.cwd()
    os.chdir(folder)
    try:
        code, out, err = run_quietly(list(arguments))
    finally:
        os.chdir(home)
    return code, out, err, sorted(path.name for path in folder.iterdir() if path.name not in files)


def wrong(arguments: list[str], code: int, out: str, err: str, new: list[str]) -> str | None:
    """Returns what is wrong with how a command ended; None: nothing."""
    if "Traceback" in err or "Traceback" in out:
        return "a traceback"
    if code == Exit.FAILED or code not in set(Exit):
        return f"exit code {code}"
    # A plan on the standard output is data: JSON has its own way to write what is no text.
    for stream, text in (("stdout", "" if out.startswith("{") else out), ("stderr", err)):
        if printable(text, keep="\n") != text:
            return f"{stream} has characters that steer a terminal"
    if code == Exit.WRONG_INPUT and not err.strip():
        return "refused without a sentence"
    if code == Exit.WRONG_INPUT and new and arguments[0] != "check":
        return f"refused, and left {new}"
    return None


@dataclass
class Outcome:
    """How random command lines ended."""

    codes: Counter[int]
    longest_s: float
    wrong: list[str]
    """Of each that ended wrongly what it was, and why that is wrong."""


def attack(count: int, seed: int) -> Outcome:
    """Runs random command lines."""
    seeds = begins()
    outcome = Outcome(Counter(), 0.0, [])
    with tempfile.TemporaryDirectory() as name:
        for i in range(count):
            arguments, files = changed(Random(f"{seed}-{i}"), seeds[i % len(seeds)])
            begun = time.monotonic()
            code, out, err, new = run_in(Path(name) / str(i), arguments, files)
            outcome.longest_s = max(outcome.longest_s, time.monotonic() - begun)
            outcome.codes[code] += 1
            if why := wrong(arguments, code, out, err, new):
                shown = {file: content[:1500] for file, content in files.items()}
                said = f"{out[:1000]}\n{err[-3000:]}"
                outcome.wrong.append(f"seed {seed}, number {i}: {why}\n{arguments}\n{shown}\n{said}")
    return outcome


def main() -> None:
    """Prints how often each exit code came, and what ended wrongly."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    outcome = attack(asked.count, asked.seed)
    print("\n\n".join(outcome.wrong))
    print(", ".join(f"exit code {code}: {number:,}" for code, number in sorted(outcome.codes.items())))
    print(f"the longest took {outcome.longest_s:.1f} s; {len(outcome.wrong)} ended wrongly")
    sys.exit(bool(outcome.wrong))


if __name__ == "__main__":
    main()
