"""What downloads are called."""

import re
from datetime import date

import pytest

from sliceplan.app.widgets.files import dated_name

DAY = date(2026, 3, 1)


@pytest.mark.parametrize(
    ("problem", "what", "name"),
    [
        ("demo", "plan.json", "demo-plan-2026-03-01.json"),
        ("demo", "defragmented-plan.json", "demo-defragmented-plan-2026-03-01.json"),
        ("demo", "demo.plan.json", "demo-plan-2026-03-01.json"),
        ("demo", "fleet", "demo-fleet-2026-03-01"),
        ("v1.2", "report.html", "v1.2-report-2026-03-01.html"),
        ("Київ 東京", "plan.json", "Київ-東京-plan-2026-03-01.json"),
        ("../a\\b: c?\n", "plan.json", "a-b-c-plan-2026-03-01.json"),
        (" / ", "plan.json", "problem-plan-2026-03-01.json"),
    ],
)
def test_a_download_is_called_by_problem_what_and_date(problem, what, name):
    assert dated_name(problem, what, DAY) == name


def test_a_name_has_a_date_when_none_is_given():
    assert re.fullmatch(r"demo-plan-\d{4}-\d\d-\d\d\.json", dated_name("demo", "plan.json"))
