"""The fields of a JSON request, read one by one; what is wrong names its field."""

from __future__ import annotations

import json
import math
from typing import NoReturn

from sssd_chat.conversation.completions.refusal import RequestRefused

_KINDS = {
    dict: "an object",
    list: "an array",
    str: "a string",
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    type(None): "null",
}


def parse_json(body: bytes) -> object:
    """The value of a body. Raises RequestRefused."""
    try:
        return json.loads(body.decode("utf-8-sig"), parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise RequestRefused("The body is not UTF-8 text.", code="invalid_json") from error
    except RecursionError as error:
        raise RequestRefused("The body is nested too deeply.", code="invalid_json") from error
    except ValueError as error:
        raise RequestRefused(f"The body is not JSON: {error}.", code="invalid_json") from error


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def kind_of(value: object) -> str:
    """What JSON calls the type of a value."""
    return _KINDS.get(type(value), "something else")


def wrong_type(path: str, wanted: str, value: object) -> RequestRefused:
    """A field that holds a value of another type."""
    return RequestRefused(
        f"Invalid type for '{path}': expected {wanted}, but got {kind_of(value)} instead.",
        param=path,
        code="invalid_type",
    )


def wrong_value(path: str, wanted: str) -> RequestRefused:
    """A field whose value cannot be used."""
    return RequestRefused(
        f"Invalid value for '{path}': {wanted}.", param=path, code="invalid_value"
    )


class Fields:
    """An object. A field that is null counts as one that is not there."""

    def __init__(self, value: object, path: str = "") -> None:
        """`path` is where it stands in the request, empty for the request itself. Raises
        RequestRefused when it is no object."""
        if not isinstance(value, dict):
            raise wrong_type(path or "the request", "an object", value)
        self._values: dict[str, object] = value
        self._path = path

    def path(self, name: str) -> str:
        """Where a field stands in the request."""
        return f"{self._path}.{name}" if self._path else name

    def value(self, name: str) -> object:
        """The value as it is; None when it is not there."""
        return self._values.get(name)

    def items(self) -> list[tuple[str, object]]:
        """All names and values."""
        return list(self._values.items())

    def text(self, name: str) -> str | None:
        """A string."""
        value = self.value(name)
        if value is not None and not isinstance(value, str):
            raise wrong_type(self.path(name), "a string", value)
        return value

    def flag(self, name: str) -> bool:
        """A boolean; False when it is not there."""
        value = self.value(name)
        if value is not None and not isinstance(value, bool):
            raise wrong_type(self.path(name), "a boolean", value)
        return bool(value)

    def number(self, name: str, low: float, high: float) -> float | None:
        """A number from `low` to `high`."""
        value = self.value(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise wrong_type(self.path(name), "a number", value)
        if not low <= value <= high or math.isnan(value):
            raise wrong_value(self.path(name), f"it may be {low:g} to {high:g}")
        return float(value)

    def whole(self, name: str, low: int, high: int) -> int | None:
        """A whole number from `low` to `high`."""
        value = self.value(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            raise wrong_type(self.path(name), "an integer", value)
        if not low <= value <= high:
            raise wrong_value(self.path(name), f"it may be {low:,} to {high:,}")
        return value

    def array(self, name: str) -> list[object] | None:
        """An array."""
        value = self.value(name)
        if value is not None and not isinstance(value, list):
            raise wrong_type(self.path(name), "an array", value)
        return value

    def object(self, name: str) -> Fields | None:
        """An object."""
        value = self.value(name)
        return None if value is None else Fields(value, self.path(name))
