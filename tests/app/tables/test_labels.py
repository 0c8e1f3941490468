"""The page's words for columns and settings: all have some, none is a name of the files, and pasting knows them."""

import re
from typing import get_args

import pytest

from sliceplan.app.tables.labels import LABELS, SETTINGS, in_words, settings_in_words
from sliceplan.app.tables.pasted import read_table
from sliceplan.app.tables.pasted_header import COLUMNS
from sliceplan.solver.model.problem import Settings

EVERY = [*SETTINGS.values(), *(label for labels in LABELS.values() for label in labels.values())]


def test_every_setting_and_each_of_its_values_has_words():
    assert set(SETTINGS) == set(Settings.model_fields)
    for name, label in SETTINGS.items():
        assert set(label.values) == set(get_args(Settings.model_fields[name].annotation)), name


def test_every_column_has_words_in_the_order_of_the_table():
    assert {table: tuple(labels) for table, labels in LABELS.items()} == COLUMNS


@pytest.mark.parametrize("label", EVERY, ids=lambda label: label.text)
def test_no_label_or_meaning_has_a_name_of_the_files(label):
    for text in (label.text, label.meaning, *label.values.values()):
        assert text
        assert re.findall(r"\w_\w|`", text) == []


@pytest.mark.parametrize("table", LABELS)
def test_a_table_with_the_page_s_own_heads_is_read(table):
    heads = [label.text for label in LABELS[table].values()]
    read = read_table("\n".join(["\t".join(heads), "\t".join("1" for _ in heads)]), table)
    assert (read.problems, read.notes) == ((), ())
    assert read.columns == COLUMNS[table]


@pytest.mark.parametrize(
    ("text", "table", "said"),
    [
        ("rate_rps is -5; expected more", "workloads", "Rate (req/s) is -5; expected more"),
        ("value is 'x'; name is empty", "workloads", "Value is 'x'; Service is empty"),
        ("max_replicas is 1, below min_replicas", "workloads", "Most partitions is 1, below Least partitions"),
        ("gpu is 'A9'; not in the catalogue", "fleet", "GPU type is 'A9'; not in the catalogue"),
        ("settings.gap is 2; expected at most 1", None, "Good enough above the least is 2; expected at most 1"),
        ("name is 'a b'; expected letters", None, "name is 'a b'; expected letters"),
        ("workloads have the same name: a-workload", None, "services have the same name: a-workload"),
        ("price_books has a_word of its own", None, "price_books has a_word of its own"),
    ],
)
def test_findings_are_said_with_the_page_s_words(text, table, said):
    assert in_words(text, table) == said


def test_settings_in_a_text_are_called_as_on_the_page_with_their_values():
    said = settings_in_words("it aims (settings.objective: capacity) for settings.mps_rules: free only; settings.turns")
    assert said == (
        "it aims (“What to aim for: Most requests on these GPUs”) for “Decided under MPS: everything” only; "
        f"{SETTINGS['turns'].text}"
    )
    assert settings_in_words("settings.nothing: free and settings.headroom: 3") == (
        f"nothing: free and {SETTINGS['headroom'].text}: 3"
    )
