"""Files and links that are made to keep their reader busy, or to put something of their own on the page."""

import base64
import json
import zlib

from problems.small_problem import GOOD

WORKLOAD = GOOD["workloads"][0]

MARKDOWN = (
    "http://evil.example/x www.evil.example ![p](http://evil.example/p.png) [l](http://evil.example) "
    "<b>bold</b> `code` $x$ :red[red] :material/home: :smile: **strong** ~~gone~~ # title"
)


def hostile_problems(size):
    """Yields names and texts of some `size` characters that are no problem, or one with too much in it."""
    many = range(size)

    def problem(what, /, **fields):
        return what, json.dumps({**GOOD, **fields})

    yield problem("unknown fields", **{f"k{i}": 1 for i in many[: size // 10]})
    yield problem("services that are lists", workloads=[[]] * (size // 4))
    yield problem("empty services", workloads=[{}] * (size // 4))
    yield problem("services that are numbers", workloads=[1] * (size // 3))
    yield problem("empty fleet entries", fleet=[{}] * (size // 4))
    yield problem("services with unknown fields", workloads=[{**WORKLOAD, "x": 1, "y": 2}] * (size // 90))
    yield problem(
        "one service with unknown fields", workloads=[{**WORKLOAD, **{f"k{i}": 1 for i in many[: size // 10]}}]
    )
    yield problem("unknown models", workloads=[{**WORKLOAD, "model": f"resn{i}"} for i in many[: size // 70]])
    yield problem("one name", workloads=[WORKLOAD] * (size // 70))
    yield problem("batch sizes that are texts", workloads=[{**WORKLOAD, "batch_sizes": ["a"] * (size // 5)}])
    yield problem("GPUs that are not in the fleet", workloads=[{**WORKLOAD, "gpus": ["H100"] * (size // 8)}])
    yield problem("unknown GPUs", workloads=[{**WORKLOAD, "gpus": [f"H{i}" for i in many[: size // 10]]}])
    yield problem("a fleet of unknown GPUs", fleet=[{"gpu": f"X{i}"} for i in many[: size // 20]])
    yield problem("one GPU type many times", fleet=GOOD["fleet"] * (size // 22))
    yield problem("empty price books", price_books=[{}] * (size // 4))
    yield problem("a long name", name="x" * size)
    yield problem("a long field", **{"x" * size: 1})
    yield problem("services that are right", workloads=[{**WORKLOAD, "name": f"w{i}"} for i in many[: size // 75]])
    yield "deep nesting", '{"a":' * (size // 6) + "1" + "}" * (size // 6)
    yield "lists in a list", "[" + "[]," * (size // 3) + "[]]"


def packed(text):
    """Returns a text as the field of a link has it."""
    return base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).rstrip(b"=").decode()
