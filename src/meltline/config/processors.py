"""The processors of a pipeline: Data Prepper's options, checked when the file is loaded."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, Field, model_validator
from typing_extensions import Self

from meltline.config.one_kind import OneKind
from meltline.config.processor_texts import (
    Condition,
    Expression,
    Format,
    Key,
    Locale,
    One,
    Query,
    ReadPattern,
    Regex,
    Some,
    TimeZone,
    WrittenPattern,
)
from meltline.config.strict import Strict


def _exactly_one(block: Strict, *names: str) -> None:
    given = [name for name in names if name in block.model_fields_set]
    if len(given) != 1:
        raise ValueError(f"name exactly one of: {', '.join(names)}")


class AddEntry(Strict):
    key: Key | None = Field(None, description="Key of the event to set; a/b is inside of a.")
    metadata_key: Key | None = Field(None, description="Key of the metadata to set instead.")
    value: Any = Field(None, description="The value: text, number, boolean, null, list or map.")
    format: Format | None = Field(None, description="Text with ${...} places as the value.")
    value_expression: Expression | None = Field(None, description="Expression for the value.")
    add_when: Condition | None = Field(None, description="Only for events where this is true.")
    overwrite_if_key_exists: bool = Field(False, description="Replace a value that is there.")
    append_if_key_exists: bool = Field(
        False, description="Make a list of the value that is there and the new one."
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        _exactly_one(self, "key", "metadata_key")
        _exactly_one(self, "value", "format", "value_expression")
        if self.overwrite_if_key_exists and self.append_if_key_exists:
            raise ValueError("choose overwrite_if_key_exists or append_if_key_exists, not both")
        try:
            json.dumps(self.value, allow_nan=False)
        except (TypeError, ValueError):
            raise ValueError("value is not JSON; write dates in quotes") from None
        return self


class AddEntries(Strict):
    """Adds entries to events or to their metadata."""

    entries: Some[AddEntry] = Field(description="What to add, in order.")


class RenameEntry(Strict):
    from_key: Key | None = Field(None, description="The key as it is.")
    from_key_regex: Regex | None = Field(
        None, description="A pattern for the whole name of a top-level key instead."
    )
    to_key: Key = Field(description="The key as it shall be.")
    overwrite_if_to_key_exists: bool = Field(
        False, description="Rename even when to_key exists already, and replace it."
    )
    rename_when: Condition | None = Field(None, description="Only for events where this is true.")

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        _exactly_one(self, "from_key", "from_key_regex")
        return self


class RenameKeys(Strict):
    """Renames keys of events."""

    entries: Some[RenameEntry] = Field(description="What to rename, in order.")


class DeleteEntry(Strict):
    with_keys: Some[Key] | None = Field(None, description="Keys to delete.")
    with_keys_regex: Some[Regex] | None = Field(
        None, description="Patterns for the whole names of top-level keys to delete."
    )
    exclude_from_delete: tuple[Key, ...] = Field(
        (), description="Top-level keys that with_keys_regex leaves alone."
    )
    delete_when: Condition | None = Field(None, description="Only for events where this is true.")

    @model_validator(mode="after")
    def _regex_excludes(self) -> Self:
        if self.exclude_from_delete and self.with_keys_regex is None:
            raise ValueError("exclude_from_delete needs with_keys_regex")
        if type(self) is DeleteEntry and self.with_keys is None and self.with_keys_regex is None:
            raise ValueError("name at least one of: with_keys, with_keys_regex")
        return self


class DeleteEntries(DeleteEntry):
    """Deletes entries of events."""

    entries: Some[DeleteEntry] | None = Field(
        None, description="Several deletions, each with its own condition, instead."
    )

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        _exactly_one(self, "entries", "with_keys", "with_keys_regex")
        if self.entries is not None and self.delete_when is not None:
            raise ValueError("with entries, write delete_when inside of each entry")
        return self


class SelectEntries(Strict):
    """Keeps the named entries of events and drops all others."""

    include_keys: tuple[Key, ...] = Field((), description="Keys to keep.")
    include_keys_regex: tuple[Regex, ...] = Field(
        (), description="Patterns for the whole names of top-level keys to keep."
    )
    select_when: Condition | None = Field(None, description="Only for events where this is true.")

    @model_validator(mode="after")
    def _some_key(self) -> Self:
        if not self.include_keys and not self.include_keys_regex:
            raise ValueError("name at least one of: include_keys, include_keys_regex")
        return self


class ConvertType(Strict):
    """Converts values to another type."""

    key: Key | None = Field(None, description="Key of the value to convert.")
    keys: Some[Key] | None = Field(None, description="Several keys instead.")
    type: Literal["integer", "long", "double", "big_decimal", "string", "boolean"] = Field(
        "integer", description="The type to convert to."
    )
    scale: Annotated[int, Field(ge=0, le=37)] = Field(
        0, description="Digits after the point of a big_decimal; 0 keeps them as they are."
    )
    null_conversion_values: tuple[str, ...] = Field(
        (),
        description="Values that mean null: such an entry is deleted. Also: null_values.",
        validation_alias=AliasChoices("null_conversion_values", "null_values"),
    )
    tags_on_failure: tuple[str, ...] = Field(
        (), description="Tags for the metadata of an event with a value that does not convert."
    )
    convert_when: Condition | None = Field(None, description="Only for events where this is true.")

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        _exactly_one(self, "key", "keys")
        return self


class DateMatch(Strict):
    key: Key = Field(description="Key of the value to read.")
    patterns: Some[ReadPattern] = Field(
        description="Java patterns, tried in order, or epoch_second, epoch_milli, epoch_micro, "
        "epoch_nano."
    )


class Date(Strict):
    """Reads a time from an event and writes it in one form."""

    match: One[DateMatch] | None = Field(None, description="The one key to read, and how.")
    from_time_received: bool = Field(
        False, description="Take the time of the epoch that the event is part of instead."
    )
    destination: Key = Field("@timestamp", description="The key to write.")
    output_format: WrittenPattern = Field(
        "yyyy-MM-dd'T'HH:mm:ss.SSSXXX", description="Java pattern or epoch_... for writing."
    )
    source_timezone: TimeZone = Field("UTC", description="Zone of times that name none.")
    destination_timezone: TimeZone = Field("UTC", description="Zone of the time that is written.")
    locale: Locale = Field("ROOT", description="Language of names of months and days: English.")
    date_when: Condition | None = Field(None, description="Only for events where this is true.")

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if (self.match is not None) == self.from_time_received:
            raise ValueError("name exactly one of: match, from_time_received")
        return self


class Sql(Strict):
    """Runs a DuckDB SELECT over the events."""

    query: Query = Field(
        description="SELECT over the view events, which has the columns meta, ord and either body "
        "(JSON text) or one column per field. The result must have meta and ord."
    )


class ProcessorBlock(OneKind):
    """One step of a pipeline: a map with one key, the name of the processor."""

    add_entries: AddEntries | None = Field(None, description="Adds entries.")
    rename_keys: RenameKeys | None = Field(None, description="Renames keys.")
    delete_entries: DeleteEntries | None = Field(None, description="Deletes entries.")
    select_entries: SelectEntries | None = Field(None, description="Keeps only some entries.")
    convert_type: ConvertType | None = Field(None, description="Converts values.")
    convert_entry_type: ConvertType | None = Field(None, description="Old name of convert_type.")
    date: Date | None = Field(None, description="Reads and writes times.")
    sql: Sql | None = Field(None, description="Runs a SELECT over the events.")
