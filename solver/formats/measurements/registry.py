"""The load testers whose results can be read; adding one is adding a module and a row here."""

from dataclasses import dataclass

from .aiperf import read_aiperf
from .genai_perf import read_genai_perf
from .mlperf import read_mlperf
from .model_analyzer import read_model_analyzer
from .perf_analyzer import read_perf_analyzer
from .sample import Reader
from .vllm import read_vllm


@dataclass(frozen=True)
class Tool:
    """A load tester."""

    name: str
    description: str
    read: Reader


TOOLS = {
    tool.name: tool
    for tool in (
        Tool("model-analyzer", "metrics-model-inference.csv, and -gpu.csv", read_model_analyzer),
        Tool("perf-analyzer", "the CSV of -f, with --verbose-csv or not", read_perf_analyzer),
        Tool("aiperf", "profile_export_aiperf.json, .csv, _sweep.json", read_aiperf),
        Tool("genai-perf", "profile_export_genai_perf.json, .csv, analyze_export_genai_perf.csv", read_genai_perf),
        Tool("vllm", "the JSON of `vllm bench serve --save-result`", read_vllm),
        Tool("mlperf", "mlperf_log_summary.txt or mlperf_log_detail.txt", read_mlperf),
    )
}
