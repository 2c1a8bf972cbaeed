"""From what validation found to one error a person can act on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from meltline.config.document import Document
from meltline.config.fields import description_at, valid_keys, valid_values
from meltline.config.place import DocPath
from meltline.config.refused import Refused, type_found
from meltline.config.suggest import choice_hint, closest
from meltline.errors import ConfigError
from meltline.redact import MASK, redact

MOST_SHOWN = 10

_EXPECTED = {
    "true or false": ("bool_type", "bool_parsing"),
    "a whole number": ("int_type", "int_parsing", "int_from_float", "int_parsing_size"),
    "a number": ("float_type", "float_parsing", "finite_number"),
    "text": ("string_type", "string_sub_type"),
    "a list": ("list_type", "tuple_type", "set_type", "iterable_type"),
    "a map": ("dict_type", "mapping_type", "model_type", "model_attributes_type"),
}
_EXPECTED_BY_TYPE = {code: words for words, codes in _EXPECTED.items() for code in codes}
_LIMITS = {
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be more than {gt}",
    "less_than_equal": "must be at most {le}",
    "less_than": "must be less than {lt}",
    "string_too_short": "needs at least {min_length} characters",
    "string_too_long": "takes at most {max_length} characters",
    "too_short": "needs at least {min_length} entries",
    "too_long": "takes at most {max_length} entries",
}
_ONE = {
    "needs at least 1 characters": "must not be empty",
    "takes at most 1 characters": "must be one character",
    "needs at least 1 entries": "needs at least one entry",
    "takes at most 1 entries": "takes only one entry",
}

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True)
class Problem:
    """Something wrong at a path of the document."""

    what: str
    path: DocPath
    hint: str | None = None


def validated(
    model: type[Model], value: object, document: Document, path: DocPath, problems: list[Problem]
) -> Model | None:
    """The value as a model, or None after adding to `problems` all that is wrong with it."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        details = error.errors(include_url=False)
    for detail in details:
        if not _follows_from_another(detail, details):
            problems.append(_problem(model, detail, document, path))
    return None


def _follows_from_another(detail: Any, details: Sequence[Any]) -> bool:
    """Whether repairing another problem repairs this one."""
    if detail["type"] == "too_short":
        # entries that were refused are not counted, but they are there
        return len(detail["input"]) >= int(detail["ctx"]["min_length"])
    if detail["type"] == "missing":
        *block, key = detail["loc"]
        extra = [other["loc"] for other in details if other["type"] == "extra_forbidden"]
        return any([*loc[:-1]] == block and closest(str(loc[-1]), [key]) for loc in extra)
    return False


def _problem(model: type[BaseModel], detail: Any, document: Document, path: DocPath) -> Problem:
    local: DocPath = tuple(detail["loc"])
    cause = detail.get("ctx", {}).get("error")
    if isinstance(cause, Refused):
        found = Problem(cause.what, (*local, *cause.at), cause.hint)
    else:
        found = _explain(model, detail, local)
    place = (*path, *found.path)
    return Problem(_hide(found.what, detail["input"], place, document), place, found.hint)


def _explain(model: type[BaseModel], detail: Any, local: DocPath) -> Problem:
    code, value, facts = detail["type"], detail["input"], detail.get("ctx", {})
    if code == "extra_forbidden":
        hint = choice_hint(str(local[-1]), valid_keys(model, local[:-1]), "keys")
        return Problem(f'unknown key "{local[-1]}"', local, hint)
    if code == "missing":
        return Problem(f'key "{local[-1]}" is required', local[:-1], description_at(model, local))
    if code == "literal_error":
        return _wrong_word(model, value, local)
    if code in _EXPECTED_BY_TYPE:
        return _wrong_type(_EXPECTED_BY_TYPE[code], value, local)
    if code in _LIMITS:
        words = _LIMITS[code].format(**facts)
        return Problem(_ONE.get(words, words), local)
    message = str(facts.get("error") or detail["msg"])
    return Problem(message[:1].lower() + message[1:], local)


def _wrong_word(model: type[BaseModel], value: object, local: DocPath) -> Problem:
    words = valid_values(model, local)
    if isinstance(value, str):
        return Problem(f'"{value}" is not a valid value', local, choice_hint(value, words))
    return Problem(f"expected text, found {type_found(value)}", local, choice_hint("", words))


def _wrong_type(expected: str, value: object, local: DocPath) -> Problem:
    hint = None
    if value is None:
        hint = "give it a value or remove the key"
    elif expected == "text" and isinstance(value, bool | int | float):
        hint = "put it in quotes"
    elif expected == "a list" and isinstance(value, str):
        hint = "put it in brackets: [...]"
    elif expected == "a list" and isinstance(value, Mapping):
        hint = "begin each entry with a dash"
    return Problem(f"expected {expected}, found {type_found(value)}", local, hint)


def _hide(what: str, value: object, place: DocPath, document: Document) -> str:
    # the redactor leaves very short secrets alone; here we know exactly where one was quoted
    if isinstance(value, str) and value and place in document.sensitive:
        what = what.replace(f'"{value}"', MASK)
    return redact(what)


def to_error(document: Document, problems: Sequence[Problem]) -> ConfigError:
    """One error for all problems, in the order of the file."""
    ordered = sorted(problems, key=lambda problem: document.line(problem.path))
    errors = [_error(document, problem) for problem in ordered]
    if len(errors) == 1:
        return errors[0]
    lines = [f"{len(errors)} problems in {document.file}"]
    lines += [f"{number}. {error}" for number, error in enumerate(errors[:MOST_SHOWN], 1)]
    if len(errors) > MOST_SHOWN:
        lines.append(f"and {len(errors) - MOST_SHOWN} more")
    return ConfigError("\n".join(lines))


def _error(document: Document, problem: Problem) -> ConfigError:
    hint = redact(problem.hint) if problem.hint else None
    return ConfigError(redact(problem.what), at=document.at(problem.path), hint=hint)
