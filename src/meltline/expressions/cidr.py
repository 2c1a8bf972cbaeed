"""`cidrContains` as SQL: an address becomes fixed-width hexadecimal text, a block a range of it.

DuckDB's inet extension is not part of its wheel, so texts are taken apart with text functions.
"""

from __future__ import annotations

import ipaddress

from meltline.expressions.quoting import quote_literal

_IPV4 = r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}"
_IPV6 = "(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}"


def in_networks(text: str, networks: list[str]) -> str:
    """SQL BOOLEAN, never NULL: the address in `text` (SQL) lies in one of the networks."""
    blocks = [ipaddress.ip_network(network.strip(), strict=False) for network in networks]
    tests = []
    for version, address in ((4, ipv4_hex("a")), (6, ipv6_hex("a"))):
        ranges = [_between("h", block) for block in blocks if block.version == version]
        if ranges:
            found = " OR ".join(ranges)
            tests.append(f"COALESCE(list_transform([{address}], lambda h: {found})[1], FALSE)")
    return f"COALESCE(list_transform([lower({text})], lambda a: {' OR '.join(tests)})[1], FALSE)"


def _between(address: str, block: ipaddress.IPv4Network | ipaddress.IPv6Network) -> str:
    first, last = block.network_address.packed.hex(), block.broadcast_address.packed.hex()
    return f"{address} BETWEEN {quote_literal(first)} AND {quote_literal(last)}"


def ipv4_hex(text: str) -> str:
    """SQL: eight hexadecimal digits, or NULL when `text` is no IPv4 address."""
    octets = f"TRY_CAST(string_split({text}, '.') AS INTEGER[])"
    # Two digits each; an octet above 255 gives three and so fails the check of the length.
    digits = f"array_to_string(list_transform({octets}, lambda o: format('{{:02x}}', o)), '')"
    checked = f"list_transform([{digits}], lambda d: CASE WHEN length(d) = 8 THEN d END)[1]"
    return f"CASE WHEN regexp_full_match({text}, {quote_literal(_IPV4)}) THEN {checked} END"


def ipv6_hex(text: str) -> str:
    """SQL: 32 hexadecimal digits, or NULL when `text` (lower case) is no IPv6 address."""
    plain = f"list_transform([{_without_dotted_end(text)}], lambda t: {_expanded('t')})[1]"
    return f"CASE WHEN contains({text}, ':') THEN {plain} END"


def _without_dotted_end(text: str) -> str:
    """`::ffff:1.2.3.4` as `::ffff:0102:0304`; a text without dots stays."""
    tail = f"regexp_extract({text}, ':({_IPV4})$', 1)"
    groups = f"regexp_replace({ipv4_hex('q')}, '(....)(....)', '\\1:\\2')"
    replaced = f"replace({text}, q, {groups})"
    dotted = f"list_transform([{tail}], lambda q: {replaced})[1]"
    return f"CASE WHEN contains({text}, '.') THEN {dotted} ELSE {text} END"


def _expanded(text: str) -> str:
    left = _groups(f"string_split({text}, '::')[1]")
    right = _groups(f"COALESCE(string_split({text}, '::')[2], '')")
    zeros = f"repeat('0', 32 - length({left}) - length({right}))"
    short = f"length({left}) + length({right}) < 32"
    return (
        f"CASE WHEN regexp_full_match({text}, {quote_literal(_IPV6)}) "
        f"AND NOT contains({text}, ':::') AND NOT regexp_matches({text}, '^:[^:]|[^:]:$') "
        f"AND CASE len(string_split({text}, '::')) WHEN 1 THEN length({left}) = 32 "
        f"WHEN 2 THEN {short} ELSE FALSE END "
        f"THEN {left} || {zeros} || {right} END"
    )


def _groups(text: str) -> str:
    """Groups between colons, each brought to four digits, as one text."""
    padded = f"list_transform(string_split({text}, ':'), lambda g: lpad(g, 4, '0'))"
    return f"CASE {text} WHEN '' THEN '' ELSE array_to_string({padded}, '') END"
