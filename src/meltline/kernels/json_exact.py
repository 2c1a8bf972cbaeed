"""One JSON value to one Iceberg value, as SQL: the conversion table of the sink, to the letter.

`exact(value, type)` takes a SQL expression over the raw text of a JSON value (strings keep their
quotes, so that "1" and 1 differ) and yields the converted value, or NULL when it cannot be
converted. It never raises.
"""

from __future__ import annotations

from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    UnknownType,
    UUIDType,
)

from meltline.errors import UserError
from meltline.expressions.quoting import quote_identifier
from meltline.kernels.extraction import RAW, extract_sql, places, unwrap_sql
from meltline.kernels.nested import list_of, map_of, struct_of
from meltline.kernels.spelling import AS_IN_THE_TABLE, Spellings, absent_sql, pick_sql
from meltline.kernels.sql_types import write_default_sql
from meltline.model.variant import VariantType

_INTEGRAL: dict[type, str] = {IntegerType: "INTEGER", LongType: "BIGINT"}
_FLOATING: dict[type, str] = {FloatType: "FLOAT", DoubleType: "DOUBLE"}


_TIME = r"'([01]?\d|2[0-3]):\d\d(:\d\d(\.\d+)?)?Z?'"


def exact(
    value: str, type_: IcebergType, depth: int = 0, spell: Spellings = AS_IN_THE_TABLE
) -> str:
    """SQL: the raw JSON `value` as `type_`, or NULL. `depth` keeps lambda names apart."""
    value = f"({value}::VARCHAR)"  # a cast from JSON itself would convert: true to 1, "3" to 3
    if isinstance(type_, VariantType):
        raise UserError("a column of the type variant takes variants alone",
                        hint="write to a table in which the column is a string, or leave it out")
    if isinstance(type_, UnknownType):
        return "NULL"
    kind: type = type(type_)
    if kind in _INTEGRAL:
        return _integral(value, _INTEGRAL[kind])
    if kind in _FLOATING:
        return _floating(value, _FLOATING[kind])
    if isinstance(type_, DecimalType):
        return _decimal(value, type_)
    if isinstance(type_, StructType):
        return _struct(value, type_, depth, spell)
    if isinstance(type_, ListType):
        return _list(value, type_, depth, spell)
    if isinstance(type_, MapType):
        return _map(value, type_, depth, spell)
    return _scalar(value, type_)


def _scalar(value: str, type_: IcebergType) -> str:
    text = text_of(value)
    if isinstance(type_, StringType):
        return (f"CASE WHEN starts_with({value}, '\"') THEN {text} "
                f"WHEN starts_with({value}, '{{') OR starts_with({value}, '[') THEN NULL "
                f"ELSE {value}::VARCHAR END")
    if isinstance(type_, BooleanType):
        return (f"CASE WHEN {value} = 'true' THEN true WHEN {value} = 'false' THEN false "
                f"WHEN starts_with({value}, '\"') THEN lower({text}) = 'true' END")
    if isinstance(type_, UUIDType):
        return _from_string(value, uuid_bytes(f"TRY_CAST({text} AS UUID)"))
    if isinstance(type_, BinaryType):
        return _from_string(value, _from_base64(text))
    if isinstance(type_, FixedType):
        decoded = _from_base64(text)
        return _from_string(
            value, f"CASE WHEN octet_length({decoded}) = {len(type_)} THEN {decoded} END")
    return _temporal(value, type_)


def _temporal(value: str, type_: IcebergType) -> str:
    text = text_of(value)
    number = f"({_whole(value, 'BIGINT')})"
    if isinstance(type_, DateType):
        # 'infinity' and 'epoch' are dates to DuckDB; an ISO date starts with a digit
        parsed = _if_dated(text, f"TRY_CAST({text} AS DATE)")
        days = f"TRY_CAST(DATE '1970-01-01' + TRY_CAST({number} AS INTEGER) AS DATE)"
        return _string_or_number(value, parsed, f"TRY({days})")
    if isinstance(type_, TimeType):
        millis = f"CASE WHEN {number} BETWEEN 0 AND 86399999 THEN {number} END"
        # the cast alone also takes dates and timestamps, 'epoch', 24:00, and drops offsets
        parsed = f"CASE WHEN regexp_full_match({text}, {_TIME}) THEN TRY_CAST({text} AS TIME) END"
        return _string_or_number(
            value, parsed, f"(TIME '00:00:00' + to_milliseconds({millis}))")
    zoned = _if_dated(text, f"TRY_CAST({text} AS TIMESTAMPTZ)")
    # AT TIME ZONE would raise for what is 290,000 years away
    if isinstance(type_, TimestamptzType):
        return _string_or_number(value, zoned, f"TRY(make_timestamptz({number} * 1000))")
    if isinstance(type_, TimestampType):
        # a plain cast to TIMESTAMP would drop the offset without a word
        return _string_or_number(value, f"TRY(make_timestamp(epoch_us({zoned})))",
                                 f"TRY(make_timestamp({number} * 1000))")
    if isinstance(type_, TimestampNanoType | TimestamptzNanoType):
        return _string_or_number(value, _nanos(text), f"TRY(make_timestamp_ns({number}))")
    raise UserError(f"values of type {type_} cannot be written from JSON yet",
                    hint="leave the column out of the table, or make it optional and unset")


