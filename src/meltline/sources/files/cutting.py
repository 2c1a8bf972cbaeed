"""Cutting a plan into tasks: by volume, in the order of the events."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from meltline.sources.files.parts import Part

SMALL = 8 << 20
"""Up to so many bytes one core is enough."""
OPEN_COST = 16 << 10
"""What it takes to open a file, in bytes read: thousands of tiny files are work for several."""


def cut_parts(
    files: Sequence[Part],
    *,
    parallelism: int,
    split_size: int,
    can_cut: Callable[[Part], bool],
) -> list[list[Part]]:
    """Equal groups of at most about `split_size`, as many as keep every core busy to the end.

    Few and large: every task makes files of its own in every partition.
    """
    total = sum(weigh(part) for part in files)
    busy = max(min(parallelism, -(-total // SMALL)), 1)
    rounds = max(-(-total // (split_size * busy)), 1)
    target = max(-(-total // (rounds * busy)), 1) if total > SMALL else max(total, 1)
    groups: list[list[Part]] = []
    room = 0
    for part in _pieces(files, target, can_cut):
        if not groups or weigh(part) > room:
            groups.append([])
            room = target
        groups[-1].append(part)
        room -= weigh(part)
    return groups


def weigh(part: Part) -> int:
    return max(part.end - part.start, OPEN_COST)


def _pieces(files: Sequence[Part], target: int, can_cut: Callable[[Part], bool]) -> Iterator[Part]:
    """Every file, those beyond the target in equal pieces."""
    for file in files:
        count = -(-file.size // target)
        if count < 2 or not can_cut(file):
            yield file
            continue
        for number in range(count):
            start, end = file.size * number // count, file.size * (number + 1) // count
            yield Part(file.index, file.path, file.size, file.mtime_ns, start, end)
