"""Which types of the catalogue a name of the driver's stands for."""

import pytest

from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.driver_names import CATALOGUE_NAMES, SAME_NAME, catalogue_types


def test_every_type_is_found_by_its_name_with_blanks_or_hyphens():
    found = set()
    for name in (*CATALOGUE_NAMES, *SAME_NAME):
        types = catalogue_types(f"NVIDIA {name}")
        assert types == catalogue_types(f"NVIDIA {name}".replace(" ", "-")) == catalogue_types(name)
        assert types
        found |= set(types)
    assert found == set(load_catalogue())


@pytest.mark.parametrize(
    ("name", "types"),
    [
        ("NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", ("RTX-PRO-6000-96GB",)),
        ("Tesla-V100-SXM2-32GB", ("V100-SXM2-32GB",)),
        ("NVIDIA GB200", ("GB200", "GB200-189GB")),
        ("NVIDIA H100", ()),
        ("", ()),
    ],
)
def test_a_name_of_several_types_or_none_says_so(name, types):
    assert catalogue_types(name) == types
