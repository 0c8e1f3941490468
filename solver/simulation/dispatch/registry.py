"""The ways to deal requests, by name."""

from collections.abc import Mapping

from .central import Central
from .dealing import Dealing
from .least_expected import LeastExpected
from .least_loaded import LeastLoaded
from .random_split import RandomSplit
from .weighted_round_robin import WeightedRoundRobin

DISPATCHES: Mapping[str, Dealing] = {
    dealing.name: dealing
    for dealing in (WeightedRoundRobin(), RandomSplit(), LeastLoaded(), LeastExpected(), Central())
}
