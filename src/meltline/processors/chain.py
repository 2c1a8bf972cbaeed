"""The processors of a pipeline, in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from meltline.config.processors import ProcessorBlock
from meltline.model.event import Shape
from meltline.processors.add_entries import compile_add_entries
from meltline.processors.convert_type import compile_convert_type
from meltline.processors.date import compile_date
from meltline.processors.delete_entries import compile_delete_entries
from meltline.processors.rename_keys import compile_rename_keys
from meltline.processors.select_entries import compile_select_entries
from meltline.processors.sql import compile_sql
from meltline.processors.step import Step

_COMPILERS: dict[str, Callable[[Any, Shape, str], Step]] = {
    "add_entries": compile_add_entries,
    "rename_keys": compile_rename_keys,
    "delete_entries": compile_delete_entries,
    "select_entries": compile_select_entries,
    "convert_type": compile_convert_type,
    "convert_entry_type": compile_convert_type,
    "date": compile_date,
    "sql": compile_sql,
}


def compile_processors(configs: Sequence[ProcessorBlock], shape: Shape) -> tuple[Step, ...]:
    """One step per processor: each reads, as `events`, what the one before it returns.

    Raises UserError when a processor does not go with events of this shape. The SQL reads the
    DuckDB variables `meltline_now_ms` and `meltline_epoch_seed`.
    """
    steps: list[Step] = []
    for place, block in enumerate(configs):
        step = _COMPILERS[block.kind](block.chosen, shape, str(place))
        steps.append(step)
        shape = step.shape
    return tuple(steps)
