"""How messages count things."""


def counted(number: int, noun: str) -> str:
    """Returns a number and its noun: `1 GPU`, `2,000 GPUs`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
