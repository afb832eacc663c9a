"""The prompts of requests, as tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sssd_chat.conversation.completions.refusal import RequestRefused
from sssd_chat.conversation.completions.request import Asked, ChatRequest, CompletionRequest
from sssd_chat.conversation.templates import ChatTemplate
from sssd_chat.conversation.thinking import closed_thinking, opened_thinking
from sssd_chat.errors import UserError
from sssd_chat.generation.engine import GenerationSettings
from sssd_chat.generation.loading import LoadedEngine


@dataclass(frozen=True, slots=True)
class Prompt:
    """One answer to be written."""

    tokens: tuple[int, ...]
    settings: GenerationSettings
    opened: str = ""
    """The mark of a thinking block that the prompt leaves open, or empty."""


class PromptMaker:
    """Makes prompts for one model. May be used by several threads at once."""

    def __init__(self, loaded: LoadedEngine, context_length: int) -> None:
        """`context_length` is what one answer with its prompt may take, in tokens. Raises
        UserError when the model's template is broken."""
        self._vocabulary = loaded.model.vocabulary
        self._context_length = context_length
        self._template = ChatTemplate(loaded.model.chat_template, self._vocabulary)

    def piece_of(self, token: int) -> bytes:
        """The bytes of a token."""
        return self._vocabulary.piece(token)

    @property
    def notice(self) -> str:
        """What the user should know about the template; mostly empty."""
        return self._template.notice

    def prompts(self, asked: Asked) -> list[Prompt]:
        """The prompts of a request, one for each answer wanted: all of the first prompt, then all
        of the next. Raises RequestRefused."""
        self._check_biases(asked)
        is_chat = isinstance(asked, ChatRequest)
        texts = [self._chat(asked)] if isinstance(asked, ChatRequest) else self._continued(asked)
        for prompt in texts:
            self._check_length(prompt, "messages" if is_chat else "prompt")
        choices = range(asked.wanted.choices)
        return [_numbered(prompt, number) for prompt in texts for number in choices]

    def _chat(self, asked: ChatRequest) -> Prompt:
        # Each message takes a token at least. So many of them would be worked on for minutes, and
        # in vain.
        self._check_size(
            len(asked.messages), "messages", f"there are {len(asked.messages)} messages"
        )
        # A template of its own: what was protected in one chat is nothing to the next.
        template = self._template.for_one_chat(asked.thinking)
        try:
            text = template.render_text(asked.messages)
        except UserError as error:
            raise RequestRefused(str(error), param="messages", code="template_refused") from error
        opened = opened_thinking(text)
        settings = asked.wanted.generation
        if opened and settings.sampler.grammar:
            # The grammar is that of the answer; inside of thinking there would be no answer.
            text, opened = text + closed_thinking(opened), ""
        settings = replace(settings, stop=(*settings.stop, *template.stop))
        return Prompt(tuple(template.tokenize(text, start=True)), settings, opened)

    def _continued(self, asked: CompletionRequest) -> list[Prompt]:
        prompts = []
        for number, prompt in enumerate(asked.prompts):
            if isinstance(prompt, str):
                tokens = tuple(self._vocabulary.tokenize(prompt, add_start=True))
            else:
                self._check_tokens(prompt, number)
                tokens = prompt
            if not tokens:
                raise RequestRefused("The prompt is empty.", param="prompt", code="invalid_value")
            prompts.append(Prompt(tokens, asked.wanted.generation))
        return prompts

    def _check_tokens(self, tokens: Sequence[int], number: int) -> None:
        if not all(0 <= token < self._vocabulary.size for token in tokens):
            raise RequestRefused(
                f"'prompt[{number}]' holds a token that the vocabulary of "
                f"{self._vocabulary.size:,} does not have.",
                param="prompt",
                code="invalid_value",
            )

    def _check_biases(self, asked: Asked) -> None:
        for token, _ in asked.wanted.generation.sampler.logit_bias:
            if token >= self._vocabulary.size:
                raise RequestRefused(
                    f"Invalid value for 'logit_bias': the vocabulary has no token {token}.",
                    param="logit_bias",
                    code="invalid_value",
                )

    def _check_length(self, prompt: Prompt, param: str) -> None:
        size = len(prompt.tokens)
        self._check_size(size, param, f"the prompt has {size}, and the answer needs some, too")

    def _check_size(self, tokens: int, param: str, because: str) -> None:
        if tokens >= self._context_length:
            raise RequestRefused(
                f"This model's maximum context length is {self._context_length} tokens, but "
                f"{because}.",
                param=param,
                code="context_length_exceeded",
            )


def _numbered(prompt: Prompt, number: int) -> Prompt:
    """The same for another choice: with a seed of its own, or all choices would be alike."""
    sampler = prompt.settings.sampler
    if number == 0 or sampler.seed is None:
        return prompt
    numbered = replace(sampler, seed=sampler.seed + number)
    return replace(prompt, settings=replace(prompt.settings, sampler=numbered))
