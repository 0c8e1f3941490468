"""What residents of GPUs under MPS take for the part of a rate that partitions leave to them: what covers ask for."""

from typing import Protocol, Self

from ...performance.interference.prediction import Floats, Ints


class HostedRates(Protocol):
    """A lower limit of the GPUs that rates take of types under MPS; concave in the prices of these types."""

    @property
    def gpus(self) -> Floats:
        """What all of each rate takes of a type as a fluid, shape (workload, type); inf: not there."""

    @property
    def at_least(self) -> Floats:
        """What `taken` is at least for any part of a rate, over that part, on one type; as `gpus`."""

    def of(self, rows: "Ints | list[int]") -> Self:
        """Returns what some workloads take."""

    def taken(self, rest: Floats, price: Floats) -> tuple[Floats, Floats]:
        """
        Returns the least cost of carrying parts of the rates, and the GPUs of each type that it takes.

        Shapes (workload,), inf where no type serves it, and (workload, type).

        Parameters
        ----------
        rest
            x, above 0, shape (workload,).
        price
            Of a GPU of each type, shape (type,).
        """
