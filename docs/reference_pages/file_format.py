"""
The reference of a file format, as Markdown, from the JSON Schema that sliceplan ships for it.

A record is a section with its sentence and a table of its fields: what each takes, and what it means.
"""

from collections.abc import Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]

BOUNDS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "above {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "below {}",
    "minItems": "{} or more",
    "maxItems": "at most {} of them",
    "maxLength": "at most {} characters",
}
"""Keywords of JSON Schema, and how each is said."""


def file_format(schema: Schema) -> str:
    """Returns a section for the whole file and one for each record in it, in the order in which they are met."""
    records = {schema["title"]: schema}
    waiting = [schema]
    while waiting:
        for name in _named(waiting.pop(0)["properties"]):
            if name not in records:
                records[name] = schema["$defs"][name]
                if "properties" in records[name]:
                    waiting.append(records[name])
    return "\n".join(line for name, record in records.items() for line in _section(name, record))


def _named(part: Any) -> Iterator[str]:
    """Yields the names of the records that a part of a schema refers to."""
    if isinstance(part, Mapping):
        if "$ref" in part:
            yield part["$ref"].rpartition("/")[2]
        for value in part.values():
            yield from _named(value)
    elif isinstance(part, list):
        for value in part:
            yield from _named(value)


def _section(name: str, record: Schema) -> Iterator[str]:
    yield from (f"## {name}", "", record.get("description", ""), "")
    if "enum" in record:
        yield from ("One of " + ", ".join(f"`{value}`" for value in record["enum"]) + ".", "")
    if "properties" in record:
        yield from ("| field | takes | |", "|---|---|---|")
        for field, what in record["properties"].items():
            needed = " *required*" if field in record.get("required", ()) else ""
            yield f"| `{field}`{needed} | {_taken(what)} | {_cell(what.get('description', ''))} |"
        yield ""


def _taken(what: Schema) -> str:
    """Returns what a field takes: type, bounds, default."""
    words = [_type(what), *_bounds(what)]
    for one in what.get("anyOf", ()):
        words += _bounds(one)
    default = what.get("default")
    if default not in (None, []) and not isinstance(default, Mapping):
        words.append(f"default `{_shown(default)}`")
    return ", ".join(word for word in words if word)


def _type(what: Schema) -> str:
    if "anyOf" in what:
        return " or ".join(_type(one) for one in what["anyOf"])
    if "$ref" in what:
        name = what["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "const" in what:
        return f"`{_shown(what['const'])}`"
    if "enum" in what:
        return " or ".join(f"`{_shown(value)}`" for value in what["enum"])
    if what.get("type") == "array":
        return _array(what)
    if what.get("type") == "object":
        inner = what.get("additionalProperties")
        return f"{_type(inner)} by name" if isinstance(inner, Mapping) else "a mapping"
    return {"string": "text", "number": "number", "integer": "whole number", "boolean": "true or false"}.get(
        what.get("type", ""), "`null`" if what.get("type") == "null" else "anything"
    )


def _array(what: Schema) -> str:
    if "prefixItems" in what:
        return "[" + ", ".join(_type(item) for item in what["prefixItems"]) + "]"
    items = what.get("items", {})
    bounds = ", ".join(_bounds(items))
    return f"list of {_type(items)}" + (f" ({bounds})" if bounds else "")


def _bounds(what: Schema) -> Iterator[str]:
    for keyword, said in BOUNDS.items():
        if keyword in what:
            yield said.format(_shown(what[keyword]))


def _shown(value: Any) -> str:
    """Returns a value as one writes it in YAML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    return f"{value:,.12g}" if isinstance(value, int | float) else str(value)


def _cell(text: str) -> str:
    """Returns a text for a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")
