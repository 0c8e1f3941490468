"""Price books: what one cloud asks in one region on one commitment, with source and date; files in profiles/prices."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import date
from functools import cache
from importlib.resources import files

from pydantic import Field, field_validator, model_validator

from .base import Name, Record
from .lists import few
from .parsing import parse_record, parse_text

DEFAULT_BOOK = "aws-us-east-1"
"""The book that holds where a problem names none: the one with the most GPU types, all of one cloud and region."""


class ListPrice(Record):
    """A published price of one GPU type."""

    gpu: Name = Field(description="GPU or CPU type: a name of the catalogue (`sliceplan gpus`, `sliceplan cpus`)")
    usd_per_gpu_hour: float = Field(
        ge=1e-4, le=1e4, description="price of the instance divided by its GPUs, or its CPUs, USD per hour"
    )
    instance: str | None = Field(default=None, description="what is rented")
    gpu_count: int = Field(default=1, ge=1, description="GPUs, or CPUs, of the instance")
    date: str = Field(pattern=r"^\d{4}-\d{2}(-\d{2})?$", description="when the price was read: 2026-11-09 or 2026-11")
    source: str = Field(min_length=1, description="where it was read")
    verified: bool = Field(default=True, description="false: one indirect source only")

    @field_validator("date", mode="before")
    @classmethod
    def _yaml_makes_dates(cls, value: object) -> object:
        """YAML reads 2026-11-09 without quotes as a date."""
        return value.isoformat() if isinstance(value, date) else value


class PriceBook(Record):
    """Prices that belong together: of one cloud, one region and one commitment."""

    name: Name = Field(description="what `prices` of a problem names")
    cloud: str = Field(min_length=1, description="who asks these prices")
    region: str = Field(min_length=1)
    commitment: str = Field(min_length=1, description="what they hold for: on demand, reserved for a year, spot")
    note: str | None = Field(default=None, description="what is left out, and why")
    prices: tuple[ListPrice, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _one_price_a_type(self) -> "PriceBook":
        times = Counter(price.gpu for price in self.prices)
        if twice := sorted(name for name, number in times.items() if number > 1):
            raise ValueError(f"lists a GPU type twice: {few(twice)}; one price per type")
        return self

    def price(self, gpu: str) -> ListPrice | None:
        """Returns the price of a GPU type; None: the book has none."""
        return next((price for price in self.prices if price.gpu == gpu), None)

    @property
    def dates(self) -> str:
        """When its prices were read: a date, or the first and the last."""
        return span(price.date for price in self.prices)

    @property
    def what(self) -> str:
        """Whose prices they are, in words."""
        return f"{self.cloud} {self.region}, {self.commitment}"


class GpuPrice(Record):
    """What a GPU of one type of the fleet costs, and who says so."""

    gpu: str = Field(description="GPU type")
    usd_per_hour: float = Field(gt=0, description="USD per GPU and hour, after the factor")
    book: str | None = Field(description="price book; null: the problem states the price itself")
    date: str | None = Field(description="when the book's price was read; null: the problem states the price itself")
    factor: float | None = Field(gt=0, description="what the book's price was multiplied by; null: nothing")


@cache
def load_price_books() -> Mapping[str, PriceBook]:
    """Returns the shipped price books by name, the default one first."""
    folder = files("sliceplan.profiles").joinpath("prices")
    entries = sorted(folder.iterdir(), key=lambda entry: (not entry.name.startswith(DEFAULT_BOOK), entry.name))
    books = [
        parse_record(PriceBook, parse_text(entry.read_text("utf-8"), entry.name), entry.name)
        for entry in entries
        if entry.name.endswith(".yaml")
    ]
    return {book.name: book for book in books}


def span(dates: Iterable[str]) -> str:
    """Returns one date, or the first and the last of several."""
    found = sorted(set(dates))
    return found[0] if len(found) == 1 else f"{found[0]} to {found[-1]}"
