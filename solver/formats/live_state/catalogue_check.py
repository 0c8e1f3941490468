"""
Whether a driver's listing of MIG profiles is that of a GPU type, and whether it could be another's as well.

A yes takes both: nothing of the listing contradicts the type's entry in the catalogue, and every other type's entry is
contradicted. Places alone (-lgipp) are alike on most boards; names, SMs and memory (-lgip) tell nearly all apart. What
the catalogue does not know of a type contradicts nothing, so that such a type is never excluded without reason.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from ...model.catalogue import load_catalogue
from ...model.hardware import Gpu, MigProfile
from .driver_profiles import DriverProfile, Listing

MEMORY = 0.1
"""
By how much the memory of a profile may differ: it is less of the same board where ECC or a driver takes some (a B200's
1g.23gb had 20.50 GiB and 22.00, an A100's 1g.5gb 4.95 and 4.75). Boards of other memory differ by more, and in name.
"""


@dataclass(frozen=True)
class CatalogueCheck:
    """What a listing says of a GPU type."""

    differences: tuple[str, ...]
    """Where it differs from the type's entry; empty: nowhere."""
    alike: tuple[str, ...]
    """Other types whose entries it does not contradict either, if it does not contradict the one in question."""
    has_names: bool
    """Whether `nvidia-smi mig -lgip` is part of it, which tells more boards apart."""


def check_catalogue(listing: Listing, facts: Gpu) -> CatalogueCheck:
    """Returns how a listing compares with the catalogue's entry of a type, and with all others."""
    differences = tuple(catalogue_differences(listing, facts))
    others = (gpu for name, gpu in load_catalogue().items() if name != facts.name and gpu.mig)
    alike = () if differences else tuple(gpu.name for gpu in others if not any(catalogue_differences(listing, gpu)))
    return CatalogueCheck(differences, alike, any(profile.name is not None for profile in listing.values()))


def catalogue_differences(listing: Listing, facts: Gpu) -> Iterator[str]:
    """Yields where a listing differs from a type's entry: profile by profile, by id; by name where no id is known."""
    left = {profile.name: profile for profile in (facts.mig.profiles if facts.mig else ())}
    for profile_id, there in sorted(listing.items()):
        profile = _entry(profile_id, there, list(left.values()))
        if profile is None:
            shown = "".join(f", {part}" for part in (there.name, _places(there.starts, there.size)) if part)
            yield f"profile {profile_id}{shown}: the driver has it; the catalogue does not"
            continue
        del left[profile.name]
        for what, ours, theirs in _compared(profile, there):
            yield f"{profile.name} ({profile_id}): the driver has {what}{theirs}; the catalogue {ours}"
    for profile in left.values():
        number = "" if profile.nvml_profile_id is None else f" ({profile.nvml_profile_id})"
        yield f"{profile.name}{number}: the catalogue has it; the driver does not"


def _entry(profile_id: int, there: DriverProfile, left: list[MigProfile]) -> MigProfile | None:
    """
    Returns the entry that a listed profile is, of those that are left.

    An entry without an id is the one of its name; where the listing has no names, the first with the same places: which
    of several it is makes no difference, since nothing else is compared then.
    """
    if (found := next((one for one in left if one.nvml_profile_id == profile_id), None)) is not None:
        return found
    nameless = [one for one in left if one.nvml_profile_id is None]
    if there.name is not None:
        return next((one for one in nameless if one.name == there.name), None)
    places = there.starts, there.size
    return next((one for one in nameless if (tuple(sorted(one.starts)), one.memory_slices) == places), None)


def _compared(profile: MigProfile, there: DriverProfile) -> Iterator[tuple[str, object, object]]:
    """Yields of what differs: what it is, the catalogue's and the driver's."""
    if there.name is not None and there.name != profile.name:
        yield "the name ", profile.name, there.name
    places = tuple(sorted(profile.starts)), profile.memory_slices
    if there.starts is not None and (there.starts, there.size) != places:
        yield "", _places(*places), _places(there.starts, there.size)
    if there.instances is not None and there.instances != profile.max_count:
        yield "instances: ", profile.max_count, there.instances
    if None not in (there.sm_count, profile.sm_count) and there.sm_count != profile.sm_count:
        yield "SMs: ", profile.sm_count, there.sm_count
    ours, theirs = profile.memory_gib, there.memory_gib
    if ours is not None and theirs is not None and abs(theirs - ours) > MEMORY * ours:
        yield "GiB: ", ours, theirs


def _places(starts: tuple[int, ...] | None, size: int | None) -> str:
    return "" if starts is None else f"{{{','.join(map(str, sorted(starts)))}}}:{size}"
