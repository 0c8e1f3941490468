"""
The layouts that NVIDIA's GPU operator makes, by the names of its configurations: all-balanced, and all-PROFILE.

A node tells how many instances it has, not where. mig-parted, which makes these layouts, creates the largest instance
first and leaves the start to the driver (pkg/types/mig_config.go, Flatten; pkg/mig/config/config.go), and the driver
takes the last start at which there is room: all-balanced on an A100 is 3g at 4, 2g at 2, 1g at 1 and 0 (as
`nvidia-smi mig -lgi` lists it after `-cgi 9,14,19,19`). That is what is assumed here, and said to be assumed.
"""

from collections import Counter
from collections.abc import Mapping

from ...model.geometry import BALANCED, Layout, Placement, fits, placement_rules
from ...model.hardware import Gpu, MigProfile

ALL = "all-"
BALANCED_NAME = "all-balanced"


def operator_profiles(config: str | None, counts: Mapping[str, int], facts: Gpu) -> Counter[str] | None:
    """
    Returns how many instances of each profile the operator makes on each GPU of a node; None: not known.

    Parameters
    ----------
    config
        Name of the configuration (nvidia.com/mig.config); None: the node has no such label, and the profiles that it
        has tell which it is.
    counts
        Profile -> instances of the whole node.
    """
    profiles = {profile.name: profile for profile in facts.mig.profiles} if facts.mig else {}
    if config in (None, BALANCED_NAME):
        balanced = _balanced(facts)
        if balanced is not None and balanced.keys() == counts.keys():
            return balanced
    for name in counts:
        full = Counter({name: profiles[name].max_count})
        if full.keys() == counts.keys() and config in (None, ALL + name, ALL + name.replace("+", ".")):
            return full
    return None


def assumed_layout(profiles: Mapping[str, int], facts: Gpu) -> Layout | None:
    """Returns where the driver puts these instances (see above); None: they do not fit in that order."""
    if facts.mig is None:
        return None
    rules = placement_rules(facts.mig)
    layout: Layout = ()
    for name in sorted(Counter(profiles).elements(), key=lambda one: -rules.by_name[one].compute_slices):
        places = (Placement(start, name) for start in sorted(rules.by_name[name].starts, reverse=True))
        added = next((place for place in places if fits(rules, layout, place)), None)
        if added is None:
            return None
        layout = (*layout, added)
    return tuple(sorted(layout))


def _balanced(facts: Gpu) -> Counter[str] | None:
    """Returns the instances of the all-balanced layout: of each number of slices the profile that fits most often."""
    if facts.mig is None or facts.mig.compute_slices not in BALANCED:
        return None
    plain: dict[int, MigProfile] = {}
    for profile in facts.mig.profiles:
        there = plain.get(profile.compute_slices)
        if profile.kind != "variant" and (there is None or profile.max_count > there.max_count):
            plain[profile.compute_slices] = profile
    return Counter(plain[slices].name for slices in BALANCED[facts.mig.compute_slices])
