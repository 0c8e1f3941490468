"""Artifacts' files that were damaged, or made to break their reader: refused in a sentence, or read and kept."""

import random
import re

import pytest
from problems.igniter_instances import SOLO_TABLES, measured_file, solo_tables
from support.command_line import assert_refused, sliceplan

from sliceplan.solver.formats.core_tables import read_core_table
from sliceplan.solver.formats.glet import read_glet
from sliceplan.solver.formats.gpulet_tables import read_gpulet_tables
from sliceplan.solver.formats.gpulets import read_gpulets
from sliceplan.solver.formats.igniter import igniter_profiles
from sliceplan.solver.formats.parvagpu import read_parvagpu
from sliceplan.solver.formats.profile_files import read_profiles, write_profiles
from sliceplan.solver.formats.veltair_profiles import read_whole_models
from sliceplan.solver.model.errors import InputError

PARVAGPU = {
    "resnet50.csv": "Mig instance,Batch size,Workload Number,Throughput,Latency\n1,4,1,100,0.04\n2,4,2,90,0.05\n"
}
TABLES = {
    "inference.csv": "vgg16,1,20,throughput,200,latency,0.005,1\nvgg16,4,20,throughput,400,latency,0.010,1\n",
    "mem_util.csv": "vgg16,1,20,mem_util,10,l2_util,20,0\nvgg16,4,20,mem_util,40,l2_util,50,0\n",
}
GLET = {
    "latency.csv": "model,batch,share,latency_ms\nvgg16,2,40,10\nvgg16,4,40,14\n",
    "UTIL.CSV": "bench,batch,l2_util(%),mem_util(%)\nvgg16,2,10,20\nvgg16,4,30,60\n",
    "INT_MODEL_CONSTANT.CSV": "l2_util_m1,l2_util_m2,dram_util_m1,dram_util_m2,constant\n0.1,0.7,0.3,0.1,0.9\n",
}
CORES = {"c.csv": "model,cpu,cores,batch,processes,latency_ms,throughput_rps\nm,Graviton3,8,1,2,11.6,171\n"}
VELTAIR = {
    "small_layer_us.txt": "30,20\n9,10\n7,5\n",
    "small_layers.txt": "CONV,8-8-4-8-3-3-1-1-2-2-1\nCONV,4-4-8-8-3-3-1-1-1-1-8\nGEMM,10-20-30\n",
}

FIGURES = [
    "0", "-1", "0.5", "49", "65537", "1e-320", "1e9", "999999999999", "1e308", "1e400", "nan", "Infinity", "-inf", "",
    "9" * 400, "9" * 5000, "1_0", "٣", "0x10", "true", "null", "[]", '"x"', "a b", "größe", "\x00", "\x1b[31m",
]  # fmt: skip

READ = {
    "parvagpu": (read_parvagpu, lambda: PARVAGPU, True),
    "igniter": (lambda path: igniter_profiles(path)[0], lambda: {"i.jsonl": measured_file().read_text()}, False),
    "gpulets": (read_gpulets, lambda: {"g.jsonl": solo_tables() and SOLO_TABLES.read_text()}, False),
    "gpulet-tables": (read_gpulet_tables, lambda: TABLES, True),
    "glet": (lambda path: read_glet(path, "RTX-2080-Ti"), lambda: GLET, True),
    "cores": (read_core_table, lambda: CORES, False),
    "veltair": (read_whole_models, lambda: VELTAIR, True),
}
"""How each is read, its files, and whether a folder of them is."""


def wrong(draw, text):
    """Returns a text with some of its words replaced, or cut."""
    if draw.random() < 0.1:
        return text[: draw.randrange(len(text))]
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        words = list(re.finditer(r"[A-Za-z0-9_.+-]+", text))
        if words:
            word = draw.choice(words)
            text = text[: word.start()] + draw.choice(FIGURES) + text[word.end() :]
    return text


@pytest.mark.parametrize("kind", READ)
def test_damaged_files_are_refused_or_make_profiles_that_are_read_again(kind, tmp_path):
    """Property: what an importer accepts is what `--profiles` accepts, and all else it says in words of its own."""
    read, texts, is_folder = READ[kind]
    files, refused = texts(), []
    for seed in range(8 if kind == "gpulets" else 100):
        draw = random.Random(f"{kind} {seed}")
        damaged = draw.choice(sorted(files))
        for name, text in files.items():
            (tmp_path / name).write_text(wrong(draw, text) if name == damaged else text)
        try:
            profiles = read(tmp_path if is_folder else tmp_path / damaged)
        except InputError as error:
            refused.append(str(error))
            continue
        if profiles:
            (tmp_path / "out").mkdir(exist_ok=True)
            write_profiles(profiles, tmp_path / "out" / "profiles.yaml")
            assert len(read_profiles(tmp_path / "out" / "profiles.yaml")) == len(profiles), seed
    assert refused
    assert not [words for words in refused if "validation error" in words or "Traceback" in words]


NAMES = ["a b", "größe", "\u202eover", "a\x1b[31mb", "a\nb", "x" * 64, "-", "[red]"]


@pytest.mark.parametrize("name", NAMES)
def test_layer_times_whose_name_is_no_models_are_refused(name, tmp_path):
    (tmp_path / f"{name}_layer_us.txt").write_text("9\n")
    (tmp_path / f"{name}_layers.txt").write_text("GEMM,1-1-1\n")
    with pytest.raises(InputError, match=r"model is .*; expected (letters, digits|at most 63 characters)"):
        read_whole_models(tmp_path)


@pytest.mark.parametrize(
    ("times", "shapes", "words"),
    [
        ("3,2\n" * 2001, "GEMM,1-1-1\n" * 2001, "layers has 2001 entries; expected at most 2000"),
        (
            "1000000000\n" * 2000,
            "GEMM,1-1-1\n" * 2000,
            "latency_ms is 2000000000.0; expected a number of at most 1e+09",
        ),
        (",".join("9" * 65), "GEMM,1-1-1\n", "cores has 65 entries; expected at most 64"),
        ("9\n", "GEMM,999999-999999-999999\n", "macs is 999997000002999999; expected a number of at most 1e+15"),
        ("9" * 5000, "GEMM,1-1-1\n", "line 1 a time is '999999"),
    ],
)
def test_layers_beyond_what_a_profile_may_hold_are_refused_and_nothing_is_written(times, shapes, words, tmp_path):
    (tmp_path / "small_layer_us.txt").write_text(times)
    (tmp_path / "small_layers.txt").write_text(shapes)
    done = sliceplan("import-profile", "veltair", tmp_path, "-o", tmp_path / "out.yaml")
    assert_refused(done, words)
    assert len(done.stderr) < 500
    assert not (tmp_path / "out.yaml").exists()


def test_two_files_of_one_model_are_refused(tmp_path):
    for model in ("Small", "small"):
        for name, text in VELTAIR.items():
            (tmp_path / name.replace("small", model)).write_text(text)
    with pytest.raises(InputError, match=r"small_layer_us\.txt: is a second file of the model 'small'"):
        read_whole_models(tmp_path)


def test_points_of_too_many_processes_for_a_fit_are_said(tmp_path):
    (tmp_path / "m.csv").write_text(PARVAGPU["resnet50.csv"].splitlines()[0] + "\n1,4,9,10,0.1\n")
    done = sliceplan("import-profile", "parvagpu", tmp_path, "--fit", "-o", tmp_path / "out.yaml")
    assert_refused(done, "m has no measured point with at most 3 processes, to fit")
