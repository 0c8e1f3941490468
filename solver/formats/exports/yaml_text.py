"""YAML as people write it by hand: keys in the order given, texts of several lines as they are, a comment on top."""

from collections.abc import Iterable, Mapping
from typing import Any

import yaml


class _Dumper(yaml.SafeDumper):
    """Safe YAML that keeps texts of several lines as they are and repeats nothing by aliases."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 (PyYAML passes it)
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def yaml_text(documents: Iterable[Mapping[str, Any]], comments: Iterable[str] = (), *, inline: bool = False) -> str:
    """
    Returns one or more YAML documents, below lines of comment.

    Parameters
    ----------
    inline
        Whether lists and mappings of plain values stand on one line.
    """
    style = None if inline else False
    dumped = (
        yaml.dump(document, Dumper=_Dumper, sort_keys=False, default_flow_style=style, width=10**6, allow_unicode=True)
        for document in documents
    )
    return "".join(f"# {line}\n" for line in comments) + "---\n".join(dumped)