def _nanos(text: str) -> str:
    """An ISO timestamp with up to nine decimals: micros by the zone-aware cast, the rest added."""
    fraction = f"rpad(regexp_extract({text}, '\\.(\\d{{1,9}})', 1), 9, '0')"
    extra = f"COALESCE(TRY_CAST(substr({fraction}, 7, 3) AS BIGINT), 0)"
    micros = f"epoch_us(TRY_CAST({text} AS TIMESTAMPTZ))"
    return _if_dated(text, f"TRY(make_timestamp_ns({micros} * 1000 + {extra}))")


def _integral(value: str, sql_type: str) -> str:
    text = text_of(value)
    return (f"CASE WHEN starts_with({value}, '\"') "
            f"THEN CASE WHEN regexp_full_match({text}, '[+-]?\\d+') "
            f"THEN TRY_CAST({text} AS {sql_type}) END "
            f"ELSE {_whole(value, sql_type)} END")


def _whole(value: str, sql_type: str) -> str:
    """A JSON number without its decimals. Only one with an exponent goes through a double."""
    by_double = f"TRY_CAST(trunc(TRY_CAST({value} AS DOUBLE)) AS {sql_type})"
    return (f"CASE WHEN contains(lower({value}), 'e') THEN {by_double} "
            f"ELSE TRY_CAST(split_part({value}, '.', 1) AS {sql_type}) END")


def _floating(value: str, sql_type: str) -> str:
    number = f"TRY_CAST({_digits_of(value)} AS {sql_type})"
    # 1e400 is a number that does not fit: not coercible, unless infinity is what it says
    return (f"CASE WHEN NOT isinf({number}) OR contains(lower({value}), 'inf') "
            f"THEN {number} END")


def _decimal(value: str, type_: DecimalType) -> str:
    # DuckDB reads 1_000 as a number, JSON and Java do not
    return (f"CASE WHEN NOT contains({value}, '_') "
            f"THEN TRY_CAST({_digits_of(value)} AS DECIMAL({type_.precision}, {type_.scale})) END")


def _struct(value: str, type_: StructType, depth: int, spell: Spellings) -> str:
    parts = f"s{depth}"
    names = [name for f in type_.fields for name in spell.of(f)]
    found = extract_sql(value, [(name, RAW) for name in names])
    if len(found) == 1:
        # DuckDB plans nested lambdas in exponential time: every bit of nesting counts
        bound, inside = found[0], [f"{parts}.{quote_identifier(name)}" for name in names]
    else:
        bound = "struct_pack(" + ", ".join(f"j{i} := {one}" for i, one in enumerate(found)) + ")"
        inside = places(names, f"{parts}.j")
    values = []
    for f in type_.fields:
        spelled = spell.of(f)
        own, inside = inside[:len(spelled)], inside[len(spelled):]
        made = exact(pick_sql(own, spelled, f.name, value), f.field_type, depth + 1, spell)
        if (default := write_default_sql(f)) is not None:
            made = f"CASE WHEN {absent_sql(spelled, value)} THEN {default} ELSE {made} END"
        values.append(made)
    return (f"CASE WHEN starts_with({value}, '{{') THEN list_transform([{bound}], "
            f"lambda {parts}: {struct_of(values, type_, depth)})[1] END")


def _list(value: str, type_: ListType, depth: int, spell: Spellings) -> str:
    item = f"x{depth}"
    items = (f"list_transform({unwrap_sql(value, [RAW])}, "
             f"lambda {item}: {exact(item, type_.element_type, depth + 1, spell)})")
    return f"CASE WHEN starts_with({value}, '[') THEN {list_of(items, type_, depth)} END"


def _map(value: str, type_: MapType, depth: int, spell: Spellings) -> str:
    entry = f"e{depth}"
    key = (f"{entry}.key" if isinstance(type_.key_type, StringType)
           else exact(f"to_json({entry}.key)", type_.key_type, depth + 1, spell))
    item = exact(f"{entry}.value", type_.value_type, depth + 1, spell)
    entries = f"map_entries({unwrap_sql(value, f'MAP(VARCHAR,{RAW})')})"
    made = map_of(entries, entry, key, item, type_, depth)
    return f"CASE WHEN starts_with({value}, '{{') THEN {made} END"


def text_of(value: str) -> str:
    """SQL: the characters of a raw JSON string. Only escapes need the JSON parser."""
    # substr, because trim takes ten times as long
    return (f"CASE WHEN contains({value}, '\\') THEN ({value}::JSON ->> '$') "
            f"ELSE substr({value}, 2, length({value}) - 2) END")


def _digits_of(value: str) -> str:
    """SQL: the digits of a JSON number, or of a string that may hold one."""
    return f"CASE WHEN starts_with({value}, '\"') THEN {text_of(value)} ELSE {value} END"


def _from_string(value: str, parsed: str) -> str:
    return f"CASE WHEN starts_with({value}, '\"') THEN {parsed} END"


def _from_base64(text: str) -> str:
    """The padding may be left out, as Java's decoder allows; DuckDB's insists on it."""
    return f"TRY(from_base64(rpad({text}, ((length({text}) + 3) // 4 * 4)::INTEGER, '=')))"


def uuid_bytes(uuid: str) -> str:
    """SQL: the 16 bytes of a UUID. As a UUID, DuckDB would hand Arrow its text."""
    return f"unhex(replace({uuid}::VARCHAR, '-', ''))"


def _if_dated(text: str, parsed: str) -> str:
    return f"CASE WHEN regexp_matches({text}, '^[+-]?\\d') THEN {parsed} END"


def _string_or_number(value: str, parsed: str, number: str) -> str:
    return f"CASE WHEN starts_with({value}, '\"') THEN {parsed} ELSE {number} END"
