"""
Reads `vllm bench serve --save-result` (vllm/benchmarks/serve.py): a JSON document a run, several with --append-result.

    {"model_id": "m", "num_prompts": 200, "request_rate": "inf", "max_concurrency": 8, "completed": 200,
     "request_throughput": 3.9, "mean_e2el_ms": 2040.0, "p99_e2el_ms": 2300.0}

Latencies of whole requests (e2el, milliseconds) are there only with --percentile-metrics ...,e2el. Without them they
are computed from the lists of --save-detailed: time to first token plus the gaps between tokens, in seconds. Without
these their mean is computed, from the means that every run has:

    mean e2el = mean ttft + mean tpot x (output tokens / requests - 1)

since tpot is (e2el - ttft) / (tokens - 1) of a request; exact where all answers have the same number of tokens. No
percentile follows from those of parts. A run at a rate without max_concurrency does not tell how many requests were in
flight.
"""

import math
from typing import Any

from .figures import json_documents, positive
from .sample import Sample, SourceText, collected, refused

NAMES = {"mean": "avg", "median": "p50", "p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99"}
"""What vLLM calls a statistic -> what it is here."""

COMPUTED = (
    "the latency of whole requests is computed from their mean times to the first token and for each further one, as "
    "the run has none of its own (--percentile-metrics ttft,tpot,itl,e2el)"
)

RANKS = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}


def read(files: list[SourceText]) -> list[Sample]:
    """Returns a sample for each run of each file; raises InputError with every finding."""
    documents = [
        (file.source, f"run {number}", data)
        for file in files
        for number, document in enumerate(json_documents(file.text, file.source), 1)
        for data in (document if isinstance(document, list) else [document])
    ]
    return collected(documents, lambda one: _sample(*one))


def _sample(source: str, where: str, data: Any) -> Sample:
    if not isinstance(data, dict) or "request_throughput" not in data:
        raise refused(source, where, "has no request_throughput; expected a result of `vllm bench serve`")
    completed, wanted = data.get("completed"), data.get("num_prompts")
    if isinstance(completed, int) and isinstance(wanted, int) and completed < wanted:
        raise refused(source, where, f"completed {completed} of {wanted} requests; repeat the run without failures")
    latencies = {
        name: positive(data[f"{stem}_e2el_ms"], source, f"{where} {stem}_e2el_ms")
        for stem, name in NAMES.items()
        if data.get(f"{stem}_e2el_ms") is not None
    } or _from_details(data, source, where)
    remark = None
    if not latencies and (mean := _from_means(data, source, where)) is not None:
        latencies, remark = {"avg": mean}, COMPUTED
    if not latencies:
        message = "has no latency of whole requests; run it with --percentile-metrics ttft,tpot,itl,e2el"
        raise refused(source, where, message)
    limit, model = data.get("max_concurrency"), data.get("model_id")
    return Sample(
        source=source,
        where=where,
        inferences_per_s=positive(data["request_throughput"], source, f"{where} request_throughput"),
        latencies_ms=latencies,
        model=model if isinstance(model, str) and model else None,
        concurrency=None if limit is None else positive(limit, source, f"{where} max_concurrency"),
        request_batch=1,
        continuous=True,
        processes=1,
        remark=remark,
    )


def _from_means(data: dict[str, Any], source: str, where: str) -> float | None:
    """Returns the mean latency of whole requests (see above), milliseconds; None: a figure for it is missing."""
    names = ("mean_ttft_ms", "mean_tpot_ms", "total_output_tokens", "completed")
    if any(data.get(name) is None for name in names):
        return None
    first, token, tokens, requests = (positive(data[name], source, f"{where} {name}") for name in names)
    return first + token * max(tokens / requests - 1, 0.0)


def _from_details(data: dict[str, Any], source: str, where: str) -> dict[str, float]:
    """Returns the statistics of what the lists add up to; none if there are no lists."""
    first, gaps = data.get("ttfts"), data.get("itls")
    if not isinstance(first, list) or not isinstance(gaps, list) or not first or len(first) != len(gaps):
        return {}
    seconds = []
    for number, (start, steps) in enumerate(zip(first, gaps, strict=True)):
        numbers: list[Any] = [start, *steps] if isinstance(steps, list) else [None]
        if not all(isinstance(one, int | float) and math.isfinite(one) and one >= 0 for one in numbers):
            raise refused(source, f"{where} ttfts[{number}], itls[{number}]", "are no times in seconds")
        seconds.append(math.fsum(numbers))
    ordered = sorted(seconds)
    found = {name: positive(1000 * _rank(ordered, rank), source, f"{where} {name}") for name, rank in RANKS.items()}
    return {**found, "avg": positive(1000 * math.fsum(ordered) / len(ordered), source, f"{where} avg")}


def _rank(ordered: list[float], rank: float) -> float:
    """Returns a percentile, linear between ranks as numpy and vLLM have it."""
    position = rank * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])
