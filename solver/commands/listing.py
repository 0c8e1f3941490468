"""The commands that list what sliceplan knows."""

import sys
from enum import StrEnum
from typing import Annotated

import typer

from ..model.errors import Finding, InputError
from .inputs import known_profiles, price_book
from .options import PricesOption, ProfilesOption
from .output import display, two_columns


def planners() -> None:
    """List the planners and where they come from."""
    from .. import api

    display(two_columns(api.planner_sources()))


def gpus(
    name: Annotated[str | None, typer.Argument(help="A GPU type: print its whole entry, sources included.")] = None,
    prices: PricesOption = None,
) -> None:
    """List the GPU catalogue, with the prices of one price book."""
    import yaml

    from ..model.catalogue import load_catalogue
    from ..model.parsing import closest
    from ..model.price_book import DEFAULT_BOOK, load_price_books
    from .terminal import gpu_table

    known, books = load_catalogue(), load_price_books()
    if name is None:
        book = price_book(prices or DEFAULT_BOOK, books)
        display(gpu_table(known.values(), book))
        display(f"$/h: {book.what}, {book.dates} (book {book.name})")
    elif name in known:
        listed = {book.name: price for book in books.values() if (price := book.price(name))}
        data = known[name].model_dump(mode="json")
        data["prices"] = {book: price.model_dump(mode="json", exclude={"gpu"}) for book, price in listed.items()}
        sys.stdout.write(yaml.safe_dump(data, sort_keys=False, allow_unicode=True))
    else:
        raise InputError([Finding("GPU", name, f"is not in the catalogue. {closest(name, known)}")])


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
