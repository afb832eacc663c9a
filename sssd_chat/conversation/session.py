"""A chat tied to the engine: questions in, steps of answers out.

Synchronous, for one thread. The screen's backend runs it in the engine thread, the command line
calls it directly.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from sssd_chat.conversation.templates import ChatTemplate, Message
from sssd_chat.errors import UserError
from sssd_chat.generation.engine import (
    Conversation,
    Generation,
    GenerationSettings,
    PromptTooLong,
    Step,
)
from sssd_chat.generation.loading import LoadedEngine, State
from sssd_chat.generation.statistics import Drafting, StoppedBy

ReadProgress = Callable[[int, int], bool]
"""Called with (tokens read, tokens of the prompt); False stops the reading."""


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """What a chat asks with."""

    system: str = ""
    """The system prompt; empty for none."""
    generation: GenerationSettings = field(default_factory=GenerationSettings)


@dataclass(slots=True)
class _KnownText:
    """A prompt with its answer, as rendered and as the model saw it. While the next prompt begins
    with the text, its tokens are these, so nothing of it is read again."""

    text: str
    tokens: list[int]


class ChatSession:
    """One conversation with a model."""

    def __init__(self, loaded: LoadedEngine, settings: ChatSettings | None = None) -> None:
        """Raises UserError when the model's template is broken."""
        self.settings = settings or ChatSettings()
        self._loaded = loaded
        self._engine = loaded.engine
        self.template = ChatTemplate(loaded.model.chat_template, loaded.model.vocabulary)
        self.messages: list[Message] = []
        """Questions and answers so far."""
        self._conversation: Conversation[State] = self._engine.open(loaded.new_drafter())
        self._known: _KnownText | None = None

    @property
    def model_name(self) -> str:
        """The name of the model."""
        return self._loaded.model.name

    @property
    def drafting(self) -> Drafting:
        """Whether this model can be drafted for at all."""
        return Drafting.ON if self._loaded.target.can_verify_trees else Drafting.IMPOSSIBLE

    def close(self) -> None:
        """Takes the conversation out of the model's cache."""
        self._engine.close(self._conversation)

    def reset(self) -> None:
        """Begins an empty conversation; nothing of the old one stays in the drafts."""
        self._engine.close(self._conversation)
        self._conversation = self._engine.open(self._loaded.new_drafter())
        self.messages = []
        self._known = None

    def restore(self, turns: Sequence[tuple[str, str]]) -> None:
        """Goes on with an earlier chat, given as (role, text). A question that never got an answer
        stays out of later prompts: templates want questions and answers in turn."""
        for (role, text), (next_role, answer) in itertools.pairwise(turns):
            if role == "user" and next_role == "assistant":
                self.messages += [Message("user", text), Message("assistant", answer)]

    def prompt(self, question: str) -> list[int]:
        """The tokens of the conversation with a further question."""
        text = self.template.render_text(self._with(question))
        known = self._known
        if known is not None and text.startswith(known.text):
            return known.tokens + self.template.tokenize(text[len(known.text) :], start=False)
        return self.template.tokenize(text, start=True)

    def begin(self, question: str, on_progress: ReadProgress | None = None) -> Generation[State]:
        """Reads the question. It joins the conversation when the answer is finished.

        Raises UserError when it is empty or does not fit into the context.
        """
        if not question.strip():
            raise UserError("The question is empty.")
        tokens = self.prompt(question)
        if len(tokens) >= self._loaded.target.context_length:
            raise PromptTooLong(
                f"The conversation with this question has {len(tokens)} tokens, and the context "
                f"holds {self._loaded.target.context_length}: begin a new chat, shorten the "
                "question, or use a larger --ctx."
            )
        settings = self.settings.generation
        settings = replace(settings, stop=(*settings.stop, *self.template.stop))

        def progress(done: int) -> bool:
            return on_progress is None or on_progress(done, len(tokens))

        return self._engine.begin(self._conversation, tokens, settings, progress)

    def steps(self, generation: Generation[State]) -> Iterator[Step]:
        """The steps of the answer, one after the other, until it is finished."""
        while not generation.is_finished:
            yield from self._engine.step([generation])

    def cancel(self, generation: Generation[State]) -> str:
        """Stops an answer; what was written so far is kept."""
        return self._engine.cancel(generation)

    def finish(self, question: str, generation: Generation[State]) -> None:
        """Lets question and answer join the conversation, unless the answer was stopped before its
        first token."""
        if not generation.tokens:
            return
        prompt_text = self.template.render_text(self._with(question))
        self.messages += [Message("user", question), Message("assistant", generation.text)]
        self._known = self._as_known(prompt_text, generation)

    def _with(self, question: str) -> Sequence[Message]:
        system = [Message("system", self.settings.system)] if self.settings.system else []
        return [*system, *self.messages, Message("user", question)]

    def _as_known(self, prompt_text: str, generation: Generation[State]) -> _KnownText | None:
        """None when a stop string cut the text: its tokens say more than the chat keeps."""
        if generation.stopped_by is StoppedBy.STOP:
            return None
        tokens = generation.tokens
        if tokens and self._loaded.model.vocabulary.is_end_of_generation(tokens[-1]):
            # The template writes the end of the turn itself.
            tokens = tokens[:-1]
        text = prompt_text + self.template.protect(generation.text)
        return _KnownText(text, generation.prompt + tokens)
