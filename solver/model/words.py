"""How messages count things, and what tables call the statuses."""

from .plan import Status


def counted(number: int, noun: str) -> str:
    """Returns a number and its noun: `1 GPU`, `2,000 GPUs`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def short_status(status: str) -> str:
    """Returns the word or two that a table has for a status."""
    return {Status.NONE_FOUND.value: "none found", Status.TIMEOUT.value: "no answer"}.get(str(status), str(status))
