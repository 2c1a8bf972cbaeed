from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from meltline.config.document import parse_document
from meltline.config.file import PipelineFile
from meltline.config.problems import Problem
from meltline.config.secrets import looks_secret, resolve_secrets
from meltline.errors import ConfigError
from meltline.redact import redact

Load = Callable[[str], PipelineFile]

WITH_CATALOG = """\
p:
  source:
    files:
      paths: ["s3://${env:BUCKET}/in/*.ndjson"]
      storage:
        s3.secret-access-key: ${env:S3_KEY}
  sink:
    - iceberg:
        table_identifier: shop.orders
        catalog:
          type: rest
          uri: http://user:${env:PASSWORD}@host/
          credential: client:plain-in-file
          token: ${file:token.txt}
"""


def resolve(text: str, **environment: str) -> dict[str, object]:
    problems: list[Problem] = []
    document = resolve_secrets(parse_document(text, Path("p.yaml")), problems, environment)
    assert problems == []
    return dict(document.root)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: ${env:X}", "secret-x"),
        ("a: '${env:X}'", "secret-x"),
        ("a: ${ env:X }", "${ env:X }"),
        ("a: '${env: X }'", "secret-x"),
        ("a: x-${env:X}-${env:Y}", "x-secret-x-${env:X}"),
        ("a: '${getMetadata(\"env:X\")}'", '${getMetadata("env:X")}'),
        ("a: ${/env}", "${/env}"),
        ("a: ${environment}", "${environment}"),
    ],
)
def test_references_are_replaced_and_format_strings_are_not(text: str, value: str) -> None:
    # what a variable holds is not looked into again: the last part of Y stays as it is
    assert resolve(text, X="secret-x", Y="${env:X}") == {"a": value}


def test_references_in_lists_and_maps() -> None:
    assert resolve("a: [{b: '${env:X}'}]", X="secret-x") == {"a": [{"b": "secret-x"}]}


def test_keys_are_not_replaced() -> None:
    assert resolve("${env:X}: 1", X="secret-x") == {"${env:X}": 1}


@pytest.mark.parametrize(
    ("content", "value"), [("abc", "abc"), ("abc\n", "abc"), ("abc\r\n", "abc"), ("a\n\n", "a\n")]
)
def test_the_line_break_at_the_end_of_a_file_is_no_secret(
    content: str, value: str, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_bytes(content.encode())
    assert resolve(f"a: ${{file:{file}}}") == {"a": value}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            "p:\n  a: ${env:NOT_THERE}\n",
            "environment variable NOT_THERE is not set\n"
            "   at: p.yaml:2 p.a\n"
            " hint: set NOT_THERE for this process, or read the value with ${file:/path}",
        ),
        (
            "p:\n  a: [b, 'x${file:/not/there}']\n",
            "secret file /not/there cannot be read: No such file or directory\n"
            "   at: p.yaml:2 p.a[1]",
        ),
        (
            "p:\n  a: ${file:/}\n",
            "secret file / cannot be read: Is a directory\n   at: p.yaml:2 p.a",
        ),
        ("p: '${env:}'\n", '"${env:}" names no variable\n   at: p.yaml:1 p'),
        ("p: '${file: }'\n", '"${file: }" names no file\n   at: p.yaml:1 p'),
        ("p: '${env:X'\n", '"${env:" has no closing "}"\n   at: p.yaml:1 p'),
    ],
)
def test_what_cannot_be_found(text: str, error: str, load: Load) -> None:
    with pytest.raises(ConfigError) as raised:
        load(text)
    assert str(raised.value) == error


def test_all_missing_variables_are_named_at_once(load: Load) -> None:
    with pytest.raises(ConfigError) as raised:
        load("p:\n  a: ${env:NOT_A}\n  b: ${env:NOT_B}\n")
    text = str(raised.value)
    assert "2 problems" in text
    assert "NOT_A" in text
    assert "NOT_B" in text


@pytest.mark.parametrize(
    "key",
    [
        "password", "PASSWORD", "db.password", "db_Password", "passwd", "pwd", "passphrase",
        "secret", "client-secret", "clientSecret", "token", "s3.session-token", "credential",
        "credentials", "api_key", "apikey", "apiKey", "API-KEY", "access-key", "s3.access-key-id",
        "s3.secret-access-key", "fs.s3a.secret.key", "private key", "private_key",
        "fs.azure.account.key",
    ],
)  # fmt: skip
def test_keys_that_look_secret(key: str) -> None:
    assert looks_secret(key)


