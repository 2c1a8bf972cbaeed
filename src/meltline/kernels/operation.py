"""What an event does to its row: the words of the sink's `operation`, as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from meltline.expressions.quoting import quote_literal

INSERT = 0
UPDATE = 1
DELETE = 2

WORDS: Mapping[int, Sequence[str]] = {
    INSERT: ("index", "insert", "create", "c", "i", "r"),
    UPDATE: ("update", "u", "update_after"),
    # the image before an update names the key that the row had until then
    DELETE: ("delete", "d", "update_before"),
}


def operation_sql(word: str) -> str:
    """SQL: the number of the word that the SQL `word` gives, NULL for an unknown one."""
    cases = " ".join(
        f"WHEN lower({word}) IN ({', '.join(quote_literal(w) for w in words)}) THEN {number}"
        for number, words in WORDS.items())
    return f"(CASE {cases} END)::TINYINT"


def unknown_sql(word: str) -> str:
    """SQL: why the event with this word is rejected."""
    return (f"CASE WHEN coalesce({word}, '') = '' THEN 'the operation is missing' "
            f"ELSE 'unknown operation \"' || left({word}, 100) || '\"' END")
