"""Sets of rates: how they are written, which they are, what is refused."""

import pytest
from problems.instances import problem_of

from sliceplan.solver.model.errors import InputError
from sliceplan.solver.what_if.scenarios.family import number, parse_family, sets_of_rates, with_rates

TWO = problem_of(
    [{"model": "vgg16", "rate_rps": 100, "slo_ms": 60}, {"model": "resnet50", "rate_rps": 40, "slo_ms": 60}]
)


def sets(text):
    family = parse_family(text, TWO)
    found = sets_of_rates(family, TWO)
    assert len(found) == number(family, TWO)
    return found


def test_a_grid_has_all_combinations_but_the_one_without_any():
    assert sets("grid=0,200,600") == [
        (0, 200),
        (0, 600),
        (200, 0),
        (200, 200),
        (200, 600),
        (600, 0),
        (600, 200),
        (600, 600),
    ]
    assert sets("grid=5,7") == [(5, 5), (5, 7), (7, 5), (7, 7)]


def test_a_scale_multiplies_all_rates():
    assert sets("scale=0.5:1.5:0.5") == [(50, 20), (100, 40), (150, 60)]


def test_random_sets_are_those_of_their_seed():
    assert sets("random=4:7") == sets("random=4:7")
    assert sets("random=4:7") != sets("random=4")
    assert all(0 < rates[0] <= 200 and 0 < rates[1] <= 80 for rates in sets("random=50"))


def test_services_without_requests_are_left_out_of_the_problem():
    problem = with_rates(TWO, (0.0, 20.0))
    assert [(one.name, one.rate_rps) for one in problem.workloads] == [("w1", 20.0)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gird=1,2", "Did you mean 'grid'?"),
        ("grid", "is no family; expected grid=RATE"),
        ("grid=1,x", "cannot be read: expected grid=RATE"),
        ("grid=-1,2", "not below 0"),
        ("grid=0", "one above it"),
        ("grid=nan", "finite"),
        ("scale=0:1:0.5", "factors are to be above 0"),
        ("scale=2:1:0.5", "to rise from FROM to TO"),
        ("random=0", "at least 1"),
        ("random=3:-1", "the seed not below 0"),
        ("random=200000", "asks for 200,000 sets of rates; 1 to 100,000 go"),
        ("grid=0:1000:1", "asks for 1,002,000 sets of rates"),
        ("scale=1e300", "workloads[0].rate_rps"),
    ],
)
def test_what_is_no_family_is_refused_with_the_reason(text, words):
    with pytest.raises(InputError) as refused:
        parse_family(text, TWO)
    assert words in str(refused.value)
