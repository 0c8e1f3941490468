"""What a person names for each workload of a plan, as its container image."""

from collections.abc import Collection, Iterable, Mapping

from ...model.errors import Finding


def missing_images(workloads: Iterable[str], images: Mapping[str, str], others: Collection[str] = ()) -> list[Finding]:
    """Returns what is wrong with the images: workloads without one, and images of workloads that are not there."""
    return missing_values(workloads, images, "--image", "IMAGE", others)


def missing_values(
    workloads: Iterable[str], values: Mapping[str, str], option: str, what: str, others: Collection[str] = ()
) -> list[Finding]:
    """
    Returns the workloads without a value of an option, and the values of workloads that are not there.

    Parameters
    ----------
    others
        Workloads of the plan that need no value and may have one.
    """
    known = list(dict.fromkeys(workloads))
    without = [one for one in known if one not in values and "" not in values]
    shown = ", ".join(without[:5]) + (f" and {len(without) - 5} more" if len(without) > 5 else "")
    message = f"is missing for {shown}; give {option} {what} for all, or WORKLOAD={what} for each"
    findings = [Finding(option, "", message)] if without else []
    unknown = [one for one in values if one and one not in known and one not in others]
    return findings + [Finding(option, one, "is no workload of the plan") for one in unknown]
