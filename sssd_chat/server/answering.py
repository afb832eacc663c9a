"""Requests on their way through the engine."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sssd_chat.conversation.completions.choice import Choice, choices_for
from sssd_chat.conversation.completions.prompting import Prompt, PromptMaker
from sssd_chat.conversation.completions.refusal import (
    SERVER_ERROR,
    RequestRefused,
    failed_inside,
    failed_writing,
)
from sssd_chat.conversation.completions.replies import Json, Reply
from sssd_chat.conversation.completions.request import Asked, ChatRequest
from sssd_chat.errors import UserError
from sssd_chat.generation.batching import EngineService, Handle, Request
from sssd_chat.generation.batching.service import ServiceClosed
from sssd_chat.server.access import ApiKey
from sssd_chat.server.mailbox import Mailbox

_RETRY_SECONDS = 2
_LONGEST_NAME = 200
"""Characters of what a client calls its model that are sent back."""


def shutting_down() -> RequestRefused:
    """Nothing new is answered any more."""
    return RequestRefused(
        "The server is shutting down.",
        kind=SERVER_ERROR,
        code="shutting_down",
        status=503,
        retry_after=_RETRY_SECONDS,
    )


@dataclass(slots=True, eq=False)
class Answering:
    """One request that is being answered."""

    reply: Reply
    mailbox: Mailbox
    handles: list[Handle] = field(default_factory=list)

    @property
    def choices(self) -> Sequence[Choice]:
        """The answers as far as they are written."""
        return self.mailbox.choices

    def cancel(self) -> None:
        """Ends what is still being written, within a step."""
        for handle in self.handles:
            handle.cancel()

    def check(self) -> None:
        """Raises RequestRefused when an answer did not come to its end."""
        for choice in self.choices:
            if choice.error is not None:
                raise failed_writing(choice.error)
            if choice.is_finished and not choice.is_complete:
                raise shutting_down()

    def whole(self) -> Json:
        """The reply when all choices are finished. Raises RequestRefused when one failed."""
        self.check()
        return self.reply.whole(self.choices)


class Desk:
    """Takes requests, as many as there is room for, and hands them to the engine."""

    def __init__(
        self,
        service: EngineService,
        prompts: PromptMaker,
        model: str,
        most_answers: int,
        on_finished: Callable[[Choice, ApiKey], None],
    ) -> None:
        """`model` is how the model is called, `most_answers` how many answers may be written or
        wait at once. `on_finished` is told each answer that ended, and for whom it was."""
        self.model = model
        self._service = service
        self._prompts = prompts
        self._most_answers = most_answers
        self._on_finished = on_finished
        self._running: set[Answering] = set()
        self._promised = 0
        """Answers to requests whose prompts are being made."""
        self._is_closing = False

    @property
    def answers(self) -> int:
        """Answers that are being written or wait."""
        return sum(not choice.is_finished for a in self._running for choice in a.choices)

    @property
    def is_well(self) -> bool:
        """Whether answers can be written."""
        return self._service.is_open

    def check_model(self, name: str | None) -> None:
        """Raises RequestRefused when it is not the model that is served."""
        if name is not None and name != self.model:
            raise RequestRefused(
                f"The model '{name[:_LONGEST_NAME]}' does not exist: this server has "
                f"'{self.model}'.",
                param="model",
                code="model_not_found",
                status=404,
            )

    async def take(self, asked: Asked) -> Answering:
        """Begins to answer; `done` must be called afterwards. Raises RequestRefused."""
        self._check_open()
        self.check_model(asked.wanted.model)
        wanted = asked.wanted.choices
        if not isinstance(asked, ChatRequest):
            wanted *= len(asked.prompts)
        self._check_room(wanted)
        self._promised += wanted
        try:
            # Long prompts and grammars take a while, which the other clients shall not notice.
            prompts = await asyncio.to_thread(self._prompts.prompts, asked)
            answering = self._answering(asked, prompts)
            await asyncio.to_thread(self._submit, answering, asked.wanted.logprobs)
        finally:
            self._promised -= wanted
        self._running.add(answering)
        return answering

    def _check_open(self) -> None:
        if self._is_closing:
            raise shutting_down()
        if not self.is_well:
            raise failed_inside()

    def _check_room(self, wanted: int) -> None:
        if self.answers + self._promised + wanted > self._most_answers:
            raise RequestRefused(
                "The server has as many requests as it can take: try again later.",
                kind="rate_limit_error",
                code="queue_full",
                status=429,
                retry_after=_RETRY_SECONDS,
            )

    def _answering(self, asked: Asked, prompts: Sequence[Prompt]) -> Answering:
        reply = Reply.to(asked, self.model, self._prompts.piece_of)
        return Answering(reply, Mailbox(choices_for(prompts, isinstance(asked, ChatRequest))))

    def _submit(self, answering: Answering, logprobs: int | None) -> None:
        try:
            for choice in answering.choices:
                request = Request(choice.prompt.tokens, choice.prompt.settings, logprobs)
                sink = functools.partial(answering.mailbox.put, choice.index)
                answering.handles.append(self._service.submit(request, sink))
        except UserError as error:
            answering.cancel()
            if isinstance(error, ServiceClosed):
                raise shutting_down() from error
            # What was not checked before is the grammar.
            raise RequestRefused(str(error), param="grammar", code="invalid_value") from error

    def done(self, answering: Answering, caller: ApiKey) -> None:
        """The client has its reply, or is gone: what is still being written is of no use."""
        answering.cancel()
        self._running.discard(answering)
        for choice in answering.choices:
            if choice.is_finished:
                self._on_finished(choice, caller)

    def close(self) -> None:
        """Nothing new is taken any more."""
        self._is_closing = True

    def cancel_all(self) -> None:
        """Ends all answers; their clients are told."""
        for answering in list(self._running):
            answering.cancel()
