"""Avro data files as Arrow. Row by row: they are rare, and nothing reads them in columns."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyiceberg.avro.file import AvroFile
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.typedef import Record
from pyiceberg.types import ListType, MapType, StructType

from meltline.errors import RunError


def read_avro(io: FileIO, path: str) -> pa.Table:
    """All rows, with field ids. Raises FileNotFoundError, and RunError for types of columns that
    Avro files are not read with."""
    try:
        with AvroFile[Record](io.new_input(path)) as file:
            schema = file.schema
            rows = [_plain(record, schema.as_struct()) for record in file]
    except ValueError as error:
        raise RunError(f"{path} cannot be read: {error}",
                       hint="rewrite the table's files as Parquet (write.format.default, then "
                            "CALL system.rewrite_data_files)") from error
    arrow: pa.Schema = schema_to_pyarrow(schema, include_field_ids=True)
    return pa.Table.from_pylist(rows, schema=arrow)


def _plain(value: Any, type_: Any) -> Any:
    if value is None:
        return None
    if isinstance(type_, StructType):
        return {one.name: _plain(value[i], one.field_type) for i, one in enumerate(type_.fields)}
    if isinstance(type_, ListType):
        return [_plain(item, type_.element_type) for item in value]
    if isinstance(type_, MapType):
        return [(_plain(k, type_.key_type), _plain(v, type_.value_type))
                for k, v in value.items()]
    return value
