"""Whether a MIG instance fits beside others: placements do not overlap, and slices and engines do not run out."""

from collections.abc import Sequence

from ....solver.model.hardware import Engine, MigGeometry, MigProfile

MEDIA_ENGINES: tuple[Engine, ...] = ("dec", "enc", "jpeg", "ofa")


def no_room(
    geometry: MigGeometry, present: Sequence[tuple[int, MigProfile]], profile: MigProfile, start: int
) -> str | None:
    """Returns why an instance does not fit beside those that are there, given as (start, profile); None: it fits."""
    wanted = range(start, start + profile.memory_slices)
    for other_start, other in present:
        held = range(other_start, other_start + other.memory_slices)
        if wanted.start < held.stop and held.start < wanted.stop:
            return f"{other.name} holds slices {held.start} to {held.stop - 1}"
    profiles = [profile, *(other for _, other in present)]
    compute = sum(one.compute_slices for one in profiles)
    if compute > geometry.compute_slices:
        return f"{compute} compute slices; there are {geometry.compute_slices}"
    if sum(one.name == profile.name for one in profiles) > profile.max_count:
        return f"at most {profile.max_count} of this profile"
    budget = geometry.full.engines or {}
    for engine in MEDIA_ENGINES if geometry.full.engines else ():
        taken = sum((one.engines or {}).get(engine, 0) for one in profiles)
        if taken > budget.get(engine, 0):
            return f"{taken} {engine.upper()} engines; there are {budget.get(engine, 0)}"
    return None