@pytest.mark.parametrize(
    "key",
    ["key", "key_name", "include_keys", "tokenizer", "password_file", "uri", "", "id", "keyboard"],
)
def test_keys_that_do_not(key: str) -> None:
    assert not looks_secret(key)


@pytest.mark.parametrize(
    "text",
    [
        "password: hunter-2",
        "password: [hunter-2]",
        "credential: client:hunter-2",
        "uri: jdbc:postgresql://h/db?user=me&password=hunter-2&ssl=true",
        "uri: http://me:hunter-2@host/",
        "uri: http://h/?token=${env:X}",
        "any: ${env:X}",
        "any: before-${env:X}-after",
    ],
)
def test_secrets_are_registered_wherever_they_stand(text: str) -> None:
    resolve(text, X="hunter-2")
    assert redact("refused: hunter-2!") == "refused: ***!"


def test_a_route_named_like_a_secret_hides_nothing() -> None:
    resolve("p:\n  route:\n    - token: '/kind == 7'\n")
    assert redact("/kind == 7") == "/kind == 7"


def test_numbers_under_secret_keys_are_registered() -> None:
    resolve("password: 12345678")
    assert redact("12345678") == "***"


@pytest.fixture
def secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("BUCKET", "very-hidden-bucket")
    monkeypatch.setenv("S3_KEY", "very-hidden-key")
    monkeypatch.setenv("PASSWORD", "very-hidden-password")
    (tmp_path / "token.txt").write_text("very-hidden-token\n", encoding="utf-8")
    return ["very-hidden", "plain-in-file"]


def test_no_repr_shows_a_secret(load: Load, secrets: list[str]) -> None:
    file = load(WITH_CATALOG)
    catalog = file.pipelines["p"].sink[0].iceberg
    assert catalog is not None
    assert catalog.catalog is not None
    assert catalog.catalog.properties["token"] == "very-hidden-token"
    for shown in (repr(file), str(file.pipelines["p"]), f"{catalog.catalog}"):
        assert not any(secret in shown for secret in secrets)
    assert (
        repr(catalog.catalog) == "CatalogBlock({type: ***, uri: ***, credential: ***, token: ***})"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("shop.orders", "'${env:S3_KEY}'"),
        ("shop.orders", "shop.orders\n        on_error: '${env:S3_KEY}'"),
        ("shop.orders", "shop.orders\n        commit_interval: '${env:S3_KEY}'"),
        ("shop.orders", "shop.orders\n        auto_create: '${env:S3_KEY}'"),
        ("type: rest", "type: ${env:S3_KEY}"),
        ("token: ${file:token.txt}", "token: [very-hidden-token]"),
        ("paths: [", "codec: '${env:S3_KEY}'\n      paths: ["),
        ("paths: [", "max_line_size: '${env:S3_KEY}'\n      paths: ["),
    ],
)
def test_no_error_shows_a_secret(before: str, after: str, load: Load, secrets: list[str]) -> None:
    with pytest.raises(ConfigError) as raised:
        load(WITH_CATALOG.replace(before, after))
    assert not any(secret in str(raised.value) for secret in secrets)


def test_a_very_short_secret_is_not_quoted_either(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHORT", "q7")
    with pytest.raises(ConfigError) as raised:
        load("p:\n  source: {files: {paths: [a], codec: '${env:SHORT}'}}\n  sink: []\n")
    assert "q7" not in str(raised.value)
    assert "there is no codec ***" in str(raised.value)


def test_a_value_from_the_environment_fits_numbers_switches_durations_and_sizes(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"N": "12", "B": "true", "D": "7s", "S": "3mb"}.items():
        monkeypatch.setenv(name, value)
    pipeline = load(
        "p:\n"
        "  source:\n"
        "    files: {paths: [a], max_files_per_epoch: '${env:N}', max_line_size: '${env:S}'}\n"
        "  sink:\n"
        "    - iceberg:\n"
        "        table_identifier: shop.orders\n"
        "        auto_create: ${env:B}\n"
        "        commit_interval: ${env:D}\n"
    ).pipelines["p"]
    sink, files = pipeline.sink[0].iceberg, pipeline.source.files
    assert files is not None
    assert sink is not None
    assert (files.max_files_per_epoch, files.max_line_size) == (12, 3 * 1024**2)
    assert (sink.auto_create, sink.commit_interval.total_seconds()) == (True, 7.0)
