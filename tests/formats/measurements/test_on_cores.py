"""Benchmarks of inference on CPUs become profiles of cores; what they do not say is asked for."""

import pytest
from stand_ins.load_tests import ONNXRUNTIME, OPENVINO, openvino_json

from sliceplan.solver.formats.core_tables import read_core_table
from sliceplan.solver.formats.measurements.facts import Facts
from sliceplan.solver.formats.measurements.profiles import measured_profiles
from sliceplan.solver.formats.measurements.registry import TOOLS
from sliceplan.solver.formats.measurements.sample import SourceText
from sliceplan.solver.formats.profile_files import read_profiles, write_profiles
from sliceplan.solver.model.errors import InputError

HEADER = "model,cpu,cores,batch,processes,latency_ms,throughput_rps,memory_mib\n"
ROWS = "ranker,Graviton3,4,1,1,11.2,88,\nranker,Graviton3,8,1,2,11.6,171,900\nranker,EPYC-9654,8,1,1,5,200,450\n"


def on_cores(tool, *texts, **facts):
    """Returns profiles and notes of files that were measured on 8 cores of a Graviton3."""
    files = [SourceText(f"f{number}", text) for number, text in enumerate(texts)]
    told = {"cpu": "Graviton3", "cores": 8, **facts}
    return measured_profiles(TOOLS[tool].read(files), Facts(**told), tool)


def test_a_report_of_openvino_is_a_point_of_its_streams():
    ((profile,), notes) = on_cores("openvino", OPENVINO)
    (point,) = profile.points
    assert (profile.model, profile.cpu) == ("ocr", "Graviton3")
    assert (point.cores, point.batch, point.processes, point.latency_ms) == (8, 1, 4, 11.4)
    assert "inputs were filled before the runs" in profile.provenance.method.lower()
    assert any("Of 1 point" in note for note in notes)


def test_a_run_of_onnx_runtime_asks_for_the_batch_and_for_the_instances_of_several_at_once():
    ((profile,), _) = on_cores("onnxruntime", ONNXRUNTIME, model="m", batch=2)
    (point,) = profile.points
    assert (point.cores, point.batch, point.throughput_rps, point.memory_mib) == (8, 2, 340.08, 100)
    with pytest.raises(InputError, match="--batch: is missing: not told by f0"):
        on_cores("onnxruntime", ONNXRUNTIME, model="m")
    with pytest.raises(InputError, match="--processes: is missing: not told by f0"):
        on_cores("onnxruntime", ONNXRUNTIME.replace("run time: 5.88102", "run time: 1.96"), model="m", batch=1)


@pytest.mark.parametrize(
    ("tool", "text", "said"),
    [
        ("openvino", OPENVINO.replace("(99 percentile)", "(50 percentile)"), "p99 is not in f0; it has p50"),
        ("openvino", OPENVINO.replace("latency", "x"), "has no latency; expected benchmark_report.csv"),
        ("openvino", OPENVINO.replace("throughput;399.93\n", ""), "has no throughput"),
        ("openvino", OPENVINO.replace("399.93", "fast"), "throughput is 'fast'; expected a number above 0"),
        ("openvino", OPENVINO.replace("target device;CPU", "target device;MULTI:CPU,GPU"), "is of several devices"),
        ("openvino", OPENVINO.replace("requests;4", "requests;8"), "are 8 on 4 streams, .* run it with -nireq 4"),
        ("openvino", openvino_json(error="out of memory"), "error is 'out of memory'; the run failed"),
        ("openvino", '{"cmd_options": {}}', "is not benchmark_app's; expected configuration_setup"),
        ("openvino", "[1]", "has no latency"),
        ("onnxruntime", "Average time cost:3 ms\n", "has no line 'Number of inferences per second'"),
        ("onnxruntime", ONNXRUNTIME * 2, "stands there twice; put each run into a file of its own"),
        ("onnxruntime", ONNXRUNTIME.replace("170.04", "-1"), "is '-1'; expected a number above 0"),
        ("onnxruntime", ONNXRUNTIME.replace("Total inference run time", "Lasted"), "has no line 'Total inference run"),
    ],
)  # fmt: skip
def test_what_is_no_measurement_is_refused(tool, text, said):
    with pytest.raises(InputError, match=said.replace("(", r"\(")):
        on_cores(tool, text, model="m", batch=1, processes=1)


def test_a_table_of_cores_is_a_profile_for_each_model_and_cpu(tmp_path):
    path = tmp_path / "ranker.csv"
    path.write_text(HEADER + ROWS)
    made = read_core_table(path)
    assert [(one.model, one.cpu, [point.cores for point in one.points]) for one in made] == [
        ("ranker", "Graviton3", [4, 8]),
        ("ranker", "EPYC-9654", [8]),
    ]
    assert [point.memory_mib for point in made[0].points] == [None, 900]
    write_profiles(made, tmp_path / "p.yaml")
    assert read_profiles(tmp_path / "p.yaml") == made


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEADER, "has no rows"),
        (HEADER.replace("cores", "threads") + ROWS, "line 1 has no column cores; expected model, cpu, cores"),
        (HEADER.replace("memory_mib", "watts") + ROWS, "line 1 has a column 'watts'"),
        (HEADER + "r,Graviton3,4,1,1,fast,88,\n", "line 2, latency_ms is 'fast'; expected a number above 0"),
        (HEADER + "r,Graviton3,4,1.5,1,3,88,\n", "line 2, batch is 1.5"),
        (HEADER + "r,Graviton3,,1,1,3,88,\n", "line 2, cores is missing; it is required"),
        (HEADER + ",Graviton3,4,1,1,3,,\n", "line 2, model is missing(.|\n)*line 2, throughput_rps is missing"),
        (HEADER + "r,Graviton9,4,1,1,3,88,\n", "Did you mean"),
        (HEADER + "r,EPYC-9654,9,1,1,3,88,\n", r"is 9; a partition of EPYC-9654 has 1 to 8 \(within an L3 domain\)"),
        (HEADER + ROWS + ROWS, "is an operating point that stands there already"),
        (HEADER + "r,Graviton3,4,1,1,3,880,\n", "880"),
    ],
)  # fmt: skip
def test_a_table_that_cannot_be_is_refused(text, said, tmp_path):
    path = tmp_path / "ranker.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        read_core_table(path)
