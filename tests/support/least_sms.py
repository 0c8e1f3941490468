"""A GPU type of which it is known how many SMs any client of MPS gets."""

from contextlib import contextmanager
from unittest import mock

from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.hardware import Fact


@contextmanager
def least_sms(name, sms):
    """Has the catalogue say it of one of its types for a while."""
    catalogue = load_catalogue()
    known = catalogue[name].model_copy(update={"mps_least_sms": Fact(value=sms, source="a test")})
    with mock.patch.dict(catalogue._parsed, {name: known}):
        yield known
