"""A chat tied to the engine: questions in, steps of answers out.

Synchronous, for one thread. The screen's backend runs it in the engine thread, the command line
calls it directly.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from sssd_chat.conversation.context import turns_left_out
from sssd_chat.conversation.known_text import KnownText
from sssd_chat.conversation.read_ahead import certain_part, shared_tokens
from sssd_chat.conversation.state_cache import LEAST_TOKENS, KeptState, StateCache
from sssd_chat.conversation.templates import ChatTemplate, Message
from sssd_chat.conversation.thinking import (
    Parts,
    ThinkingSplitter,
    opened_thinking,
    split_thinking,
)
from sssd_chat.errors import UserError
from sssd_chat.generation.engine import Conversation, Generation, GenerationSettings
from sssd_chat.generation.loading import LoadedEngine, State
from sssd_chat.generation.statistics import Drafting, StepStatistics, StoppedBy

_MOST_CHARACTERS = 16
"""Of a token, on average: a longer draft will not fit, and counting its tokens takes time."""

ReadProgress = Callable[[int, int], bool]
"""Called with (tokens read, tokens of the prompt); False stops the reading."""


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """What a chat asks with, and what it may do meanwhile."""

    system: str = ""
    """The system prompt; empty for none."""
    generation: GenerationSettings = field(default_factory=GenerationSettings)
    thinking: bool | None = None
    """Whether the model is asked to think before it answers, where its template can ask for that;
    None leaves it to the template."""
    read_ahead: bool = True
    """Whether a question is read while it is typed."""
    read_ahead_on_battery: bool = False
    """Whether that is done on battery power, too."""
    state_cache_megabytes: int = 1024
    """Disk space for the KV states of chats that were left; 0 keeps none."""


@dataclass(slots=True)
class AnswerPart:
    """What one step added to an answer."""

    text: str
    """What became final of the answer itself."""
    thinking: str
    """What became final of the thinking before it."""
    tokens: list[int]
    statistics: StepStatistics


@dataclass(slots=True)
class _Asked:
    """The question being answered."""

    prompt: KnownText
    opened: str
    """The mark of a thinking block that the prompt leaves open, or empty."""
    splitter: ThinkingSplitter


class ChatSession:
    """One conversation with a model."""

    def __init__(self, loaded: LoadedEngine, settings: ChatSettings | None = None) -> None:
        """Raises UserError when the model's template is broken."""
        self.settings = settings or ChatSettings()
        self._loaded = loaded
        self._engine = loaded.engine
        model = loaded.model
        self.template = ChatTemplate(
            model.chat_template, model.vocabulary, thinking=self.settings.thinking
        )
        self.messages: list[Message] = []
        """Questions and answers so far, in turn."""
        self.turns_left_out = 0
        """The oldest turns (a question and its answer each) that are no longer in the prompt,
        because they do not fit into the context."""
        self._conversation: Conversation[State] = self._engine.open(loaded.new_drafter())
        self._known = KnownText()
        self._asked = _Asked(KnownText(), "", ThinkingSplitter())
        self._kept: tuple[int, ...] = ()

    @property
    def model_name(self) -> str:
        """The name of the model."""
        return self._loaded.model.name

    @property
    def drafting(self) -> Drafting:
        """Whether this model can be drafted for at all."""
        return Drafting.ON if self._loaded.target.shape.can_draft else Drafting.IMPOSSIBLE

    @property
    def context_tokens(self) -> int:
        """Tokens of the conversation that are in the model's cache."""
        return len(self._conversation.state.tokens)

    def close(self) -> None:
        """Takes the conversation out of the model's cache."""
        self._engine.close(self._conversation)

    def reset(self) -> None:
        """Begins an empty conversation; nothing of the old one stays in the drafts."""
        self._engine.close(self._conversation)
        self._conversation = self._engine.open(self._loaded.new_drafter())
        self.messages = []
        self.turns_left_out = 0
        self._known = KnownText()
        self._kept = ()

    def restore(self, turns: Sequence[tuple[str, str]]) -> None:
        """Goes on with an earlier chat, given as (role, text). A question that never got an answer
        stays out of later prompts: templates want questions and answers in turn."""
        for (role, text), (next_role, answer) in itertools.pairwise(turns):
            parts = split_thinking(answer)
            if role == "user" and next_role == "assistant" and (parts.text or parts.thinking):
                self.messages += [
                    Message("user", text),
                    Message("assistant", parts.text, parts.thinking),
                ]

    # Prompts

    def prompt(self, question: str) -> list[int]:
        """The tokens of the conversation with a further question. Raises UserError when it does
        not fit into the context."""
        return list(self._fitting(question)[1].tokens)

    def _fitting(self, question: str) -> tuple[int, KnownText]:
        """How many turns are left out, and the prompt without them."""
        prompts: dict[int, KnownText] = {}

        def prompt(left_out: int) -> KnownText:
            if left_out not in prompts:
                prompts[left_out] = self._rendered(left_out, question)
            return prompts[left_out]

        left_out = turns_left_out(
            lambda count: len(prompt(count).tokens),
            len(self.messages) // 2,
            self.turns_left_out,
            self._loaded.target.context_length,
            self.settings.generation.max_tokens,
        )
        return left_out, prompt(left_out)

    def _rendered(self, left_out: int, question: str) -> KnownText:
        system = [Message("system", self.settings.system)] if self.settings.system else []
        kept = self.messages[2 * left_out :]
        text = self.template.render_text([*system, *kept, Message("user", question)])
        return self._known.rendered(
            text, lambda rest, start: self.template.tokenize(rest, start=start)
        )

    def read_ahead(self, draft: str, keep_going: Callable[[], bool]) -> int:
        """Reads what is certain of the next prompt while `draft` is typed, between two answers.
        `keep_going` is asked before each chunk of the prompt. Returns the tokens that need not be
        read any more when the question comes; the answer is the same with and without."""
        target = self._loaded.target
        if len(draft) > _MOST_CHARACTERS * target.context_length:
            return 0
        if not target.can_rewind:
            # What was read of a draft could not be taken back when the draft changes.
            draft = ""
        try:
            ends_here = self._fitting(certain_part(draft))[1]
            goes_on = self._fitting(f"{draft}.")[1]
        except UserError:
            return 0
        tokens = shared_tokens(ends_here.tokens, goes_on.tokens)
        return self._engine.read_ahead(self._conversation, tokens, keep_going)

    # Answers

    def begin(self, question: str, on_progress: ReadProgress | None = None) -> Generation[State]:
        """Reads the question. It joins the conversation when the answer is finished.

        Raises UserError when it is empty, and PromptTooLong when it does not fit into the context
        even without the turns before it.
        """
        if not question.strip():
            raise UserError("The question is empty.")
        self.turns_left_out, prompt = self._fitting(question)
        opened = opened_thinking(prompt.text)
        self._asked = _Asked(prompt, opened, ThinkingSplitter(opened))
        settings = self.settings.generation
        settings = replace(settings, stop=(*settings.stop, *self.template.stop))
        total = len(prompt.tokens)

        def progress(done: int) -> bool:
            return on_progress is None or on_progress(done, total)

        return self._engine.begin(self._conversation, prompt.tokens, settings, progress)

    def steps(self, generation: Generation[State]) -> Iterator[AnswerPart]:
        """What each step adds to the answer, one after the other, until it is finished."""
        splitter = self._asked.splitter
        while not generation.is_finished:
            for step in self._engine.step([generation]):
                parts = splitter.feed(step.text)
                if generation.is_finished:
                    parts += splitter.finish()
                yield AnswerPart(parts.text, parts.thinking, step.tokens, step.statistics)

    def cancel(self, generation: Generation[State]) -> Parts:
        """Stops an answer; what was written so far is kept. Returns what had been held back."""
        splitter = self._asked.splitter
        return splitter.feed(self._engine.cancel(generation)) + splitter.finish()

    def answer(self, generation: Generation[State]) -> Parts:
        """The answer so far, thinking and text."""
        return split_thinking(generation.text, self._asked.opened)

    def written(self, generation: Generation[State]) -> str:
        """The answer so far as it is to be kept: as the model wrote it, with the mark that begins
        its thinking also where the prompt wrote that."""
        opened, text = self._asked.opened, generation.text
        if not opened or not text or text.lstrip().startswith(opened):
            return text
        return f"{opened}\n{text}"

    def finish(self, question: str, generation: Generation[State]) -> None:
        """Lets question and answer join the conversation, unless the answer was stopped before its
        first token."""
        if not generation.tokens:
            return
        parts = self.answer(generation)
        self.messages += [
            Message("user", question),
            Message("assistant", parts.text, parts.thinking),
        ]
        self._known = self._asked.prompt
        if generation.stopped_by is StoppedBy.STOP:
            # The stop string was cut off the text, and the tokens say more than the chat keeps.
            return
        tokens = generation.tokens
        if self._loaded.model.vocabulary.is_end_of_generation(tokens[-1]):
            # The template writes the end of the turn itself.
            tokens = tokens[:-1]
        self._known = self._known.followed_by(self.template.protect(generation.text), tokens)

    # The state of a chat that is left, and opened again

    def keep_state(self, states: StateCache, chat: int) -> None:
        """Keeps the KV state of the conversation for the next time that the chat is opened, unless
        it is so short that reading it again takes no time. Call it when the chat is left: what was
        read ahead is given up."""
        target, sequence = self._loaded.target, self._conversation.state
        known = self._known
        if target.can_rewind:
            # A draft that was never sent is not kept.
            target.rewind(sequence, len(shared_tokens(sequence.tokens, known.tokens)))
        else:
            # Only the whole state can be taken up again, so all of it must be of use.
            target.rewind(sequence, self._shared_with_next_prompt(sequence.tokens))
        tokens = tuple(sequence.tokens)
        if len(tokens) < LEAST_TOKENS or tokens == self._kept:
            return
        if not states.has_room_for(target.state_size(sequence)):
            return
        placeholders = dict(self.template.user_text.placeholders)
        states.store(
            KeptState(
                self._loaded.state_key,
                chat,
                self.turns_left_out,
                known,
                placeholders,
                tokens,
                target.save_state(sequence),
            )
        )
        self._kept = tokens

    def resume_state(self, states: StateCache, chat: int) -> int:
        """Takes the KV state of a chat that was restored from the cache, if there is one that
        agrees with it; returns the tokens that need not be read again."""
        kept = states.find(self._loaded.state_key, chat)
        if kept is None or kept.turns_left_out > len(self.messages) // 2:
            return 0
        self._known = kept.known.with_text(self._own_placeholders(kept))
        self.turns_left_out = kept.turns_left_out
        target, sequence = self._loaded.target, self._conversation.state
        shared = self._shared_with_next_prompt(kept.tokens)
        useful = shared == len(kept.tokens) or (target.can_rewind and shared >= LEAST_TOKENS)
        if not useful or not target.load_state(sequence, kept.tokens, kept.data):
            self._known = KnownText()
            self.turns_left_out = 0
            return 0
        self._kept = kept.tokens
        return shared

    def _own_placeholders(self, kept: KeptState) -> str:
        own = self.template.user_text.placeholder
        table = {ord(mark): own(form) for form, mark in kept.placeholders.items()}
        return kept.known.text.translate(table)

    def _shared_with_next_prompt(self, tokens: Sequence[int]) -> int:
        try:
            prompt = self._rendered(self.turns_left_out, "?").tokens
        except UserError:
            return 0
        return len(shared_tokens(tokens, prompt))
