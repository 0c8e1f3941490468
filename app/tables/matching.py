"""Rows of a table of services that a text is found in."""

import pandas as pd

LOOKED_IN = ("name", "model", "gpus")


def matching(services: pd.DataFrame, text: str) -> list[int]:
    """
    Returns the numbers of the rows in which every word of a text is found, in any case; of all rows if it has none.

    Parameters
    ----------
    services
        With the columns LOOKED_IN, of which a word may be in any, or a part of what stands there.
    """
    words = text.casefold().split()
    cells = zip(*(services[name].fillna("").astype(str) for name in LOOKED_IN), strict=True)
    rows = ("\n".join(row).casefold() for row in cells)
    return [number for number, row in enumerate(rows) if all(word in row for word in words)]
