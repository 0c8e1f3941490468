"""`sliceplan fit-proxy`: what is read, written and said."""

import json

import pytest
from support.command_line import assert_refused, sliceplan

from sliceplan.solver.model.interference_proxy import InterferenceProxy

ROWS = [(1 + 2 * m + a / 10, m, a) for m in (0, 0.1, 0.3) for a in (0, 1, 2, 4)]


def written(folder, text):
    path = folder / "counters.csv"
    path.write_text(text)
    return path


def test_the_formula_is_written_with_its_errors(tmp_path):
    path = written(tmp_path, "level,miss,accesses\n" + "".join(f"{v},{m},{a}\n" for v, m, a in ROWS))
    done = sliceplan("fit-proxy", path, "--level", "1", "--level", "2", "-o", tmp_path / "proxy.json")
    assert done.returncode == 0, done.stderr
    found = InterferenceProxy.model_validate(json.loads((tmp_path / "proxy.json").read_text()))
    assert [one.coefficient for one in found.counters] == pytest.approx([2, 0.1])
    assert "miss" in done.stdout
    assert "12 rows; the formula explains 100.0% of the levels' variance. On rows left out" in done.stderr
    assert "nearest to the right one of 2 levels on 100.0%" in done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("miss,accesses\n1,2\n", ("line 1 has no column level",)),
        ("level\n1\n", ("line 1 has 0 counters; expected 1 to 50",)),
        ("level,miss,miss\n1,2,3\n", ("line 1 has the column 'miss' more than once",)),
        ("level,miss,\n1,2,3\n", ("line 1 has a column without a name",)),
        (
            "level,miss\n0.5,1\n1,x\n1,1e19\n1\n",
            (
                "line 2 level is '0.5'; expected a slowdown from 1",
                "line 3 miss is 'x'; expected a number",
                "line 4 miss is '1e19'",
                "line 5 has 1 cells; the header has 2",
            ),
        ),
        ("level,miss\n1,1\n2,2\n", ("has 2 rows; expected 3 at least, for 1 counters",)),
        ("level,miss\n", ("has 0 rows",)),
    ],
)
def test_wrong_tables_are_refused(tmp_path, text, said):
    assert_refused(sliceplan("fit-proxy", written(tmp_path, text), "-o", "-"), *said)


def test_levels_begin_alone(tmp_path):
    done = sliceplan("fit-proxy", written(tmp_path, "level,miss\n1,1\n"), "--level", "2", "-o", "-")
    assert_refused(done, "--level: begins at 2; expected 1 among them")
