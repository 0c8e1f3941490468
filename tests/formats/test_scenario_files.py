"""Files of sets of rates: a table for other programs, and kept answers to go on from."""

import csv
import io

import pytest

from sliceplan.solver.formats.scenario_files import kept_answers, scenario_csv
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.scenario_report import Scenario, ScenarioReport

ASKED = {"family": "grid", "planners": ["sbp"]}


def scenario(index, outcome="holds", what=None):
    optimum = None if what is None else {"what": what, "by": "bound"}
    answers = [{"planner": "sbp", "outcome": outcome}]
    return Scenario.model_validate({"index": index, "rates_rps": [1.5, 0], "answers": answers, "optimum": optimum})


def test_a_run_goes_on_from_what_it_kept(tmp_path):
    path = tmp_path / "kept.jsonl"
    with kept_answers(path, ASKED) as kept:
        kept.add(0, scenario(0))
        kept.add(3, scenario(3))
        kept.add(0, scenario(0, what="possible"))
    with kept_answers(path, ASKED) as kept:
        assert kept.answers == {0: scenario(0, what="possible"), 3: scenario(3)}
        kept.add(1, scenario(1))
    with kept_answers(path, ASKED) as kept:
        assert sorted(kept.answers) == [0, 1, 3]


def test_a_line_that_was_cut_off_is_asked_again(tmp_path):
    path = tmp_path / "kept.jsonl"
    with kept_answers(path, ASKED) as kept:
        kept.add(0, scenario(0))
        kept.add(1, scenario(1))
    path.write_bytes(path.read_bytes()[:-20])
    with kept_answers(path, ASKED) as kept:
        assert sorted(kept.answers) == [0]
        kept.add(2, scenario(2))
    with kept_answers(path, ASKED) as kept:
        assert sorted(kept.answers) == [0, 2]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name: a problem\n", "line 1 is no file of answers"),
        ("[1]\n", "line 1 is no file of answers"),
        ('{"scenarios": 1, "sha256": "other"}\n', "answers another problem, family"),
    ],
)
def test_other_files_are_not_written_over(tmp_path, text, words):
    path = tmp_path / "other"
    path.write_text(text)
    with pytest.raises(InputError) as refused, kept_answers(path, ASKED):
        pass
    assert words in str(refused.value)
    assert path.read_text() == text


def test_a_damaged_line_is_named(tmp_path):
    path = tmp_path / "kept.jsonl"
    with kept_answers(path, ASKED) as kept:
        kept.add(0, scenario(0))
    path.write_text(path.read_text() + '{"index": -1}\n')
    with pytest.raises(InputError, match="line 3"), kept_answers(path, ASKED):
        pass


def test_without_a_file_nothing_is_kept_and_a_folder_is_refused(tmp_path):
    with kept_answers(None, ASKED) as kept:
        kept.add(0, scenario(0))
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError), kept_answers(tmp_path, ASKED):
        pass


def test_csv_has_a_row_a_set_and_a_column_a_planner():
    report = ScenarioReport.model_validate(
        {
            "version": 1,
            "problem": {"name": "p", "sha256": "0" * 64},
            "family": {"kind": "grid", "values": [0, 1.5]},
            "rules": "gpulets",
            "gpus": 4,
            "services": ["a", "b"],
            "planners": ["sbp"],
            "scenarios": [scenario(0, what="impossible", outcome="breaks"), scenario(2)],
            "missing": 1,
        }
    )
    assert list(csv.reader(io.StringIO(scenario_csv(report)))) == [
        ["index", "a", "b", "optimum", "by", "sbp"],
        ["0", "1.5", "0", "impossible", "bound", "breaks"],
        ["2", "1.5", "0", "", "", "holds"],
    ]
