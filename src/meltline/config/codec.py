"""How the bytes of a file become events."""

from __future__ import annotations

from pydantic import Field, model_validator
from typing_extensions import Self

from meltline.config.one_kind import OneKind
from meltline.config.refused import Refused
from meltline.config.scalars import Character, Flag, Text
from meltline.config.strict import Strict
from meltline.config.suggest import choice_hint


class NdjsonCodec(Strict):
    """One JSON object per line."""


class JsonCodec(Strict):
    """One JSON document per file."""

    key_name: Text | None = Field(
        default=None,
        description="The key of the array that holds the events. "
        "Without it the document itself is the array, or a single event.",
    )


class CsvCodec(Strict):
    """Delimited text, one event per row; every value is text."""

    delimiter: Character = Field(default=",", description="The character between two values.")
    quote_character: Character = Field(
        default='"',
        description="The character around a value that holds delimiters or line breaks.",
    )
    header: tuple[Text, ...] | None = Field(
        default=None,
        min_length=1,
        description="The names of the columns, used when `detect_header` is false. "
        "Columns beyond the list are named column1, column2, ... by their place.",
    )
    detect_header: Flag = Field(
        default=True, description="Whether the first line of each file names the columns."
    )

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        if self.delimiter == self.quote_character:
            what = "delimiter and quote_character are the same character"
            raise Refused(what, at=("quote_character",))
        for index, name in enumerate(self.header or ()):
            if name in (self.header or ())[:index]:
                raise Refused(f'column "{name}" is there twice', at=("header", index))
        return self


class ParquetCodec(Strict):
    """Parquet: typed columns."""


class CodecBlock(OneKind):
    """Exactly one codec; a codec without settings may be written as its name alone."""

    ndjson: NdjsonCodec | None = Field(default=None, description="One JSON object per line.")
    json_: JsonCodec | None = Field(
        default=None, alias="json", description="One JSON document per file."
    )
    csv: CsvCodec | None = Field(default=None, description="Delimited text with a header line.")
    parquet: ParquetCodec | None = Field(default=None, description="Parquet files.")

    @model_validator(mode="before")
    @classmethod
    def _by_name(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        kinds = [field.alias or name for name, field in cls.model_fields.items()]
        if value not in kinds:
            raise Refused(f'there is no codec "{value}"', hint=choice_hint(value, kinds, "codecs"))
        return {value: {}}
