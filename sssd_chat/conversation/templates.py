"""Messages to prompt tokens, by the model's own chat template.

A template is Jinja source that knows the model's control tokens. What a user typed must never
become one; see `user_text`.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sssd_chat.conversation.sandbox import SandboxedTemplate, TemplateRefused
from sssd_chat.conversation.user_text import UserText
from sssd_chat.errors import UserError
from sssd_chat.generation.tokenizer import Tokenizer

Role = Literal["system", "user", "assistant", "tool"]

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""Used for a model without a template whose vocabulary has the ChatML tokens."""

DIALOGUE = (
    "{% for message in messages %}"
    "{% if message.role == 'system' %}{{ message.content }}\n\n"
    "{% elif message.role == 'user' %}User: {{ message.content }}\n"
    "{% else %}Assistant: {{ message.content }}\n{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}Assistant:{% endif %}"
)
"""Used for a model without a template and without ChatML tokens."""

DIALOGUE_STOP = "\nUser:"
"""Ends an answer that DIALOGUE asked for."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chat."""

    role: Role
    content: str
    thinking: str = ""
    """What the model thought before its answer; the template decides whether to show it again."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A rendered conversation."""

    text: str
    """As rendered, control tokens of the users replaced by placeholders."""
    tokens: list[int]


class ChatTemplate:
    """Renders conversations for one model."""

    def __init__(
        self, source: str | None, tokenizer: Tokenizer, thinking: bool | None = None
    ) -> None:
        """`source` is the model's own template; None chooses a named default. `thinking` asks the
        model to think first, or not to, where the template can; None leaves it to the template.
        Raises UserError when the source is not valid Jinja."""
        self._tokenizer = tokenizer
        self.thinking = thinking
        """Whether the model is asked to think, see above; it may change between prompts."""
        self.stop: tuple[str, ...] = ()
        """Stop strings that the template itself calls for."""
        self.notice = ""
        """A sentence for the user when a default stands in."""
        if not source:
            source = self._default()
        self._marks = tokenizer.turn_marks(source)
        self.user_text = UserText(tokenizer, self._marks)
        try:
            self._template = SandboxedTemplate(source)
        except TemplateRefused as error:
            raise UserError(f"The model's chat template is broken: {error}.") from error

    def _default(self) -> str:
        if self._tokenizer.control_texts("<|im_start|>"):
            self.notice = "The model has no chat template: ChatML is used."
            return CHATML
        self.notice = (
            "The model has no chat template: a plain dialogue is used. It may be a base model, "
            "which continues texts better than it answers questions."
        )
        self.stop = (DIALOGUE_STOP,)
        return DIALOGUE

    def for_one_chat(self, thinking: bool | None) -> ChatTemplate:
        """The same template with no memory of the texts of other chats, for use in any thread."""
        own = copy.copy(self)
        own.user_text = UserText(self._tokenizer, self._marks)
        own.thinking = thinking
        return own

    def render(self, messages: Sequence[Message]) -> Prompt:
        """The prompt that asks for the next answer. Raises UserError when the template refuses
        the conversation."""
        text = self.render_text(messages)
        return Prompt(text, self.tokenize(text, start=True))

    def render_text(self, messages: Sequence[Message]) -> str:
        """Like render, without tokens.

        A conversation that the template does not take, or whose system prompt it leaves out, is
        put to it in other forms: messages of one role in a row joined, the system prompt in front
        of the first question, both.
        """
        protected = self._protected(messages)
        refusal: TemplateRefused | None = None
        for form in _forms(protected):
            try:
                text = self._fill(form)
            except TemplateRefused as error:
                refusal = refusal or error
                continue
            if _shows_all(text, form):
                return text
        reason = refusal or f"it leaves out {_left_out(protected)}"
        raise UserError(f"The model's chat template refuses this chat: {reason}.") from refusal

    def _protected(self, messages: Sequence[Message]) -> list[Message]:
        *earlier, last = messages or [Message("user", "")]
        protect, kept = self.user_text.protect, self.user_text.protect_kept
        protected = [
            replace(m, content=kept(m.content), thinking=kept(m.thinking)) for m in earlier
        ]
        return [*protected, replace(last, content=protect(last.content))]

    def _fill(self, messages: Sequence[Message]) -> str:
        variables: dict[str, object] = {
            "messages": [_as_dict(message) for message in messages],
            "add_generation_prompt": True,
            "bos_token": self._tokenizer.text_of(self._tokenizer.start),
            "eos_token": self._tokenizer.text_of(self._tokenizer.end),
            "tools": None,
            "documents": None,
        }
        if self.thinking is not None:
            variables["enable_thinking"] = self.thinking
        return self._template.fill(variables)

    def protect(self, text: str) -> str:
        """`text` with a placeholder for every written form of a control token."""
        return self.user_text.protect(text)

    def tokenize(self, text: str, *, start: bool) -> list[int]:
        """Tokens of rendered text. With `start` it is the beginning of a prompt, which gets the
        start token unless the template wrote it."""
        return self.user_text.tokenize(text, start=start)


def _as_dict(message: Message) -> dict[str, str]:
    result = {"role": message.role, "content": message.content}
    if message.thinking:
        result["reasoning_content"] = message.thinking
    return result


def _forms(messages: list[Message]) -> list[list[Message]]:
    """The conversation as it is, and in the forms that stricter templates take."""
    merged = _merged(messages)
    forms = [messages, merged]
    if messages[0].role == "system":
        forms += [_merged(_system_into_first_question(messages))]
    return [form for number, form in enumerate(forms) if form not in forms[:number]]


def _shows_all(text: str, messages: Sequence[Message]) -> bool:
    """Some templates drop a system prompt, or the results of tools, without a word."""
    droppable = (m for m in messages if m.role in ("system", "tool"))
    return all(m.content.strip() in text for m in droppable)


def _left_out(messages: Sequence[Message]) -> str:
    has_tools = any(message.role == "tool" for message in messages)
    return "the messages of tools" if has_tools else "the system prompt"


def _merged(messages: Sequence[Message]) -> list[Message]:
    """Messages of the same role in a row become one."""
    merged: list[Message] = []
    for _, run in itertools.groupby(messages, key=lambda message: message.role):
        *earlier, last = run
        if earlier:
            contents = (message.content for message in (*earlier, last))
            last = replace(last, content="\n\n".join(filter(None, contents)))
        merged.append(last)
    return merged


def _system_into_first_question(messages: Sequence[Message]) -> list[Message]:
    system, *rest = messages
    for number, message in enumerate(rest):
        if message.role == "user":
            joined = f"{system.content}\n\n{message.content}"
            return [*rest[:number], replace(message, content=joined), *rest[number + 1 :]]
    return [Message("user", system.content), *rest]
