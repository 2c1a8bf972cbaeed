"""Rows by a number they share, such as that of their file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray


def groups(numbers: NDArray[Any]) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Each number, ascending, with the indices where it stands, ascending too. All are looked at
    once, however many numbers there are."""
    order = np.argsort(numbers, kind="stable")
    found, starts = np.unique(numbers[order], return_index=True)
    for number, some in zip(found, np.split(order, starts[1:]), strict=False):
        yield int(number), some
