"""Rows of one data file, with their positions, in the columns that a schema asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyiceberg.io import FileIO
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField

from meltline.errors import BaseMoved, PositionLost, Retryable, RunError
from meltline.kernels.data_file import open_data_file
from meltline.kernels.projection import Projection
from meltline.kernels.variant_check import check_variants

BATCH_ROWS = 1 << 17
Positions = NDArray[np.int64]
Rows = Iterator[tuple[Positions, pa.Table]]


def read_rows(
    io: FileIO, path: str, format_: str, projection: Projection,
    constants: Mapping[int, Any] | None = None, only: Positions | None = None,
) -> Rows:
    """Rows with their positions in the file. `only` (ascending) asks for some rows alone."""

    def keep(first: int, group: Any) -> bool:
        return only is None or len(_within(only, first, first + group.num_rows)) > 0

    with errors_named(path), open_data_file(io, path, format_) as file:
        # something must be read, or nobody knows how many rows there are
        names = projection.columns(file.schema) or file.schema.names[:1]
        for first, piece in file.pieces(names, keep, BATCH_ROWS):
            end = first + piece.num_rows
            if only is None:
                yield np.arange(first, end, dtype=np.int64), _rows(projection, piece, constants)
            elif len(here := _within(only, first, end)):
                picked = piece.take(pa.array(here - first))
                yield here, _rows(projection, picked, constants)


def _rows(
    projection: Projection, read: pa.Table, constants: Mapping[int, Any] | None
) -> pa.Table:
    rows = projection.project(read, constants or {})
    check_variants(rows)
    return rows


def _within(positions: Positions, start: int, end: int) -> Positions:
    low, high = np.searchsorted(positions, [start, end])
    return positions[low:high]


def schema_with(schema: Schema, *more: NestedField) -> Schema:
    """The schema and further columns behind its own; those it has already are not doubled."""
    fields = {one.field_id: one for one in (*more, *schema.fields)}
    own = {one.field_id for one in schema.fields}
    return Schema(*schema.fields, *(one for id_, one in fields.items() if id_ not in own))


@contextmanager
def errors_named(path: str) -> Iterator[None]:
    """A file of a snapshot that is read: what is gone is lost, nothing is to be looked at anew."""
    try:
        yield
    except (FileNotFoundError, BaseMoved) as error:
        raise PositionLost(
            f"{path} is gone before it was read: its snapshot has expired",
            hint="set on_lost_position: re_export; protect_position: true keeps files that are "
                 "not read yet") from error
    except pa.ArrowException as error:
        raise RunError(f"{path} cannot be read: {error}") from error
    except OSError as error:
        raise Retryable(f"{path} cannot be read: {error}") from error
