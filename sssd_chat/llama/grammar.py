"""Grammars that an answer must keep to: GBNF, the notation of llama.cpp, or a JSON schema."""

from __future__ import annotations

import ctypes
import json
from typing import Any

from sssd_chat.errors import UserError
from sssd_chat.llama.runtime import api, forget_log, recent_log

_LONGEST = 200_000
"""Characters of a grammar or a schema; a longer one would be read for seconds."""


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
        if not isinstance(json.loads(schema), dict):
            raise UserError("The JSON schema must be an object.")
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


def _reason() -> str:
    lines = [line.strip() for line in recent_log() if "parse" in line or "grammar" in line]
    return lines[0].rstrip(".") if lines else "llama.cpp does not understand it"
