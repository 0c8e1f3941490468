"""Column types that both databases keep alike."""

import zlib
from datetime import UTC, datetime

from sqlalchemy import DateTime, Dialect, LargeBinary
from sqlalchemy.types import TypeDecorator

PACKED_FROM = 16 * 1024
"""Bytes of JSON from which it is compressed; a plan for 100,000 services takes tens of MB, and a tenth of it packed."""

FAST = 1
"""zlib's level: a few per cent larger than the default, several times as fast."""


class UtcTime(TypeDecorator[datetime]):
    """A time with its zone; SQLite keeps no zone, so that the store's times are UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 (SQLAlchemy passes it)
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 (SQLAlchemy passes it)
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class PackedJson(TypeDecorator[bytes]):
    """A JSON object in UTF-8; from PACKED_FROM bytes on compressed by zlib. The first byte, `{` or not, tells which."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: bytes | None, dialect: Dialect) -> bytes | None:  # noqa: ARG002 (SQLAlchemy passes it)
        return value if value is None or len(value) < PACKED_FROM else zlib.compress(value, FAST)

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> bytes | None:  # noqa: ARG002 (SQLAlchemy passes it)
        return value if value is None or value.startswith(b"{") else zlib.decompress(value)
