"""The reader of ParvaGPU's CSV files: what it takes over, and every way in which a folder can be wrong."""

from pathlib import Path

import pytest
from support.needs import TWO_CASES, skip_without

from sliceplan.solver.formats.parvagpu import read_parvagpu
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.profile import Profile

HEADER = "Mig instance,Batch size,Workload Number,Throughput,Latency"


def write(folder: Path, *rows: str, name: str = "resnet50.csv", header: str = HEADER) -> Path:
    (folder / name).write_text("\r\n".join([header, *rows]), encoding="utf-8", newline="")
    return folder


def read_one(folder: Path, *rows: str) -> Profile:
    return read_parvagpu(write(folder, *rows))[0]


def findings(folder: Path) -> list[tuple[str, str, str]]:
    with pytest.raises(InputError) as caught:
        read_parvagpu(folder)
    return [(Path(found.source).name, found.path, found.message) for found in caught.value.findings]


def test_throughput_of_one_process_becomes_that_of_all(tmp_path: Path) -> None:
    (point,) = read_one(tmp_path, "3,8,2,101.5,0.157").points
    assert (point.mig_profile, point.batch, point.processes, point.throughput_rps) == ("3g.40gb", 8, 2, 203.0)


def test_latency_is_as_published_without_noise_of_binary_fractions(tmp_path: Path) -> None:
    profile = read_one(tmp_path, "1,1,1,74.408,0.013", "1,2,1,61.2,0.0331", "1,4,1,6,1.131")
    assert [point.latency_ms for point in profile.points] == [13, 33.1, 1131]


def test_every_size_has_nvidias_name(tmp_path: Path) -> None:
    profile = read_one(tmp_path, *(f"{size},1,1,10,0.1" for size in (1, 2, 3, 4, 7)))
    assert [point.mig_profile for point in profile.points] == ["1g.10gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"]


def test_rows_out_of_memory_are_left_out(tmp_path: Path) -> None:
    profile = read_one(tmp_path, "1,1,1,10,0.1", "1,256,1,0,0")
    assert [point.batch for point in profile.points] == [1]


def test_models_come_in_the_order_of_file_names_with_their_source(tmp_path: Path) -> None:
    for name in ("vgg16.csv", "bert.CSV"):
        write(tmp_path, "1,1,1,10,0.1", name=name)
    (tmp_path / "notes.txt").write_text("not a profile")
    bert, vgg16 = read_parvagpu(tmp_path)
    assert (bert.model, vgg16.model, vgg16.gpu) == ("bert", "vgg16", "A100-80GB")
    assert vgg16.provenance.licence == "MIT"
    assert vgg16.provenance.source == "ParvaGPU (SC'24) artifact, prof_data/vgg16.csv"


def test_columns_may_stand_in_another_order_with_others_beside_them(tmp_path: Path) -> None:
    header = "Latency,Note,Throughput,Workload Number,Batch size,Mig instance"
    (point,) = read_parvagpu(write(tmp_path, "0.02,x,50,3,4,7", "", header=header))[0].points
    assert (point.mig_profile, point.batch, point.processes, point.latency_ms) == ("7g.80gb", 4, 3, 20)


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    write(tmp_path, "1,1,1,10,0.1", header="Mig instance,Batch,Workload Number,Throughput,Latency")
    assert findings(tmp_path) == [
        ("resnet50.csv", "line 1", "has no column 'Batch size'. Did you mean 'Batch'?"),
    ]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("5,1,1,10,0.1", "Mig instance is '5'; expected one of 1, 2, 3, 4, 7"),
        ("1,0,1,10,0.1", "Batch size is '0'; expected a whole number from 1 to 65536"),
        ("1,1.5,1,10,0.1", "Batch size is '1.5'; expected a whole number from 1 to 65536"),
        ("1,1,49,10,0.1", "Workload Number is '49'; expected a whole number from 1 to 48"),
        ("1,1,1,fast,0.1", "Throughput is 'fast'; expected requests/s, at least 0"),
        ("1,1,1,nan,0.1", "Throughput is 'nan'; expected requests/s, at least 0"),
        ("1,1,1,inf,0.1", "Throughput is 'inf'; expected requests/s, at least 0"),
        ("1,1,1,10,-0.1", "Latency is '-0.1'; expected seconds, at least 0"),
        (
            "1,1,1,10,0",
            "Throughput is '10' and Latency is '0'; expected both above 0, or both 0 (out of memory)",
        ),
        ("1,1,1,10", "has 4 values; expected 5"),
    ],
)
def test_a_wrong_value_is_told_with_its_line_and_what_is_expected(tmp_path: Path, row: str, message: str) -> None:
    write(tmp_path, "1,2,1,10,0.1", row)
    assert findings(tmp_path) == [("resnet50.csv", "line 3", message)]


def test_a_repeated_operating_point_names_both_lines(tmp_path: Path) -> None:
    write(tmp_path, "1,2,1,10,0.1", "1,4,1,10,0.1", "1,2,1,11,0.1")
    assert findings(tmp_path) == [("resnet50.csv", "line 4", "repeats line 2: size 1, batch 2, processes 1")]


def test_the_problems_of_all_files_are_told_at_once(tmp_path: Path) -> None:
    write(tmp_path, "9,1,1,x,0.1", name="a.csv")
    write(tmp_path, "1,1,1,0,0", name="b.csv")
    write(tmp_path, name="c.csv")
    (tmp_path / "d.csv").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "e.csv").mkdir()
    (tmp_path / "f.csv").write_text("")
    found = findings(tmp_path)
    assert [source for source, _, _ in found] == ["a.csv"] * 2 + ["b.csv", "c.csv", "d.csv", "e.csv"] + ["f.csv"] * 5
    messages = [message for _, _, message in found]
    assert messages[2] == "has only rows of zeros (out of memory); expected at least one measurement"
    assert messages[3] == "has no rows; expected at least one measurement"


def test_two_files_of_one_model_are_refused(tmp_path: Path) -> None:
    for name in ("bert.CSV", "bert.csv"):
        write(tmp_path, "1,1,1,10,0.1", name=name)
    if len(list(tmp_path.iterdir())) < 2:
        skip_without(TWO_CASES)
    assert findings(tmp_path) == [("bert.csv", "", "is a second file of the model 'bert'")]


def test_a_cell_beyond_the_limit_of_the_csv_reader_is_a_finding(tmp_path: Path) -> None:
    write(tmp_path, "1,1,1,10," + "1" * 200_000)
    ((source, line, message),) = findings(tmp_path)
    assert (source, line) == ("resnet50.csv", "line 2")
    assert message.startswith("is not valid CSV")


def test_a_folder_without_csv_files_is_refused(tmp_path: Path) -> None:
    assert "holds no CSV file" in findings(tmp_path)[0][2]


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "1,1,1,10,0.1")
    assert findings(tmp_path / "resnet50.csv")[0][2] == "is a file; expected a folder of CSV files, one a model"
    assert findings(tmp_path / "absent")[0][2] == "does not exist; expected a folder of CSV files, one a model"
