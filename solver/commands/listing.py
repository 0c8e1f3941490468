"""The commands that list what sliceplan knows."""

import sys
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from ..model.errors import Finding, InputError
from .inputs import known_profiles, price_book
from .options import PricesOption, ProfilesOption
from .output import display, two_columns

if TYPE_CHECKING:
    from rich.table import Table

    from ..model.cpu import Cpu
    from ..model.hardware import Gpu
    from ..model.price_book import PriceBook

Type = TypeVar("Type", "Gpu", "Cpu")
"""What a catalogue lists."""


def planners() -> None:
    """List the planners and where they come from."""
    from .. import api

    display(two_columns(api.planner_sources()))


def gpus(
    name: Annotated[str | None, typer.Argument(help="A GPU type: print its whole entry, sources included.")] = None,
    prices: PricesOption = None,
) -> None:
    """List the GPU catalogue, with the prices of one price book."""
    from ..model.catalogue import load_catalogue
    from .terminal import gpu_table

    _list_catalogue("GPU", load_catalogue(), name, prices, gpu_table)


def cpus(
    name: Annotated[str | None, typer.Argument(help="A CPU type: print its whole entry, sources included.")] = None,
    prices: PricesOption = None,
) -> None:
    """List the CPUs of the catalogue, with the prices of one price book."""
    from ..model.catalogue import load_cpus
    from .terminal import cpu_table

    _list_catalogue("CPU", load_cpus(), name, prices, cpu_table)


def _list_catalogue(
    kind: str,
    known: Mapping[str, Type],
    name: str | None,
    prices: str | None,
    table: "Callable[[Iterable[Type], PriceBook], Table]",
) -> None:
    """Shows all types of a catalogue with the prices of a book, or all that is known of one."""
    import yaml

    from ..model.parsing import closest
    from ..model.price_book import DEFAULT_BOOK, load_price_books, span

    books = load_price_books()
    if name is None:
        book = price_book(prices or DEFAULT_BOOK, books)
        listed = [price for one in known if (price := book.price(one))]
        display(table(known.values(), book))
        display(
            f"$/h: {book.what}, {span(price.date for price in listed) if listed else book.dates} (book {book.name})"
        )
    elif name in known:
        priced = {book.name: price for book in books.values() if (price := book.price(name))}
        data = known[name].model_dump(mode="json")
        data["prices"] = {book: price.model_dump(mode="json", exclude={"gpu"}) for book, price in priced.items()}
        sys.stdout.write(yaml.safe_dump(data, sort_keys=False, allow_unicode=True))
    else:
        raise InputError([Finding(kind, name, f"is not in the catalogue. {closest(name, known)}")])


def price_books(
    name: Annotated[
        str | None, typer.Argument(help="A price book, or the file of one: print it whole, sources included.")
    ] = None,
) -> None:
    """List the price books that a problem's `prices` can name."""
    import yaml

    from ..model.price_book import load_price_books
    from .terminal import price_book_table

    books = load_price_books()
    if name is None:
        display(price_book_table(books.values()))
    else:
        data = price_book(name, books).model_dump(mode="json", exclude_none=True)
        sys.stdout.write(yaml.safe_dump(data, sort_keys=False, allow_unicode=True))


def list_profiles(profiles: ProfilesOption = None) -> None:
    """List the model profiles and their quality."""
    from ..model.profile import merged
    from .terminal import profile_table

    display(profile_table(merged(known_profiles(profiles)).values()))


class RecordKind(StrEnum):
    """The files whose JSON Schema can be printed."""

    PROBLEM = "problem"
    PLAN = "plan"
    PROFILE = "profile"
    TRANSITION = "transition"
    SIMULATION = "simulation"


def schema(
    kind: Annotated[RecordKind, typer.Argument(help="problem, plan, profile, transition or simulation")],
) -> None:
    """Print the JSON Schema of a file format."""
    from ..formats.schemas import schema_text

    sys.stdout.write(schema_text(kind.value))
