"""What a problem is in a few words, as titles of folds and the question of a link say it."""

import pandas as pd
import pytest

from sliceplan.app.tables.outline import fleet_in_words, settings_in_words
from sliceplan.solver.model.problem import Settings


def settings(**changed):
    return {name: field.default for name, field in Settings.model_fields.items()} | changed


def test_a_fleet_is_its_types_with_their_numbers():
    fleet = pd.DataFrame({"gpu": ["A100-80GB", None, "L4", "T4"], "count": [6, 1, None, 1200]})
    assert fleet_in_words(fleet) == "6 A100-80GB, any number of L4, 1,200 T4"
    assert fleet_in_words(fleet[:0]) == "no GPUs"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"latency": "percentile", "quantile": 0.999}, "fewest dollars, 99.9 % of requests in time"),
        (
            {"latency": "execution", "slo_fraction": 0.4},
            "fewest dollars, batches within 40 % of the SLO, late requests not planned for",
        ),
        (
            {"latency": "worst_case", "objective": "capacity"},
            "most requests on these GPUs, all requests in time if evenly spaced",
        ),
        (
            {"latency": "percentile", "headroom": 0.05, "time_limit_s": 5.0, "gap": 0.5},
            "fewest dollars, 99 % of requests in time, 5 % headroom; 2 others not as usual",
        ),
    ],
)
def test_settings_are_what_is_aimed_for_and_promised_and_how_many_others_are_changed(changed, said):
    assert settings_in_words(settings(**changed)) == said
