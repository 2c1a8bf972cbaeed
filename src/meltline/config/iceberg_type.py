"""Iceberg's types as they are written in a schema: `long`, `decimal(12,2)`, `list<struct<a: int>>`.

A small recursive-descent parser over the text. A message names the character it stopped at.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from meltline.config.refused import Refused
from meltline.config.suggest import choice_hint

PRIMITIVES = (
    "boolean", "int", "long", "float", "double", "date", "time", "timestamp", "timestamptz",
    "timestamp_ns", "timestamptz_ns", "string", "uuid", "binary",
)  # fmt: skip
_ALL_FORMS = (*PRIMITIVES, "fixed[n]", "decimal(p,s)", "struct<...>", "list<...>", "map<k,v>")
_OTHER_NAMES = {
    "bigint": "long", "integer": "int", "smallint": "int", "short": "int", "bool": "boolean",
    "varchar": "string", "text": "string", "char": "string", "bytes": "binary", "real": "float",
    "numeric": "decimal(p,s)", "array": "list<...>", "timestamp_tz": "timestamptz",
    "timestamp_ntz": "timestamp", "datetime": "timestamp", "object": "struct<...>",
}  # fmt: skip
_WORD = re.compile(r"[A-Za-z_]\w*")
_FIELD_NAME = re.compile(r"[^\W]\w*")
_NUMBER = re.compile(r"\d{1,9}")
_DEEPEST = 50


@dataclass(frozen=True)
class PrimitiveType:
    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class FixedType:
    length: int

    def __str__(self) -> str:
        return f"fixed[{self.length}]"


@dataclass(frozen=True)
class DecimalType:
    precision: int
    scale: int

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})"


@dataclass(frozen=True)
class ListType:
    element: IcebergType

    def __str__(self) -> str:
        return f"list<{self.element}>"


@dataclass(frozen=True)
class MapType:
    key: IcebergType
    value: IcebergType

    def __str__(self) -> str:
        return f"map<{self.key},{self.value}>"


@dataclass(frozen=True)
class StructField:
    name: str
    type: IcebergType

    def __str__(self) -> str:
        name = self.name if _FIELD_NAME.fullmatch(self.name) else f"`{self.name}`"
        return f"{name}: {self.type}"


@dataclass(frozen=True)
class StructType:
    fields: tuple[StructField, ...]

    def __str__(self) -> str:
        return f"struct<{', '.join(map(str, self.fields))}>"


IcebergType = PrimitiveType | FixedType | DecimalType | ListType | MapType | StructType


def parse_type(text: str) -> IcebergType:
    """Type names in any case, blanks anywhere between words. Raises Refused.

    A field name that is not one word is written in backticks: struct<`a b`: int>.
    """
    parser = _Parser(text)
    found = parser.type(0)
    parser.end()
    return found


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def type(self, depth: int) -> IcebergType:
        if depth > _DEEPEST:
            raise self._refused("it is nested too deeply")
        self._skip()
        start = self._at
        word = self._take(_WORD, "a type").lower()
        if word in PRIMITIVES:
            return PrimitiveType(word)
        if word == "fixed":
            return self._fixed()
        if word == "decimal":
            return self._decimal()
        if word == "list":
            return ListType(self._nested(depth)[0])
        if word == "map":
            key, value = self._nested(depth, 2)
            return MapType(key, value)
        if word == "struct":
            return self._struct(depth)
        self._at = start
        raise self._unknown(word)

    def end(self) -> None:
        self._skip()
        if self._at < len(self._text):
            raise self._refused(f"nothing more was expected, found {self._found()}")

    def _fixed(self) -> FixedType:
        self._expect("[")
        length = self._number("a length", 1, 2**31 - 1)
        self._expect("]")
        return FixedType(length)

    def _decimal(self) -> DecimalType:
        self._expect("(")
        precision = self._number("a precision", 1, 38)
        self._expect(",")
        scale = self._number("a scale", 0, precision)
        self._expect(")")
        return DecimalType(precision, scale)

    def _nested(self, depth: int, count: int = 1) -> list[IcebergType]:
        self._expect("<")
        found = [self.type(depth + 1)]
        while len(found) < count:
            self._expect(",")
            found.append(self.type(depth + 1))
        self._expect(">")
        return found

    def _struct(self, depth: int) -> StructType:
        self._expect("<")
        fields: dict[str, StructField] = {}
        while True:
            name = self._field_name()
            if name in fields:
                raise self._refused(f'the field "{name}" is there twice')
            self._expect(":")
            fields[name] = StructField(name, self.type(depth + 1))
            if not self._accept(","):
                break
        self._expect(">", "," if fields else "")
        return StructType(tuple(fields.values()))

    def _field_name(self) -> str:
        if not self._accept("`"):
            return self._take(_FIELD_NAME, "a field name")
        end = self._text.find("`", self._at)
        if end <= self._at:
            raise self._refused(
                "a field name in backticks has no end" if end < 0 else "it is empty"
            )
        name = self._text[self._at : end]
        self._at = end + 1
        return name

    def _number(self, meaning: str, low: int, high: int) -> int:
        self._skip()
        start = self._at
        number = int(self._take(_NUMBER, meaning))
        if not low <= number <= high:
            self._at = start
            raise self._refused(f"{meaning} must be from {low} to {high}, found {number}")
        return number

    def _accept(self, symbol: str) -> bool:
        self._skip()
        if not self._text.startswith(symbol, self._at):
            return False
        self._at += 1
        return True

    def _expect(self, symbol: str, or_else: str = "") -> None:
        if not self._accept(symbol):
            wanted = f'"{or_else}" or "{symbol}"' if or_else else f'"{symbol}"'
            raise self._refused(f"expected {wanted}, found {self._found()}")

    def _take(self, pattern: re.Pattern[str], meaning: str) -> str:
        self._skip()
        match = pattern.match(self._text, self._at)
        if not match:
            raise self._refused(f"expected {meaning}, found {self._found()}")
        self._at = match.end()
        return match[0]

    def _skip(self) -> None:
        while self._at < len(self._text) and self._text[self._at].isspace():
            self._at += 1

    def _found(self) -> str:
        return f'"{self._text[self._at]}"' if self._at < len(self._text) else "the end"

    def _refused(self, why: str) -> Refused:
        return Refused(f'"{self._text}" is not a type: {why} (character {self._at + 1})')

    def _unknown(self, word: str) -> Refused:
        meant = _OTHER_NAMES.get(word)
        valid = f"valid types: {', '.join(_ALL_FORMS)}"
        near = choice_hint(word, _ALL_FORMS, "types")
        hint = f'did you mean "{meant}"? {valid}' if meant else near
        if self._text.strip().lower() == word:
            return Refused(f'"{self._text}" is not a type', hint=hint)
        why = f'there is no "{word}" (character {self._at + 1})'
        return Refused(f'"{self._text}" is not a type: {why}', hint=hint)
