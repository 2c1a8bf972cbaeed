"""The schema with which a sink creates a table."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, model_validator
from typing_extensions import Self

from meltline.config.iceberg_type import IcebergType, StructType, parse_type
from meltline.config.partition import TIME_TRANSFORMS, Transform, TransformText, parse_transform
from meltline.config.refused import Refused
from meltline.config.scalars import Flag, InWords, Text
from meltline.config.strict import Strict
from meltline.config.suggest import choice_hint


def _check_type(text: str) -> str:
    parse_type(text)
    return text


TypeText = Annotated[str, AfterValidator(_check_type), InWords("Iceberg type")]


class ColumnBlock(Strict):
    """A column of the table."""

    name: Text = Field(description="The column's name, and the event's key it is filled from.")
    type: TypeText = Field(
        description="One of `boolean`, `int`, `long`, `float`, `double`, `date`, `time`, "
        "`timestamp`, `timestamptz`, `timestamp_ns`, `timestamptz_ns`, `string`, `uuid`, "
        "`fixed[n]`, `binary`, `decimal(p,s)`, or nested: `struct<a: int, b: string>`, "
        "`list<long>`, `map<string,double>`.",
    )
    required: Flag = Field(
        default=False,
        description="Whether the column refuses nulls. An event without a value is then rejected.",
    )

    @property
    def iceberg_type(self) -> IcebergType:
        return parse_type(self.type)


class PartitionFieldBlock(Strict):
    """One part of the partition spec."""

    column: Text = Field(
        description="The column to partition by. A field of a struct is written `column.field`."
    )
    transform: TransformText = Field(
        default="identity",
        description="How the column's value becomes the partition's value.",
    )

    @property
    def parsed(self) -> Transform:
        return parse_transform(self.transform)


class SchemaBlock(Strict):
    """The columns and the partitioning of a table that the sink creates."""

    columns: tuple[ColumnBlock, ...] = Field(
        min_length=1, description="The table's columns, in order."
    )
    partition_spec: tuple[PartitionFieldBlock, ...] = Field(
        default=(),
        description="How the table is partitioned. Empty for a table without partitions.",
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        seen: dict[str, int] = {}
        for index, column in enumerate(self.columns):
            if column.name in seen:
                what = f'column "{column.name}" is there twice'
                raise Refused(what, at=("columns", index, "name"))
            seen[column.name] = index
        for index, part in enumerate(self.partition_spec):
            self._check_part(part, index)
        return self

    def _check_part(self, part: PartitionFieldBlock, index: int) -> None:
        place = ("partition_spec", index)
        type_ = self.find(part.column)
        if type_ is None:
            names = [column.name for column in self.columns]
            hint = choice_hint(part.column, names, "columns")
            what = f'partition column "{part.column}" is not in columns'
            raise Refused(what, hint=hint, at=(*place, "column"))
        if not part.parsed.takes(type_):
            what = f'{part.transform} does not take column "{part.column}" of type {type_}'
            raise Refused(what, at=(*place, "transform"))
        for other in self.partition_spec[:index]:
            if other.column == part.column and _redundant(other.parsed, part.parsed):
                what = f'column "{part.column}" is partitioned by {other.transform} already'
                raise Refused(what, hint="keep one of the two", at=(*place, "transform"))

    def find(self, name: str) -> IcebergType | None:
        """The type of a column, or of a field inside struct columns by its dotted name."""
        types = {column.name: column.iceberg_type for column in self.columns}
        if name in types:
            return types[name]
        first, *rest = name.split(".")
        found = types.get(first)
        for part in rest:
            if not isinstance(found, StructType):
                return None
            found = next((field.type for field in found.fields if field.name == part), None)
        return found


def _redundant(one: Transform, other: Transform) -> bool:
    # Iceberg allows one time transform per column: a day already says the month
    return one.name == other.name or {one.name, other.name} <= TIME_TRANSFORMS
