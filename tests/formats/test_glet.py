"""What gpu-lets' artefact publishes of a GPU type, beside latencies of one's own."""

import pytest
from problems.gpulets import constants_2080ti
from problems.instances import REFERENCE
from support.needs import PUBLISHED, skip_without
from typer.testing import CliRunner

from sliceplan.solver.cli import app
from sliceplan.solver.formats.glet import read_glet
from sliceplan.solver.formats.profile_files import read_profiles
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.performance.interference.solo_tables import SoloTable, alpha

GPU = "RTX-2080-Ti"
LATENCY = "model,batch,share,latency_ms\nvgg16,2,40,10\nvgg16,3,40,12\nvgg16,4,40,14\nlenet,4,60,1\nlenet,64,60,8\n"
USE = "bench,batch,avg_duration(ms),SM_util(%),l2_util(%),mem_util(%),a\nvgg16,2,0,0,10,20,\nvgg16,4,0,0,30,60,\n"
USE += "lenet,4,0,0,50,80,\n"
CONSTANTS = "l2_util_m1,l2_util_m2,dram_util_m1,dram_util_m2,constant\n0.1,0.7,0.3,0.1,0.9\n"


def folder_of(tmp_path, **files):
    tmp_path.mkdir(exist_ok=True)
    texts = {"latency.csv": LATENCY, "2080ti_UTIL.csv": USE, "INT_MODEL_CONSTANT.CSV": CONSTANTS}
    for name, text in {**texts, **{key.replace("__", "."): text for key, text in files.items()}}.items():
        if text is not None:
            (tmp_path / name).write_text(text)
    return tmp_path


def test_use_is_that_alone_times_the_share_and_between_batch_sizes_on_a_straight_line(tmp_path):
    vgg, lenet = read_glet(folder_of(tmp_path), GPU)
    assert [(p.batch, p.l2_percent, p.dram_percent) for p in vgg.points] == [(2, 4, 8), (3, 8, 16), (4, 12, 24)]
    assert lenet.points[1].l2_percent is None
    assert lenet.odd_points == ("60 % b64: no use of L2 and DRAM is published; neighbours count as harmless",)
    own, other = SoloTable.of(vgg).at(4, 40.0), SoloTable.of(lenet).at(4, 60.0)
    assert own.latency_ms == 14.0
    # 0.1 x 0.12 + 0.7 x 0.3 + 0.3 x 0.24 + 0.1 x 0.48 + 0.9
    assert alpha(vgg.neighbours, own, [other]) == pytest.approx(1.242)
    assert (vgg.neighbours.pairs, vgg.neighbours.error) == (None, None)


def test_the_published_files_are_read(tmp_path):
    source = REFERENCE / "glet"
    if not source.is_dir():
        skip_without(PUBLISHED, f"the artefact's files are not in {source}")
    for name in ("2080ti_UTIL.csv", "2080ti_INT_MODEL_CONSTANT.csv"):
        (tmp_path / name).write_text((source / name).read_text())
    (tmp_path / "latency.csv").write_text("model,batch,share,latency_ms\nresnet50,8,40,20\n")
    (profile,) = read_glet(tmp_path, GPU)
    model = profile.neighbours
    found = (model.own_l2, model.other_l2, model.own_dram, model.other_dram)
    assert [100 * one for one in found] + [model.constant + 1] == pytest.approx(list(constants_2080ti()))
    assert 0 < profile.points[0].l2_percent < 40


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"latency__csv": None}, "latency.csv: is missing; gpu-lets' latencies were never published: measure each"),
        ({"latency__csv": "model,batch,share,latency_ms\n"}, "has no row"),
        ({"latency__csv": LATENCY + "vgg16,2,140,1\n"}, "line 7 is 'vgg16,2,140,1'; expected model,batch,share"),
        ({"latency__csv": LATENCY + "vgg16,2,40,1\n"}, "line 7 is of what line 2 is of: vgg16, batch 2, 40 %"),
        ({"2080ti_UTIL__csv": None}, "util.csv: is missing; it is in the artefact's folder"),
        ({"3080_UTIL__csv": USE}, "are 2080ti_UTIL.csv, 3080_UTIL.csv; expected one of one GPU type"),
        ({"2080ti_UTIL__csv": USE + "vgg16,8,0,0,130,1,\n"}, "line 5 is 'vgg16,8,0,0,130,1,'; expected bench, batch"),
        ({"INT_MODEL_CONSTANT__CSV": "l2_util_m1\n1\n"}, "has no row of five numbers under the header l2_util_m1"),
        ({"INT_MODEL_CONSTANT__CSV": CONSTANTS.replace("0.9", "nan")}, "has no row of five numbers"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_line(tmp_path, files, words):
    with pytest.raises(InputError) as caught:
        read_glet(folder_of(tmp_path, **files), GPU)
    assert words in str(caught.value)


def test_the_command_asks_for_the_gpu_type_and_writes_a_file(tmp_path):
    folder, output = folder_of(tmp_path / "glet"), tmp_path / "found.yaml"
    command = ["import-profile", "glet", str(folder), "-o", str(output)]
    for more, words in (
        ([], "--gpu: is missing; the files say no GPU type"),
        (["--gpu", "RTX-2080"], "is not in the catalogue"),
    ):
        refused = CliRunner().invoke(app, [*command, *more])
        assert words in str(refused.exception)
    done = CliRunner().invoke(app, [*command, "--gpu", GPU])
    assert done.exit_code == 0
    assert "lenet 60 % b64: no use" in done.output
    assert list(read_profiles(output)) == read_glet(folder, GPU)
    other = CliRunner().invoke(app, ["import-profile", "gpulet-tables", str(folder), "-o", str(output), "--gpu", GPU])
    assert "is for glet; gpulet-tables says it" in str(other.exception)
