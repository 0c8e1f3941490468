"""What follows for rates from sets that are decided: less is no harder, more is no easier."""

from collections.abc import Collection, Sequence

from ...model.scenario_report import Optimum, Scenario


class Facts:
    """Rates that are known to be possible or impossible, and what follows from them."""

    def __init__(self, scenarios: Collection[Scenario] = ()) -> None:
        self._known: dict[str, list[Sequence[float]]] = {"possible": [], "impossible": []}
        for one in scenarios:
            if one.optimum is not None:
                self.add(one.rates_rps, one.optimum)

    def add(self, rates: Sequence[float], optimum: Optimum) -> None:
        """Notes what was found."""
        if optimum.what in self._known:
            self._known[optimum.what].append(rates)

    def of(self, rates: Sequence[float]) -> Optimum | None:
        """Returns what follows for rates; None: nothing."""
        for what in ("possible", "impossible"):
            for other in self._known[what]:
                pairs = zip(rates, other, strict=True)
                if all(a <= b if what == "possible" else a >= b for a, b in pairs):
                    return Optimum(what="possible" if what == "possible" else "impossible", by="other rates")
        return None
