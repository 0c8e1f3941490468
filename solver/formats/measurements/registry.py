"""
The load testers whose results can be read; adding one is adding a module with a function `read`, and a row here.

A module is loaded when it is used, so that the command line knows all names and starts at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module

from ..transcripts import without_prompts
from .sample import LeftOut, Reader, Sample, SourceText


@dataclass(frozen=True)
class Tool:
    """A load tester."""

    name: str
    description: str
    read: Reader


def _lazy(module: str) -> Reader:
    def read(files: list[SourceText]) -> Sequence[Sample | LeftOut]:
        reader: Reader = import_module(f".{module}", __package__).read
        return reader([SourceText(file.source, without_prompts(file.text)) for file in files])

    return read


TOOLS = {
    tool.name: tool
    for tool in (
        Tool("model-analyzer", "metrics-model-inference.csv, and -gpu.csv", _lazy("model_analyzer")),
        Tool("perf-analyzer", "the CSV of -f, with --verbose-csv or not", _lazy("perf_analyzer")),
        Tool("aiperf", "profile_export_aiperf.json, .csv, _sweep.json", _lazy("aiperf")),
        Tool("genai-perf", "profile_export_genai_perf.json, .csv, analyze_export_genai_perf.csv", _lazy("genai_perf")),
        Tool("vllm", "the JSON of `vllm bench serve --save-result`", _lazy("vllm")),
        Tool("openvino", "benchmark_report.csv or .json of benchmark_app", _lazy("openvino")),
        Tool("onnxruntime", "what onnxruntime_perf_test prints, a file a run", _lazy("onnxruntime")),
        Tool("mlperf", "mlperf_log_summary.txt or mlperf_log_detail.txt", _lazy("mlperf")),
    )
}
