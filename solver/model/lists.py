"""How messages list names."""

from collections.abc import Sequence


def few(names: Sequence[str], most: int = 12) -> str:
    """Returns names with commas; of many the first, and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
