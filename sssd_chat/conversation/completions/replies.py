"""Answers in OpenAI's form: whole, or in chunks."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from sssd_chat.conversation.completions.choice import Choice, Piece
from sssd_chat.conversation.completions.request import Asked, ChatRequest
from sssd_chat.generation.batching import TokenLogprob

Json = dict[str, object]

_LEAST_LOGPROB = -9999.0
"""Stands for a probability of 0, whose logarithm JSON cannot hold."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply to one request: its form and its head."""

    id: str
    created: int
    """Seconds since 1970."""
    model: str
    is_chat: bool
    with_logprobs: bool
    choices: int
    """Choices for each prompt."""
    piece_of: Callable[[int], bytes]
    """The bytes of a token."""

    @staticmethod
    def to(asked: Asked, model: str, piece_of: Callable[[int], bytes]) -> Reply:
        """A reply to a request, with an identifier of its own."""
        is_chat = isinstance(asked, ChatRequest)
        return Reply(
            f"{'chatcmpl' if is_chat else 'cmpl'}-{uuid.uuid4().hex}",
            int(time.time()),
            model,
            is_chat,
            asked.wanted.logprobs is not None,
            asked.wanted.choices,
            piece_of,
        )

    # The whole reply

    def whole(self, choices: Sequence[Choice]) -> Json:
        """The reply when all choices are finished."""
        form = self._chat_choice if self.is_chat else self._text_choice
        return {
            **self._head("chat.completion" if self.is_chat else "text_completion"),
            "choices": [form(choice) for choice in choices],
            "usage": self.usage(choices),
        }

    def _chat_choice(self, choice: Choice) -> Json:
        message: Json = {"role": "assistant", "content": choice.whole.text, "refusal": None}
        if choice.whole.thinking:
            message["reasoning_content"] = choice.whole.thinking
        return {
            "index": choice.index,
            "message": message,
            "logprobs": self._logprobs(choice.logprobs, 0),
            "finish_reason": choice.whole.finish_reason,
        }

    def _text_choice(self, choice: Choice) -> Json:
        return {
            "index": choice.index,
            "text": choice.whole.text,
            "logprobs": self._logprobs(choice.logprobs, 0),
            "finish_reason": choice.whole.finish_reason,
        }

    # Chunks

    def opening(self, choice: Choice) -> Json | None:
        """The first chunk of a choice of a chat; completions have none."""
        if not self.is_chat:
            return None
        delta = {"role": "assistant", "content": "", "refusal": None}
        return self._chunk(choice.index, {"delta": delta}, Piece(), 0)

    def chunk(self, choice: Choice, piece: Piece, offset: int) -> Json:
        """A part of a choice, which begins after `offset` characters of its text."""
        if not self.is_chat:
            return self._chunk(choice.index, {"text": piece.text}, piece, offset)
        delta: Json = {}
        if piece.thinking:
            delta["reasoning_content"] = piece.thinking
        if piece.text:
            delta["content"] = piece.text
        return self._chunk(choice.index, {"delta": delta}, piece, offset)

    def _chunk(self, index: int, content: Json, piece: Piece, offset: int) -> Json:
        logprobs = self._logprobs(piece.logprobs, offset) if piece.logprobs else None
        choice = {
            "index": index,
            **content,
            "logprobs": logprobs,
            "finish_reason": piece.finish_reason,
        }
        return {**self._chunk_head(), "choices": [choice]}

    def usage_chunk(self, choices: Sequence[Choice]) -> Json:
        """The chunk behind the last one, for who wants to know the usage."""
        return {**self._chunk_head(), "choices": [], "usage": self.usage(choices)}

    def _chunk_head(self) -> Json:
        return self._head("chat.completion.chunk" if self.is_chat else "text_completion")

    def _head(self, kind: str) -> Json:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}

    # Parts of both

    def usage(self, choices: Sequence[Choice]) -> Json:
        """Tokens read and written. Predicted tokens are those of drafts: accepted, and tested but
        refused."""
        sums = [choice.statistics for choice in choices]
        # Each prompt counts once, however many answers it gets.
        read = sum(one.prompt_tokens for one in sums[:: self.choices])
        written = sum(one.emitted for one in sums)
        accepted = sum(one.accepted for one in sums)
        return {
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
            "prompt_tokens_details": {
                "cached_tokens": sum(one.reused_tokens for one in sums[:: self.choices])
            },
            "completion_tokens_details": {
                "accepted_prediction_tokens": accepted,
                "rejected_prediction_tokens": sum(one.tested for one in sums) - accepted,
            },
        }

    def _logprobs(self, tokens: Sequence[TokenLogprob], offset: int) -> Json | None:
        if not self.with_logprobs:
            return None
        if self.is_chat:
            return {"content": [self._chat_logprob(token) for token in tokens], "refusal": None}
        return self._text_logprobs(tokens, offset)

    def _chat_logprob(self, token: TokenLogprob) -> Json:
        return {
            **self._one_logprob(token.token, token.logprob),
            "top_logprobs": [self._one_logprob(other, value) for other, value in token.top],
        }

    def _one_logprob(self, token: int, logprob: float) -> Json:
        piece = self.piece_of(token)
        return {
            "token": _text_of(piece),
            "logprob": max(logprob, _LEAST_LOGPROB),
            "bytes": list(piece),
        }

    def _text_logprobs(self, tokens: Iterable[TokenLogprob], offset: int) -> Json:
        pieces, values, tops, offsets = [], [], [], []
        for token in tokens:
            pieces.append(_text_of(self.piece_of(token.token)))
            values.append(max(token.logprob, _LEAST_LOGPROB))
            tops.append(
                {
                    _text_of(self.piece_of(other)): max(value, _LEAST_LOGPROB)
                    for other, value in token.top
                }
            )
            offsets.append(offset)
            offset += len(pieces[-1])
        return {
            "tokens": pieces,
            "token_logprobs": values,
            "top_logprobs": tops,
            "text_offset": offsets,
        }


def _text_of(piece: bytes) -> str:
    return piece.decode("utf-8", "replace")
