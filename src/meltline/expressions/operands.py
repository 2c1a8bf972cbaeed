"""Values inside an expression, as SQL.

A value is seen through its facets: `number()`, `text()` and so on give the SQL of the value when
it is of that sort and SQL NULL when it is not, or no SQL at all (None) when it never can be.
Operators combine facets, so a JSON value, whose sort only the event knows, needs no special case.
"""

from __future__ import annotations

from dataclasses import dataclass

from meltline.expressions import kinds
from meltline.expressions.kinds import Type, describe_type
from meltline.expressions.quoting import quote_json, quote_literal
from meltline.expressions.variants import json_sql

_EXACT_IN_DOUBLE = 2**53


@dataclass(frozen=True, kw_only=True)
class Operand:
    """A null, and the base of all others.

    `failures` are SQL conditions, never NULL, under which the evaluation has failed.
    """

    failures: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The kind of every value (kinds.py), `json` when only the event knows, "" for null."""
        return ""

    @property
    def never_null(self) -> bool:
        return False

    @property
    def exact_as_double(self) -> bool:
        """Comparing this number as a DOUBLE with any other number gives the right answer."""
        return False

    def is_null(self) -> str:
        return "TRUE"

    def boolean(self) -> str | None:
        return None

    def integer(self) -> str | None:
        """BIGINT, for a number written without point and exponent that fits."""
        return None

    def number(self) -> str | None:
        """Any numeric type, good for comparing."""
        return None

    def double(self) -> str | None:
        """DOUBLE, good for arithmetic."""
        return None

    def text(self) -> str | None:
        return None

    def json(self) -> str:
        """VARCHAR: the value as JSON text, NULL for null."""
        return "NULL"

    def written(self) -> str:
        """VARCHAR: the value inside a format string, NULL for null."""
        return "NULL"


NULL = Operand()


@dataclass(frozen=True, kw_only=True)
class JsonOperand(Operand):
    """`raw` is SQL of the value's JSON text as json_extract writes it; NULL or `null` for null."""

    raw: str

    @property
    def kind(self) -> str:
        return kinds.JSON

    def is_null(self) -> str:
        return f"(COALESCE({self.raw}, 'null') = 'null')"

    def boolean(self) -> str:
        return f"CASE {self.raw} WHEN 'true' THEN TRUE WHEN 'false' THEN FALSE END"

    def integer(self) -> str:
        return (
            f"CASE WHEN regexp_full_match({self.raw}, '-?[0-9]+') "
            f"THEN TRY_CAST({self.raw} AS BIGINT) END"
        )

    def number(self) -> str:
        # The text of a JSON string has quotes, so that only numbers can be cast.
        return f"TRY_CAST({self.raw} AS DOUBLE)"

    def double(self) -> str:
        return self.number()

    def text(self) -> str:
        return (
            f"CASE WHEN starts_with({self.raw}, '\"') THEN json_extract_string({self.raw}, '$') END"
        )

    def json(self) -> str:
        return f"nullif({self.raw}, 'null')"

    def written(self) -> str:
        return f"json_extract_string({self.raw}, '$')"


@dataclass(frozen=True, kw_only=True)
class TypedOperand(Operand):
    """SQL of one known type, which is not JSON; `filled` says that it is never NULL."""

    sql: str
    type: Type
    filled: bool = False

    @property
    def kind(self) -> str:
        return self.type.kind

    @property
    def never_null(self) -> bool:
        return self.filled

    def is_null(self) -> str:
        return "FALSE" if self.filled else f"({self.sql} IS NULL)"

    def boolean(self) -> str | None:
        return self.sql if self.kind == kinds.BOOLEAN else None

    def integer(self) -> str | None:
        if self.kind != kinds.INTEGER:
            return None
        fits = self.type.type_name != "big_decimal"
        return self.sql if fits else f"TRY_CAST({self.sql} AS BIGINT)"

    def number(self) -> str | None:
        known = (kinds.INTEGER, kinds.DECIMAL, kinds.DOUBLE)
        return self.sql if self.kind in known else None

    def double(self) -> str | None:
        number = self.number()
        return None if number is None else f"CAST({number} AS DOUBLE)"

    def text(self) -> str | None:
        return self.written() if self.kind == kinds.STRING else None

    def json(self) -> str:
        text = f"CAST(to_json({self.sql}) AS VARCHAR)"
        if self.kind == kinds.DOUBLE:
            # JSON knows neither infinity nor NaN.
            return f"CASE WHEN isfinite({self.sql}) THEN {text} END"
        return text

    def written(self) -> str:
        if self.kind in (kinds.LIST, kinds.STRUCT, kinds.MAP):
            return self.json()
        return self.sql if self.type.name == "VARCHAR" else f"CAST({self.sql} AS VARCHAR)"


@dataclass(frozen=True, kw_only=True)
class ConstantOperand(TypedOperand):
    value: bool | int | float | str

    @property
    def exact_as_double(self) -> bool:
        return not isinstance(self.value, int) or abs(self.value) < _EXACT_IN_DOUBLE

    def json(self) -> str:
        return quote_json(self.value)


@dataclass(frozen=True, kw_only=True)
class ComputedOperand(Operand):
    """The outcome of `+ - * / %`: an integer, else a double, else a text, else a failure."""

    as_integer: str | None = None
    as_double: str | None = None
    as_text: str | None = None
    of_kind: str = kinds.JSON

    @property
    def kind(self) -> str:
        return self.of_kind

    def is_null(self) -> str:
        facets = (self.as_integer, self.as_double, self.as_text)
        return "(" + " AND ".join(f"{facet} IS NULL" for facet in facets if facet) + ")"

    def integer(self) -> str | None:
        return self.as_integer

    def number(self) -> str | None:
        return self.as_double or self.as_integer

    def double(self) -> str | None:
        return self.as_double or (self.as_integer and f"CAST({self.as_integer} AS DOUBLE)")

    def text(self) -> str | None:
        return self.as_text

    def json(self) -> str:
        forms = []
        if self.as_integer:
            forms.append(f"CAST({self.as_integer} AS VARCHAR)")
        if self.as_double:
            forms.append(TypedOperand(sql=self.as_double, type=describe_type("DOUBLE")).json())
        if self.as_text:
            forms.append(f"CAST(to_json({self.as_text}) AS VARCHAR)")
        return f"COALESCE({', '.join(forms)})"

    def written(self) -> str:
        return f"json_extract_string({self.json()}, '$')"


def constant(value: bool | int | float | str | None) -> Operand:
    if value is None:
        return NULL
    name = {bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE", str: "VARCHAR"}[type(value)]
    sql = quote_literal(value)
    return ConstantOperand(sql=sql, type=describe_type(name), filled=True, value=value)


def truth(sql: str, failures: tuple[str, ...] = ()) -> TypedOperand:
    """A boolean of which the SQL is never NULL."""
    return TypedOperand(sql=sql, type=describe_type("BOOLEAN"), filled=True, failures=failures)


def typed(sql: str, type_name: str, failures: tuple[str, ...] = ()) -> Operand:
    """A value of a DuckDB type, maybe NULL; one of type JSON or VARIANT is a JSON value."""
    type_ = describe_type(type_name)
    if type_.kind == kinds.JSON:
        # Spelled anew by DuckDB: the texts of equal values must be equal.
        value = json_sql(sql, type_.name)
        return JsonOperand(raw=f"CAST(json_extract({value}, '$') AS VARCHAR)", failures=failures)
    return TypedOperand(sql=sql, type=type_, failures=failures)
