"""What a sweep varies, in words with its unit."""

from ..model.sweep_report import AxisKind

UNITS: dict[AxisKind, tuple[str, str]] = {
    "rate": ("every rate, times", "rate of {}, requests/s"),
    "slo": ("every SLO, times (less is stricter)", "SLO of {}, ms"),
    "headroom": ("headroom of all services", "headroom of {}"),
    "price": ("price", "price of {}, USD per hour"),
    "count": ("count", "number of {}"),
}


def axis_in_words(kind: AxisKind, of: str | None) -> str:
    """Returns what an axis varies; `of`: what people call the service or GPU type, None: all services."""
    of_all, of_one = UNITS[kind]
    return of_all if of is None else of_one.format(of)
