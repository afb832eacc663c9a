"""How the next token is chosen from the target's logits."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sssd_chat.errors import UserError
from sssd_chat.llama.grammar import Grammar
from sssd_chat.llama.runtime import api

Logits = npt.NDArray[np.float32]
"""Shape (vocabulary size,)."""

_CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])
_RANDOM_SEED = 0xFFFFFFFF
_ROW = 256


@dataclass(frozen=True, slots=True)
class SamplerSettings:
    """Parameters of the sampler chain. The defaults are greedy decoding."""

    temperature: float = 0.0
    """0 is greedy: the most probable token, always."""
    top_k: int = 40
    """Only the k most probable tokens; 0 for no limit."""
    top_p: float = 0.95
    """Only the most probable tokens that together hold this probability; 1 for no limit."""
    min_p: float = 0.05
    """Only tokens at least this probable relative to the best one; 0 for no limit."""
    repeat_penalty: float = 1.0
    """Divides the logits of tokens that were emitted lately; 1 for none."""
    frequency_penalty: float = 0.0
    """Taken off the logit for each time that the token was emitted lately."""
    presence_penalty: float = 0.0
    """Taken off the logit of each token that was emitted lately."""
    penalty_window: int = 64
    """How many emitted tokens "lately" reaches back."""
    seed: int | None = None
    """Seed of the random draw; None for a new one each time."""
    grammar: str = ""
    """What an answer must keep to, as GBNF with a rule "root"; empty for nothing."""
    logit_bias: tuple[tuple[int, float], ...] = ()
    """Tokens with what is added to their logits before anything else."""

    @property
    def has_penalties(self) -> bool:
        """Whether any penalty is in effect."""
        return (
            self.repeat_penalty != 1.0
            or self.frequency_penalty != 0.0
            or self.presence_penalty != 0.0
        )


class SamplerChain:
    """A llama.cpp sampler chain: penalties, top-k, top-p, min-p, temperature, draw.

    Drafted or not, every emitted token is drawn by one call of `sample`, so penalties and grammar
    see each emitted token once and in order.
    """

    def __init__(
        self, settings: SamplerSettings, vocabulary_size: int, vocabulary: Any = None
    ) -> None:
        """`vocabulary` is the llama_vocab pointer, which a grammar needs. Raises UserError for a
        broken grammar or a bias of a token that there is not."""
        self.settings = settings
        self._api = api()
        self._bias = _bias(settings.logit_bias, vocabulary_size)
        self._grammar = Grammar(settings.grammar, vocabulary) if settings.grammar else None
        # argmax over the logits gives what the greedy sampler gives, ten times as fast.
        self._is_argmax = settings.temperature <= 0.0 and not settings.has_penalties
        self._chain: Any = None
        if not self._is_argmax or self._grammar is not None:
            self._candidates = np.zeros(vocabulary_size, dtype=_CANDIDATE)
            self._ids = np.arange(vocabulary_size, dtype=np.int32)
            data = self._candidates.ctypes.data_as(self._api.llama_token_data_p)
            self._array = self._api.llama_token_data_array(data, vocabulary_size, -1, False)
        if not self._is_argmax:
            self._chain = self._build(settings, vocabulary_size)

    def _build(self, settings: SamplerSettings, vocabulary_size: int) -> Any:
        lib = self._api
        chain = lib.llama_sampler_chain_init(lib.llama_sampler_chain_default_params())

        def add(sampler: Any) -> None:
            lib.llama_sampler_chain_add(chain, sampler)

        if settings.has_penalties:
            add(
                lib.llama_sampler_init_penalties(
                    vocabulary_size,
                    settings.penalty_window,
                    settings.repeat_penalty,
                    settings.frequency_penalty,
                    settings.presence_penalty,
                )
            )
        if settings.temperature <= 0.0:
            add(lib.llama_sampler_init_greedy())
            return chain
        if settings.top_k > 0:
            add(lib.llama_sampler_init_top_k(settings.top_k))
        if settings.top_p < 1.0:
            add(lib.llama_sampler_init_top_p(settings.top_p, 1))
        if settings.min_p > 0.0:
            add(lib.llama_sampler_init_min_p(settings.min_p, 1))
        add(lib.llama_sampler_init_temp(settings.temperature))
        seed = _RANDOM_SEED if settings.seed is None else settings.seed & 0xFFFFFFFF
        add(lib.llama_sampler_init_dist(seed))
        return chain

    @property
    def takes_best(self) -> bool:
        """Whether `sample` is nothing but the most probable token."""
        return self._is_argmax and self._grammar is None and self._bias is None

    def sample(self, logits: Logits) -> int:
        """The next token given the target's logits; it counts as emitted from now on. Raises
        UserError where the grammar allows none."""
        if self._bias is not None:
            tokens, values = self._bias
            logits = logits.copy()
            logits[tokens] += values
        token = self._draw(logits)
        if self._grammar is not None:
            # Looking at one token is a thousand times as fast as looking at all of them.
            if not self._grammar.allows(token):
                token = self._draw(self._allowed(logits, self._grammar))
            self._grammar.accept(token)
        if self._chain is not None:
            self._api.llama_sampler_accept(self._chain, token)
        return token

    def _draw(self, logits: Logits) -> int:
        if self._is_argmax:
            return int(logits.argmax())
        self._fill(logits)
        array = self._array
        self._api.llama_sampler_apply(self._chain, ctypes.byref(array))
        return int(array.data[array.selected].id)

    def _fill(self, logits: Logits) -> None:
        candidates, array = self._candidates, self._array
        candidates["id"] = self._ids
        candidates["logit"] = logits
        # A sampler may have pointed the array elsewhere or shortened it.
        array.data = candidates.ctypes.data_as(self._api.llama_token_data_p)
        array.size = len(candidates)
        array.selected = -1
        array.sorted = False

    def _allowed(self, logits: Logits, grammar: Grammar) -> Logits:
        """The logits with those of all tokens that the grammar refuses at minus infinity."""
        self._fill(logits)
        grammar.restrict(self._array)
        allowed: Logits = self._candidates["logit"].copy()
        if allowed.max() == -np.inf:
            raise UserError("The grammar allows no token of this model here.")
        return allowed

    def accept(self, token: int) -> None:
        """A token that was emitted before this chain was made: penalties count it."""
        if self._chain is not None:
            self._api.llama_sampler_accept(self._chain, token)

    def close(self) -> None:
        """Frees the chain; it must not be used afterwards."""
        if self._grammar is not None:
            self._grammar.close()
        if self._chain is not None:
            self._api.llama_sampler_free(self._chain)
            self._chain = None


def _bias(
    biases: tuple[tuple[int, float], ...], vocabulary_size: int
) -> tuple[npt.NDArray[np.int64], Logits] | None:
    """Tokens and what is added to their logits; None for nothing."""
    if not biases:
        return None
    added: dict[int, float] = {}
    for token, value in biases:
        if not 0 <= token < vocabulary_size:
            raise UserError(f"The vocabulary has no token {token} whose logit could be changed.")
        added[token] = added.get(token, 0.0) + value
    return np.array(list(added), np.int64), np.array(list(added.values()), np.float32)


def best_tokens(logits: Logits, count: int) -> tuple[int, ...]:
    """The `count` most probable tokens, best first, lower numbers first among equals: so the
    first one is that of argmax.

    One pass over the logits finds the maximum of each row of 256; the rest looks at a few rows
    only. That is a third of the time of a partition.
    """
    whole = len(logits) // _ROW
    maxima = np.full(whole + 1, -np.inf, dtype=np.float32)
    logits[: whole * _ROW].reshape(whole, _ROW).max(axis=1, out=maxima[:whole])
    if len(logits) > whole * _ROW:
        maxima[whole] = logits[whole * _ROW :].max()
    rows: dict[int, Logits] = {}
    found = []
    for _ in range(min(count, len(logits))):
        number = int(maxima.argmax())
        row = rows.get(number)
        if row is None:
            row = rows[number] = logits[number * _ROW : (number + 1) * _ROW].copy()
        place = int(row.argmax())
        found.append(number * _ROW + place)
        row[place] = -np.inf
        maxima[number] = row.max()
    return tuple(found)
