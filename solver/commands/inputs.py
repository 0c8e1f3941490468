"""What commands read before they do anything."""

from pathlib import Path
from typing import TYPE_CHECKING

from ..model.errors import Finding, InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..model.price_book import PriceBook
    from ..model.problem import Problem
    from ..model.profile import Profile


def known_profiles(paths: list[Path] | None) -> "list[Profile]":
    """Returns the shipped profiles and those of the files; raises InputError with the findings of all files."""
    from ..formats.profile_files import read_profiles, shipped_profiles

    known = shipped_profiles()
    findings: list[Finding] = []
    for path in paths or ():
        try:
            known += read_profiles(path)
        except InputError as error:
            findings += error.findings
    if findings:
        raise InputError(findings)
    return known


def read_problem_and_profiles(
    problem: Path, profiles: list[Path] | None, prices: str | None = None
) -> "tuple[Problem, list[Profile]]":
    """
    Returns a problem and the profiles that it is resolved with: the shipped ones, then those of the option.

    Parameters
    ----------
    prices
        Name or file of the price book that takes the place of the problem's; None: the problem's.
    """
    from ..formats.problem_files import read_problem

    known = known_profiles(profiles)
    parsed = read_problem(problem, known)
    return (parsed if prices is None else priced_by(parsed, prices)), known


def priced_by(problem: "Problem", prices: str) -> "Problem":
    """Returns a problem with another price book, given by its name or by its file."""
    from ..model.prices import books_of

    book = price_book(prices, books_of(problem))
    if prices in books_of(problem):
        return problem.model_copy(update={"prices": prices})
    others = tuple(other for other in problem.price_books if other.name != book.name)
    return problem.model_copy(update={"prices": book.name, "price_books": (*others, book)})


def price_book(name: str, books: "Mapping[str, PriceBook]") -> "PriceBook":
    """Returns one of the price books that there are, or the one in the file of that name."""
    from ..model.parsing import closest, read_record
    from ..model.price_book import PriceBook, load_price_books

    if name in books:
        return books[name]
    if not Path(name).exists():
        raise InputError([Finding("price book", name, f"is not known, and is no file. {closest(name, books)}")])
    book = read_record(PriceBook, Path(name))
    if book.name in load_price_books():
        raise InputError(
            [Finding(name, "name", f"is {book.name!r}, a book that sliceplan ships; give it another name")]
        )
    return book
