"""What every record that passes a boundary has in common: immutable, no unknown field, no NaN."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class Record(BaseModel):
    """An immutable record; an unknown field, a NaN and an infinity are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


# Names end up in file names, labels and unit names, so they keep to what all of those accept.
Name = Annotated[
    str,
    Field(
        min_length=1,
        max_length=63,
        pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$",
        description="letters, digits, '.', '_' and '-'; begins and ends with a letter or a digit",
    ),
]
