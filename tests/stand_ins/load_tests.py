"""What load testers write: files in the shape of the real ones, with figures that agree with Little's law."""

import json

PERF_ANALYZER = """Concurrency,Inferences/Second,Client Send,Network+Server Send/Recv,Server Queue,\
Server Compute Input,Server Compute Infer,Server Compute Output,Client Recv,\
p50 latency,p90 latency,p95 latency,p99 latency
1,70,220,2100,60,200,11800,20,0,14000,18800,19700,21000
3,84,240,1770,21700,210,11700,20,0,35400,44000,47000,51700
2,87,230,1970,9150,190,11300,20,0,22900,28600,29800,34800
"""

PERF_CLIENT = """Concurrency,Inferences/Second,Client Send,Network+Server Send/Recv,Server Queue,\
Server Compute,Client Recv,p50 latency,p90 latency,p95 latency,p99 latency
1,160,70,1300,40,4800,7,6200,6300,6350,7400
"""

VERBOSE = """Concurrency,Inferences/Second,Client Send,p50 latency,p99 latency,Avg latency,request/response,\
response wait,Avg GPU Utilization,Avg GPU Power Usage,Max GPU Memory Usage,Total GPU Memory
1,70,220,14000,21000,14200,3,14000,GPU-1:0.5;,GPU-1:120.5;,GPU-1:2147483648;,GPU-1:85899345920;
"""

MODEL_ANALYZER = """Model,Batch,Concurrency,Model Config Path,Instance Group,Max Batch Size,Satisfies Constraints,\
Throughput (infer/sec),p99 Latency (ms)
ocr,1,8,ocr_config_3,2:GPU,16,Yes,412.5,31.2
ocr,1,2,ocr_config_3,2:GPU,16,Yes,210.0,11.0
ocr,8,1,ocr_config_1,1:GPU,8,No,400.0,22.0
"""

MODEL_ANALYZER_GPU = """Model,GPU UUID,Batch,Concurrency,Model Config Path,Instance Group,Satisfies Constraints,\
Max GPU Memory Usage (MB),Average GPU Utilization (%),Average GPU Power Usage (W)
ocr,GPU-1,1,8,ocr_config_3,2:GPU,Yes,1048.576,55.1,140.0
"""

GENAI_PERF = """Metric,avg,min,max,p99,p95,p90,p75,p50,p25,p10,p5,p1
Time To First Token (ms),26.05,20.00,33.51,32.12,30.56,29.88,28.35,26.55,24.78,22.10,21.00,20.10
Request Latency (ms),"6,406.20","5,371.47","9,608.72","9,436.13","9,046.58","9,028.16","6,549.60","5,690.23",\
"5,493.63","5,400.00","5,390.00","5,380.00"

Metric,Value
Output Token Throughput (per sec),261.25
Request Throughput (per sec),1.50
Request Count (count),40.00
"""

GENAI_SWEEP = """Config Name,Concurrency,ISL,Num Prompts,p99 Time To First Token (ms),p99 Request Latency (ms),\
Avg. Output Token Throughput (tokens/sec),Request Throughput (requests/sec)
m_run_config_3,32,200,175,184.43,3406.24,1134.92,10.12
m_run_config_0,32,200,100,230.99,3346.72,1135.38,10.09
m_run_config_1,16,200,100,130.99,2346.72,835.38,7.01

Config Name,GPU,p99 GPU Power Usage (W)
m_run_config_3,gpu0,80.43
"""


def metrics(latency=2000.0, rate=4.0, unit="ms", **more):
    """Returns one run's JSON of genai-perf or AIPerf."""
    return json.dumps(
        {
            "request_latency": {"unit": unit, "avg": latency, "p50": latency, "p99": 1.2 * latency, "std": 3.0},
            "request_throughput": {"unit": "requests/sec", "avg": rate},
            "input_config": {"endpoint": {"model_names": ["m"]}, "loadgen": {"concurrency": 8}},
            **more,
        }
    )


def sweep(*loads, **parameters):
    """Returns AIPerf's JSON of a sweep over (concurrency, requests/s, ms)."""
    combinations = [
        {
            "parameters": {"phases.profiling.concurrency": load, **parameters},
            "metrics": {
                "request_throughput_avg": {"mean": rate, "std": 0.1, "unit": "requests/sec"},
                "request_latency_p99": {"mean": latency, "unit": "ms"},
            },
        }
        for load, rate, latency in loads
    ]
    return json.dumps({"aggregation_type": "sweep", "per_combination_metrics": combinations, "pareto_optimal": []})


