"""What the GPUs of a problem cost: its own prices first, then those of the one price book that it names."""

from collections.abc import Collection, Iterable, Mapping

from .price_book import DEFAULT_BOOK, GpuPrice, PriceBook, load_price_books, span
from .problem import FleetEntry, Problem

MOST_NAMED = 3
"""GPU types named in a sentence about prices."""


def books_of(problem: Problem) -> Mapping[str, PriceBook]:
    """Returns the price books that a problem can name: the shipped ones and its own, by name."""
    return {**load_price_books(), **{book.name: book for book in problem.price_books}}


def book_of(problem: Problem) -> PriceBook | None:
    """Returns the price book of a problem, the default one where it names none; None: there is no such book."""
    return book_named(problem.prices, problem.price_books)


def book_named(name: str | None, own: Iterable[PriceBook] = ()) -> PriceBook | None:
    """Returns the price book of that name, shipped or one's own; None as a name: the default; None: there is none."""
    return {**load_price_books(), **{book.name: book for book in own}}.get(name or DEFAULT_BOOK)


def price_of(entry: FleetEntry, book: PriceBook | None) -> GpuPrice | None:
    """Returns what a GPU of a fleet entry costs; None: neither the entry nor the book says it."""
    if entry.price_per_hour is not None:
        return GpuPrice(gpu=entry.gpu, usd_per_hour=entry.price_per_hour, book=None, date=None, factor=None)
    listed = book.price(entry.gpu) if book else None
    if book is None or listed is None:
        return None
    factor = entry.price_factor
    # To 12 digits, as prices are read where they are added up exactly.
    usd_per_hour = listed.usd_per_gpu_hour if factor is None else float(f"{listed.usd_per_gpu_hour * factor:.12g}")
    return GpuPrice(gpu=entry.gpu, usd_per_hour=usd_per_hour, book=book.name, date=listed.date, factor=factor)


def prices_of(problem: Problem) -> tuple[GpuPrice, ...]:
    """Returns what the GPUs of a problem cost, in the order of its fleet; types of unknown price are left out."""
    book = book_of(problem)
    found = (price_of(entry, book) for entry in problem.fleet)
    return tuple(price for price in found if price is not None)


def usd_per_hour_of(problem: Problem) -> dict[str, float]:
    """Returns the prices of a problem by GPU type, without the types whose price is not known."""
    return {price.gpu: price.usd_per_hour for price in prices_of(problem)}


def why_unpriced(problem: Problem, gpu: str) -> str:
    """Returns what to do about a GPU type that has no price."""
    book = book_of(problem)
    if book is None:
        return f"is missing, and there is no price book {problem.prices!r} to take it from"
    lacking = f"is missing, and the price book {book.name} ({book.what}) has no {gpu}"
    having = [name for name, other in books_of(problem).items() if other.price(gpu)]
    priced = {name: prices_of(problem.model_copy(update={"prices": name})) for name in having}
    if whole := next((name for name, prices in priced.items() if len(prices) == len(problem.fleet)), None):
        return f"{lacking}. Give USD per GPU and hour, or a book that has the whole fleet: `prices: {whole}`"
    elsewhere = f"it is in {', '.join(having)}, without others of this fleet" if having else "no price book has it"
    return f"{lacking}; {elsewhere}. Give USD per GPU and hour: prices of several books are not mixed"


def price_words(prices: Iterable[GpuPrice], used: Collection[str] = ()) -> str:
    """
    Returns whose prices of which date they are, as in "aws-us-east-1 prices of 2026-11-09, your own for T4".

    Parameters
    ----------
    used
        GPU types to speak of; empty: all.
    """
    spoken_of = [price for price in prices if not used or price.gpu in used]
    listed = [price for price in spoken_of if price.book is not None]
    own = [price.gpu for price in spoken_of if price.book is None]
    parts = []
    if listed:
        parts.append(f"{listed[0].book} prices of {span(price.date or '' for price in listed)}")
    parts += [f"times {price.factor:g} for {price.gpu}" for price in listed if price.factor is not None]
    if own:
        parts.append(f"your own for {_few(own)}" if listed else "your own prices")
    return ", ".join(parts)


def _few(names: list[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:MOST_NAMED])} and {more} more"
