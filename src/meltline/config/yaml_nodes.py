"""YAML text to plain values, with the line of every key and entry.

Scalars follow YAML 1.2, like Data Prepper: `yes`, `on`, `12:30` and `2024-01-01` are texts, and so
is a number with leading zeros. Keys are always texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TypeAlias

from yaml.composer import Composer
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.resolver import BaseResolver
from yaml.scanner import Scanner

from meltline.config.place import DocPath

_TAG = "tag:yaml.org,2002:"
_MERGE = "<<"
_MOST_NODES = 200_000
_Pairs: TypeAlias = dict[str, tuple[Node, Node]]
_SCALARS = {
    "null": (r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    "bool": (r"^(?:true|True|TRUE|false|False|FALSE)$", list("tTfF")),
    "int": (r"^-?(?:0|[1-9][0-9]{0,39})$", list("-0123456789")),
    "float": (
        r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?$",
        list("-+.0123456789"),
    ),
    "merge": (r"^(?:<<)$", ["<"]),
}


class WrittenFloat(float):
    """A number that remembers how it was written: `1.10` must not reach a catalog as `1.1`."""

    text: str

    def __new__(cls, text: str) -> WrittenFloat:
        number = super().__new__(cls, text)
        number.text = text
        return number

    def __str__(self) -> str:
        return self.text


class NodeError(Exception):
    """A node that has no value. `line` counts from 1."""

    def __init__(self, what: str, line: int, path: DocPath, hint: str | None = None) -> None:
        super().__init__(what)
        self.what, self.line, self.path, self.hint = what, line, path, hint


class _Resolver(BaseResolver):
    pass


for _name, (_pattern, _first) in _SCALARS.items():
    _Resolver.add_implicit_resolver(_TAG + _name, re.compile(_pattern), _first)


class _NodeReader(Reader, Scanner, Parser, Composer, _Resolver):
    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)
        Composer.__init__(self)
        _Resolver.__init__(self)


def compose(text: str) -> Node | None:
    """The only document of a text, or None when there is nothing in it. Raises YAMLError."""
    node: Node | None = _NodeReader(text).get_single_node()
    return node


class Builder:
    """Turns nodes into values. `lines` maps a path to the line of its key or list entry."""

    def __init__(self) -> None:
        self.lines: dict[DocPath, int] = {}
        self._open: set[int] = set()
        self._known_pairs: dict[int, _Pairs | None] = {}

    def build(self, node: Node, path: DocPath = ()) -> Any:
        self.lines.setdefault(path, line_of(node))
        # aliases can multiply a short text into any number of nodes
        if len(self.lines) > _MOST_NODES:
            raise NodeError("the document is too large", line_of(node), path)
        if isinstance(node, ScalarNode):
            return _scalar(node, path)
        if id(node) in self._open:
            raise NodeError("an alias contains itself", line_of(node), path)
        self._open.add(id(node))
        try:
            return self._collection(node, path)
        finally:
            self._open.discard(id(node))

    def _collection(self, node: Node, path: DocPath) -> Any:
        if isinstance(node, SequenceNode) and node.tag == f"{_TAG}seq":
            return [self.build(entry, (*path, index)) for index, entry in enumerate(node.value)]
        if isinstance(node, MappingNode) and node.tag == f"{_TAG}map":
            return self._mapping(node, path)
        raise _unsupported(node, path)

    def _mapping(self, node: MappingNode, path: DocPath) -> dict[str, Any]:
        pairs = self._pairs(node, path)
        for key, (key_node, _) in pairs.items():
            place = (*path, key)
            self.lines[place] = line_of(key_node)
        return {key: self.build(value, (*path, key)) for key, (_, value) in pairs.items()}

    def _pairs(self, node: MappingNode, path: DocPath) -> _Pairs:
        """The entries of a map, merged ones first; what is written in the map itself wins.

        Kept per node: merges of merges would otherwise be looked up again and again.
        """
        if id(node) not in self._known_pairs:
            self._known_pairs[id(node)] = None
            own = _own_pairs(node, path)
            merged: _Pairs = {}
            if _MERGE in own and own[_MERGE][0].tag == f"{_TAG}merge":
                for source in _merge_sources(own.pop(_MERGE)[1], path):
                    merged = {**self._pairs(source, path), **merged}
            self._known_pairs[id(node)] = {**merged, **own}
        pairs = self._known_pairs[id(node)]
        if pairs is None:
            raise NodeError("an alias contains itself", line_of(node), path)
        return pairs


def _own_pairs(node: MappingNode, path: DocPath) -> _Pairs:
    own: _Pairs = {}
    for key_node, value in node.value:
        if not isinstance(key_node, ScalarNode):
            raise NodeError("a key must be text", line_of(key_node), path)
        key = key_node.value
        if key in own:
            first = line_of(own[key][0])
            hint = f"it is already on line {first}; remove one of the two"
            raise NodeError(f'duplicate key "{key}"', line_of(key_node), (*path, key), hint)
        own[key] = (key_node, value)
    return own


def _merge_sources(value: Node, path: DocPath) -> Iterator[MappingNode]:
    sources = value.value if isinstance(value, SequenceNode) else [value]
    for source in sources:
        if not isinstance(source, MappingNode):
            raise NodeError("<< takes a map or a list of maps", line_of(value), path)
        yield source


def _scalar(node: ScalarNode, path: DocPath) -> Any:
    text = node.value
    kind = node.tag.removeprefix(_TAG)
    if kind in ("str", "merge"):
        return text
    if kind not in _SCALARS:
        raise _unsupported(node, path)
    if not re.match(_SCALARS[kind][0], text):
        raise NodeError(f"the value does not fit its tag !!{kind}", line_of(node), path)
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() == "true"
    return int(text) if kind == "int" else WrittenFloat(text)


def _unsupported(node: Node, path: DocPath) -> NodeError:
    tag = node.tag.replace(_TAG, "!!")
    return NodeError(f"the tag {tag} is not supported", line_of(node), path, "remove the tag")


def line_of(node: Node) -> int:
    return int(node.start_mark.line) + 1