def vllm(**changed):
    """Returns a result of `vllm bench serve`; None takes a field away."""
    run = {
        "backend": "vllm",
        "model_id": "m",
        "num_prompts": 200,
        "completed": 200,
        "request_rate": "inf",
        "max_concurrency": 8,
        "request_throughput": 4.0,
        "request_goodput": None,
        "mean_e2el_ms": 2000.0,
        "median_e2el_ms": 1900.0,
        "p99_e2el_ms": 2400.0,
        **changed,
    }
    return json.dumps({key: value for key, value in run.items() if key == "request_goodput" or value is not None})


MLPERF_SERVER = """================================================
MLPerf Results Summary
================================================
SUT name : PySUT
Scenario : Server
Mode     : PerformanceOnly
Completed samples per second    : 1000.50
Result is : VALID
  Performance constraints satisfied : Yes

================================================
Additional Stats
================================================
Scheduled samples per second : 1001.00
Min latency (ns)                : 5000000
Mean latency (ns)               : 9000000
50.00 percentile latency (ns)   : 8500000
90.00 percentile latency (ns)   : 12000000
99.00 percentile latency (ns)   : 15000000
99.90 percentile latency (ns)   : 16000000
"""

MLPERF_SINGLE = """MLPerf Results Summary
SUT name : PySUT
Scenario : SingleStream
Mode     : PerformanceOnly
90th percentile latency (ns) : 7428935
Result is : VALID

QPS w/ loadgen overhead         : 133.24
QPS w/o loadgen overhead        : 135.22
Mean latency (ns)               : 7395465
99.00 percentile latency (ns)   : 7467881
"""


def mlperf_detail(**changed):
    """Returns a detailed log of loadgen."""
    entries = {
        "effective_scenario": "Server",
        "effective_test_mode": "PerformanceOnly",
        "result_validity": "VALID",
        "result_completed_samples_per_sec": 1000.5,
        "result_mean_latency_ns": 9000000,
        "result_99.00_percentile_latency_ns": 15000000,
        **changed,
    }
    return "".join(
        f":::MLLOG {json.dumps({'key': key, 'value': value, 'time_ms': 1.5, 'metadata': {}})}\n"
        for key, value in entries.items()
        if value is not None
    )


MLPERF_ACCURACY = """
No warnings encountered during test.

No errors encountered during test.
"""
"""mlperf_log_summary.txt of an accuracy run."""

OPENVINO = """Command line parameters
m;ocr.xml
d;CPU

Configuration setup
benchmark mode;inference only
topology;ocr
target device;CPU
API;async
precision;f32
batch size;1
number of iterations;0
number of parallel infer requests;4
duration (ms);60000
number of CPU streams;4

Execution results
read model time (ms);30.5
first inference time (ms);14.2
total execution time (ms);60010.0
total number of iterations;24000
latency (99 percentile) (ms);11.4
Percentile boundary;99
Average latency (ms);9.98
Min latency (ms);8.1
Max latency (ms);31
throughput;399.93

"""

OPENVINO_PYTHON = """Configuration setup
topology;ocr
target device;CPU
API;async
inference_only;True
batch size;1
number of parallel infer requests;4
number of CPU streams;4

Execution results
latency (ms);9.90
avg latency;9.98
min latency;8.10
max latency;31.00
throughput;399.93

"""


def openvino_json(**results):
    """Returns the C++ program's report in JSON; counts of streams are texts there."""
    setup = {"benchmark_mode": "full", "topology": "ocr", "target_device": "CPU", "api": "async", "precision": "f32",
             "batch_size": 8, "iterations_num": 0, "nireq": 2, "duration": 60000, "cpu_streams_num": "2"}  # fmt: skip
    figures = {"first_inference_time": 14.2, "execution_time": 60010.0, "iterations_num": 6000, "latency_median": 19.7,
               "percentile_boundary": 50, "latency_avg": 20.0, "latency_min": 18.0, "latency_max": 41.0,
               "throughput": 799.87}  # fmt: skip
    report = {
        "cmd_options": {"m": "ocr.xml"},
        "configuration_setup": setup,
        "execution_results": {**figures, **results},
    }
    return json.dumps(report, indent=4)


ONNXRUNTIME = """Setting intra_op_num_threads to 8
Session creation time cost: 0.512 s
First inference time cost: 12 ms
Total inference time cost: 5.88053 s
Total inference requests: 1000
Average inference time cost total: 5.88053 ms
Total inference run time: 5.88102 s
Number of inferences per second: 170.04
Avg CPU usage: 98 %
Peak working set size: 104857600 bytes
Avg CPU usage:98
Peak working set size:104857600
Runs:1000
Min Latency: 0.00559777 s
Max Latency: 0.00723472 s
P50 Latency: 0.00587108 s
P90 Latency: 0.00599845 s
P95 Latency: 0.00605676 s
P99 Latency: 0.00619517 s
P999 Latency: 0.00623472 s
"""
