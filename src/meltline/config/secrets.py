"""Secrets in a document: `${env:NAME}` and `${file:/path}`, in any text value.

Every value that comes in that way is registered with the redactor, and so is every value whose key
looks like the name of a secret. Other `${...}` belong to format strings and stay as they are.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from meltline.config.document import Document
from meltline.config.place import DocPath
from meltline.config.problems import Problem
from meltline.redact import register_secret

_REFERENCE = re.compile(r"\$\{(env|file):([^}]*)(\}?)")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SECRET_WORDS = frozenset(
    {"password", "passwd", "passphrase", "pwd", "secret", "secrets"}
    | {"token", "tokens", "credential", "credentials"}
)
_SECRET_KEYS = frozenset({"access", "account", "api", "encryption", "private", "secret", "shared"})
_IN_QUERY = re.compile(r"[?&;]([\w.-]+)=([^&;\s]+)")
_IN_AUTHORITY = re.compile(r"://[^/\s:@]*:([^/\s@]+)@")


def looks_secret(key: str) -> bool:
    """Whether a key names a secret: by its last word, in any case and with any separator.

    `s3.secret-access-key`, `apiKey`, `PASSWORD` and `s3.access-key-id` do; `key_name` does not.
    """
    words = [word for word in re.split(r"[.\-_\s]+", _HUMP.sub("_", key).lower()) if word]
    if words[-2:] == ["key", "id"]:
        words.pop()
    if not words:
        return False
    last = words[-1]
    if last == "key":
        return len(words) > 1 and words[-2] in _SECRET_KEYS
    return last in _SECRET_WORDS or (last.endswith("key") and last[:-3] in _SECRET_KEYS)


def resolve_secrets(
    document: Document, problems: list[Problem], environment: Mapping[str, str] | None = None
) -> Document:
    """The document with its references replaced. What cannot be found is added to `problems`."""
    resolver = _Resolver(os.environ if environment is None else environment, problems)
    root = resolver.resolve(document.root, (), False)
    return Document(document.file, root, document.lines, frozenset(resolver.sensitive))


class _Resolver:
    def __init__(self, environment: Mapping[str, str], problems: list[Problem]) -> None:
        self._environment = environment
        self._problems = problems
        self.sensitive: set[DocPath] = set()

    def resolve(self, value: Any, path: DocPath, secret: bool) -> Any:
        if isinstance(value, Mapping):
            free = _keys_are_names(path)
            return {
                key: self.resolve(entry, (*path, key), looks_secret(key) and not free)
                for key, entry in value.items()
            }
        if isinstance(value, list):
            return [self.resolve(v, (*path, index), secret) for index, v in enumerate(value)]
        if isinstance(value, str):
            value = self._resolve_text(value, path)
            _register_inside(value)
        if secret and value is not None:
            self.sensitive.add(path)
            _register_whole(str(value))
        return value

    def _resolve_text(self, text: str, path: DocPath) -> str:
        def replace(match: re.Match[str]) -> str:
            kind, name, end = match[1], match[2].strip(), match[3]
            self.sensitive.add(path)
            found = self._find(kind, name, path) if end and name else None
            if not end:
                self._refuse(f'"${{{kind}:" has no closing "}}"', path)
            elif not name:
                self._refuse(f'"{match[0]}" names no {_NOUNS[kind]}', path)
            register_secret(found or "")
            return found or ""

        return _REFERENCE.sub(replace, text)

    def _find(self, kind: str, name: str, path: DocPath) -> str | None:
        if kind == "env":
            if name not in self._environment:
                hint = f"set {name} for this process, or read the value with ${{file:/path}}"
                self._refuse(f"environment variable {name} is not set", path, hint)
            return self._environment.get(name)
        try:
            content = Path(name).read_text(encoding="utf-8")
        except OSError as error:
            self._refuse(f"secret file {name} cannot be read: {error.strerror}", path)
        except ValueError:
            self._refuse(f"secret file {name} is not UTF-8 text", path)
        else:
            # editors and `echo` end a file with a line break that is no part of the secret
            return content.removesuffix("\n").removesuffix("\r")
        return None

    def _refuse(self, what: str, path: DocPath, hint: str | None = None) -> None:
        self._problems.append(Problem(what, path, hint))


def _keys_are_names(path: DocPath) -> bool:
    """Whether the keys at a path are the author's own words: a route may be named `token`."""
    return len(path) == 3 and path[1] in ("route", "routes")


_NOUNS = {"env": "variable", "file": "file"}


def _register_whole(value: str) -> None:
    register_secret(value)
    # a REST credential `id:secret` is also sent, and complained about, in halves
    if ":" in value and "://" not in value:
        register_secret(value.partition(":")[2])


def _register_inside(text: str) -> None:
    """Passwords inside a URL: `jdbc:postgresql://host/db?password=...`, `http://user:...@host`."""
    for key, value in _IN_QUERY.findall(text):
        if looks_secret(key):
            register_secret(value)
    for password in _IN_AUTHORITY.findall(text):
        register_secret(password)
