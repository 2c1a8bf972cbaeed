"""Structs, lists and maps of converted parts, as SQL. What lacks a required part is NULL."""

from __future__ import annotations

from collections.abc import Sequence

from pyiceberg.types import ListType, MapType, StructType


def struct_of(values: Sequence[str], type_: StructType, depth: int) -> str:
    """`values` are the SQL of the fields, in order. `depth` keeps lambda names apart."""
    fields = ", ".join(f"f{i} := {value}" for i, value in enumerate(values))
    made = f"struct_pack({fields})"
    name = f"w{depth}"
    missing = [f"{name}.f{i} IS NULL" for i, f in enumerate(type_.fields) if f.required]
    return _unless(made, name, " OR ".join(missing)) if missing else made


def list_of(items: str, type_: ListType, depth: int) -> str:
    """`items` is a list of converted values."""
    name, item = f"l{depth}", f"n{depth}"
    if not type_.element_required:
        return items
    return _unless(items, name, f"len(list_filter({name}, lambda {item}: {item} IS NULL)) > 0")


def map_of(entries: str, entry: str, key: str, value: str, type_: MapType, depth: int) -> str:
    """`key` and `value` are SQL over `entry`, one of the list `entries`."""
    pairs = f"list_transform({entries}, lambda {entry}: struct_pack(k := {key}, v := {value}))"
    name, pair = f"m{depth}", f"p{depth}"
    if type_.value_required:
        pairs = _unless(pairs, name,
                        f"len(list_filter({name}, lambda {pair}: {pair}.v IS NULL)) > 0")
    # TRY: the same key twice, or a key that does not convert, makes no map
    return f"TRY(map_from_entries({pairs}))"


def _unless(made: str, name: str, wrong: str) -> str:
    """A lambda over a list of one binds the value to a name."""
    bound = f"CASE WHEN {wrong} THEN NULL ELSE {name} END"
    return f"list_transform([{made}], lambda {name}: {bound})[1]"
