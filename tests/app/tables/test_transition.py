"""What the table of a transition says of who is disturbed."""

import pytest

from sliceplan.app.tables.transition import disturbance_in_words
from sliceplan.solver.model.transition import Disturbance


@pytest.mark.parametrize(
    ("fewest", "proven", "said"),
    [
        (1, True, "disturbs fewer: all were searched"),
        (0, False, "ended by its time limit"),
        (None, False, "is not known"),
    ],
)
def test_what_is_known_of_fewer_disturbed_services_is_said_in_words(fewest, proven, said):
    disturbed = Disturbance(
        services=("video",), fewest=fewest, proven=proven, partitions=2, method="dual bound of an integer program"
    )
    text = disturbance_in_words(disturbed)
    assert said in text
    assert "dual" not in text
