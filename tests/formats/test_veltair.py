"""The layer times of the VELTAIR artifact: what is read, and what is said of files that are wrong."""

import pytest
from problems.layer_chains import published_chain

from sliceplan.solver.cores.levels import levels_of
from sliceplan.solver.formats.veltair import read_veltair
from sliceplan.solver.formats.veltair_profiles import read_whole_models
from sliceplan.solver.model.errors import InputError

SHAPES = "CONV,8-8-4-8-3-3-1-1-2-2-1\nCONV,4-4-8-8-3-3-1-1-1-1-8\nGEMM,10-20-30\n"


def written(folder, times, shapes=SHAPES, model="small"):
    (folder / f"{model}_layer_us.txt").write_text(times)
    (folder / f"{model}_layers.txt").write_text(shapes)
    return folder


def test_times_and_multiplications_are_read(tmp_path):
    (model,) = read_veltair(written(tmp_path, "30,20\n9,10\n7,5\n"))
    assert (model.model, model.cores) == ("small", (8, 16))
    assert [layer.ms for layer in model.layers] == [(0.03, 0.02), (0.009, 0.01), (0.007, 0.005)]
    assert [layer.macs for layer in model.layers] == [4 * 4 * 4 * 8 * 9, 4 * 4 * 8 * 9, 6000]  # groups divide
    chain = levels_of(model).alone
    assert chain.us.tolist() == [[30, 20], [9, 9], [7, 5]]
    assert (chain.rises, chain.steps) == (1, 3)


def test_the_artifacts_own_folders_are_read_and_empty_files_left_out(tmp_path):
    for folder in ("prof_output", "configs"):
        (tmp_path / folder).mkdir()
    for model, times in (("Small", "30,20\n9,10\n7,5\n"), ("Other", "")):
        (tmp_path / "prof_output" / f"{model}.out").write_text(times)
        (tmp_path / "configs" / f"{model}.config").write_text(SHAPES)
    assert [model.model for model in read_veltair(tmp_path)] == ["small"]


def test_whole_models_are_profiles_of_a_3990x_and_never_slower_on_more_cores(tmp_path):
    (profile,) = read_whole_models(written(tmp_path, "30,20,25\n9,10,8\n7,5,6\n"))
    assert (profile.model, profile.cpu) == ("small", "Threadripper-3990X")
    assert [(one.cores, one.batch, one.processes, one.latency_ms) for one in profile.points] == [
        (8, 1, 1, 0.046),
        (16, 1, 1, 0.034),
        (24, 1, 1, 0.033),
    ]
    assert [one.throughput_rps for one in profile.points] == pytest.approx([1000 / 0.046, 1000 / 0.034, 1000 / 0.033])


def test_a_whole_model_on_more_cores_than_a_3990x_has_is_refused(tmp_path):
    row = ",".join(["9"] * 9)
    with pytest.raises(InputError, match=r"cores is 72"):
        read_whole_models(written(tmp_path, f"{row}\n{row}\n{row}\n"))


@pytest.mark.parametrize(
    ("times", "shapes", "words"),
    [
        ("30,20\n9\n7,5\n", SHAPES, "line 2 has 1 times; expected 2, for 8, 16, ... 16 cores"),
        ("30,20\n9,\n7,5\n", SHAPES, "line 2 a time is missing"),
        ("30,20\n9,x\n7,0\n", SHAPES, "line 2 a time is 'x'; expected whole microseconds"),
        ("30,20\n9,9\n", SHAPES, "has 2 layers, and small_layers.txt 3; expected files of one model"),
        ("30,20\n9,9\n7,5\n", SHAPES.replace("GEMM,10-20-30", "GEMM,10-20"), "line 3 is 'GEMM,10-20'"),
        ("30,20\n9,9\n7,5\n", SHAPES.replace("2-2-1", "0-0-1"), "line 1 is 'CONV,8-8-4-8-3-3-1-1-0-0-1'"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, times, shapes, words):
    with pytest.raises(InputError) as error:
        read_veltair(written(tmp_path, times, shapes))
    assert words in str(error.value)


def test_a_folder_without_times_is_refused(tmp_path):
    with pytest.raises(InputError, match="has no layer times"):
        read_veltair(written(tmp_path, ""))
    with pytest.raises(InputError, match="does not exist"):
        read_veltair(tmp_path / "none")


def test_the_published_times_have_the_figures_of_the_specification():
    resnet, googlenet = published_chain("resnet50"), published_chain("googlenet")
    assert resnet.total_us.tolist() == [22376, 11456, 8293, 6331, 5541, 4857, 4303, 4290]
    assert googlenet.total_us.tolist() == [7402, 4075, 3045, 2418, 2212, 1997, 1805]
    assert (resnet.rises, resnet.steps) == (71, 371)
    assert (round(resnet.macs.sum() / 1e9, 6), round(googlenet.macs.sum() / 1e9, 6)) == (4.087136, 1.581648)
    assert googlenet.us.shape[0] == 57
