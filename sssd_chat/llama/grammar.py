"""Grammars that an answer must keep to: GBNF, the notation of llama.cpp, or a JSON schema."""

from __future__ import annotations

import ctypes
import json
import re
from collections.abc import Iterator
from typing import Any

from sssd_chat.errors import UserError
from sssd_chat.llama.runtime import api, forget_log, recent_log

_LONGEST = 200_000
"""Characters of a grammar or a schema; a longer one would be read for seconds."""

_DEEPEST = 4000
"""Open brackets at once: llama.cpp reads them one within the other, and deep ones end the
process."""
_MOST_WRITTEN_OUT = 5_000_000
"""Characters of a grammar times its greatest repetition, each of which llama.cpp writes out."""
_MOST_COUNTED = 10_000
"""The same for a schema: all that it says of lengths together."""
_REPETITION = re.compile(r"\{\s*(\d*)\s*,?\s*(\d*)\s*\}")
_COUNTS = ("minItems", "maxItems", "minLength", "maxLength")
_DATA = ("const", "enum", "default", "examples")
"""What in a schema is no schema."""


class Grammar:
    """Follows one answer, token by token (llama_sampler_init_grammar)."""

    def __init__(self, source: str, vocabulary: Any) -> None:
        """`source` is GBNF with a rule "root", `vocabulary` the llama_vocab pointer, which must
        outlive the grammar. Raises UserError when the grammar is broken."""
        self._api = api()
        if len(source) > _LONGEST:
            raise UserError(f"The grammar has more than {_LONGEST} characters: use a shorter one.")
        if not source.strip() or "\0" in source:
            raise UserError("The grammar cannot be used: it is empty, or holds a zero byte.")
        if _depth(source) > _DEEPEST:
            raise UserError("The grammar cannot be used: it is nested too deeply.")
        if len(source) * max(_repetitions(source), default=1) > _MOST_WRITTEN_OUT:
            raise UserError("The grammar cannot be used: too much is repeated in it.")
        forget_log()
        self._sampler = self._api.llama_sampler_init_grammar(
            vocabulary, source.encode("utf-8", "replace"), b"root"
        )
        if not self._sampler:
            raise UserError(f"The grammar cannot be used: {_reason()}.")
        self._one = (self._api.llama_token_data * 1)()

    def allows(self, token: int) -> bool:
        """Whether the answer may go on with a token."""
        self._one[0].id = token
        self._one[0].logit = 0.0
        array = self._api.llama_token_data_array(self._one, 1, -1, False)
        self.restrict(array)
        return bool(self._one[0].logit == 0.0)

    def restrict(self, candidates: Any) -> None:
        """Sets the logits of tokens that are not allowed to minus infinity, in a
        llama_token_data_array."""
        self._api.llama_sampler_apply(self._sampler, ctypes.byref(candidates))

    def accept(self, token: int) -> None:
        """The answer goes on with a token. It must be allowed: llama.cpp ends the process
        otherwise."""
        self._api.llama_sampler_accept(self._sampler, token)

    def close(self) -> None:
        """Frees the grammar; it must not be used afterwards."""
        if self._sampler:
            self._api.llama_sampler_free(self._sampler)
            self._sampler = None


def grammar_of_schema(schema: str) -> str:
    """The GBNF grammar of the JSON texts that fit a JSON schema. Raises UserError when the schema
    is not JSON or asks for something that cannot be had."""
    from llama_cpp.llama_grammar import json_schema_to_gbnf

    if len(schema) > _LONGEST:
        raise UserError(f"The JSON schema has more than {_LONGEST} characters: use a shorter one.")
    try:
        parsed = json.loads(schema)
        if not isinstance(parsed, dict):
            raise UserError("The JSON schema must be an object.")
        if sum(_counts(parsed)) > _MOST_COUNTED:
            raise UserError(
                "The JSON schema cannot be used: the lengths in it come to more than "
                f"{_MOST_COUNTED}."
            )
        grammar: str = json_schema_to_gbnf(schema)
    except json.JSONDecodeError as error:
        raise UserError(f"The JSON schema is not JSON: {error}.") from None
    except RecursionError:
        raise UserError("The JSON schema is nested too deeply.") from None
    except UserError:
        raise
    except Exception as error:
        # The converter raises whatever comes: assertions, key errors, value errors.
        raise UserError(
            f"The JSON schema cannot be used: {error or type(error).__name__}."
        ) from None
    return grammar


def _counts(schema: dict[str, Any]) -> Iterator[int]:
    """All lengths that a schema speaks of. The converter writes each of them out."""
    left: list[Any] = [schema]
    while left:
        value = left.pop()
        if isinstance(value, list):
            left += value
        elif isinstance(value, dict):
            left += [one for name, one in value.items() if name not in _DATA]
            yield from (value[name] for name in _COUNTS if isinstance(value.get(name), int))
            pattern = value.get("pattern")
            if isinstance(pattern, str):
                yield _product(_repetitions(pattern))


def _repetitions(text: str) -> Iterator[int]:
    """The greater number of each `{n,m}`."""
    for found in _REPETITION.finditer(text):
        # More digits than that are too many, whatever they are.
        yield max((int(number[:12]) for number in found.groups() if number), default=1)


def _product(numbers: Iterator[int]) -> int:
    """What repetitions in each other come to, where nobody looks whether they are; not exact above
    what is allowed."""
    product = 1
    for number in numbers:
        product = min(product * max(1, number), _MOST_COUNTED + 1)
    return product


def _depth(source: str) -> int:
    """Most brackets that are open at once, those in literals counted as well."""
    depth = deepest = 0
    for bracket in re.findall(r"[()]", source):
        depth += 1 if bracket == "(" else -1
        deepest = max(deepest, depth)
    return deepest


def _reason() -> str:
    lines = [line.strip() for line in recent_log() if "parse" in line or "grammar" in line]
    return lines[0].rstrip(".") if lines else "llama.cpp does not understand it"
