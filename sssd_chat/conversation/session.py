"""A chat tied to the engine: questions in, steps of answers out.

Synchronous, for one thread. The screen's backend runs it in the engine thread, the command line
calls it directly.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from sssd_chat.conversation.asked import AnswerPart, Asked
from sssd_chat.conversation.history.origins import StoredSpan
from sssd_chat.conversation.known_text import KnownText
from sssd_chat.conversation.prompts import ChatPrompts, ReadProgress, without_mark
from sssd_chat.conversation.provenance import SpanTracker
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
from sssd_chat.generation.statistics import Drafting, StoppedBy

_LARGEST_ASIDE = 1_000_000_000
"""Bytes of a state that is kept in memory for a moment."""
_MOST_CHARACTERS = 16
"""Of a token, on average: a longer draft will not fit, and counting its tokens takes time."""


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
        self._prompts = ChatPrompts(self.template, loaded.target.context_length)
        self._prompts.system = self.settings.system
        self._conversation: Conversation[State] = self._engine.open(loaded.new_drafter())
        self._asked = Asked(KnownText())
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
    def messages(self) -> list[Message]:
        """Questions and answers so far, in turn."""
        return self._prompts.messages

    @property
    def turns_left_out(self) -> int:
        """The oldest turns that are no longer in the prompt, see `ChatPrompts`."""
        return self._prompts.turns_left_out

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
        self._prompts.clear()
        self._asked = Asked(KnownText())
        self._kept = ()

    def restore(self, turns: Sequence[tuple[str, str]]) -> None:
        """Goes on with an earlier chat, given as (role, text). A question that never got an answer
        stays out of later prompts: templates want questions and answers in turn."""
        for (role, text), (next_role, answer) in itertools.pairwise(turns):
            parts = split_thinking(answer)
            if role == "user" and next_role == "assistant" and (parts.text or parts.thinking):
                self._prompts.messages += [
                    Message("user", text),
                    Message("assistant", parts.text, parts.thinking),
                ]

    def follow(self, messages: Sequence[Message]) -> None:
        """Goes on with these questions and answers in turn, of another branch perhaps. What they
        share with those so far need not be read again."""
        self._prompts.follow(messages)

    def change(self, settings: ChatSettings) -> None:
        """The settings of the next answer."""
        self.settings = settings
        self._prompts.system = settings.system
        self.template.thinking = settings.thinking

    def forget_rest(self) -> None:
        """Takes what is not in the messages any more out of the model's cache and the drafts."""
        target, sequence = self._loaded.target, self._conversation.state
        try:
            prompt = self._prompts.next_prompt()
        except UserError:
            prompt = KnownText()
        target.rewind(sequence, len(shared_tokens(sequence.tokens, prompt.tokens)))
        self._prompts.forget_beyond(prompt.text)
        self._asked = Asked(KnownText())
        self._conversation.drafter = self._loaded.new_drafter()
        self._kept = ()

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """Inside, the conversation is out of the model's cache, so that another one has room; then
        it is there again, without being read again unless it is very long."""
        target, conversation = self._loaded.target, self._conversation
        sequence = conversation.state
        tokens, state = list(sequence.tokens), None
        if tokens and target.state_size(sequence) <= _LARGEST_ASIDE:
            state = target.save_state(sequence)
        self._engine.close(conversation)
        try:
            yield
        finally:
            fresh = self._engine.open(conversation.drafter)
            if state:
                target.load_state(fresh.state, tokens, state)
            self._conversation = fresh

    # Prompts

    def prompt(self, question: str) -> list[int]:
        """The tokens of the conversation with a further question. Raises UserError when it does
        not fit into the context."""
        return list(self._fitting(question).tokens)

    def _fitting(self, question: str) -> KnownText:
        return self._prompts.fitting(question, self.settings.generation.max_tokens)[1]

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
            ends_here = self._fitting(certain_part(draft))
            goes_on = self._fitting(f"{draft}.")
        except UserError:
            return 0
        tokens = shared_tokens(ends_here.tokens, goes_on.tokens)
        return self._engine.read_ahead(self._conversation, tokens, keep_going)

    # Answers

    def begin(
        self,
        question: str,
        on_progress: ReadProgress | None = None,
        *,
        written: str = "",
    ) -> Generation[State]:
        """Reads the question. It joins the conversation when the answer is finished. With what was
        `written` of an answer to it already, that goes on.

        Raises UserError when it is empty, and PromptTooLong when it does not fit into the context
        even without the turns before it.
        """
        if not question.strip():
            raise UserError("The question is empty.")
        settings = self.settings.generation
        prompts = self._prompts
        prompts.turns_left_out, prompt = prompts.fitting(question, settings.max_tokens, written)
        self._asked = asked = self._asked_with(prompt, question, written)
        settings = replace(settings, stop=(*settings.stop, *self.template.stop))
        total = len(prompt.tokens)

        def progress(done: int) -> bool:
            return on_progress is None or on_progress(done, total)

        generation = self._engine.begin(self._conversation, prompt.tokens, settings, progress)
        for token in asked.begun_tokens:
            # The last character may be incomplete, and penalties count them all.
            generation.decoder.feed(self._loaded.model.vocabulary.piece(token))
            generation.sampler.accept(token)
        return generation

    def _asked_with(self, prompt: KnownText, question: str, written: str) -> Asked:
        if not written:
            opened = opened_thinking(prompt.text)
            asked = Asked(prompt, opened, splitter=ThinkingSplitter(opened))
        else:
            before = self._prompts.rendered(self.turns_left_out, question)
            opened = opened_thinking(before.text)
            begun = without_mark(written, opened)
            tokens = prompt.tokens[len(before.tokens) :]
            asked = Asked(prompt, opened, begun, tokens, ThinkingSplitter(opened))
            asked.feed(asked.splitter.feed(begun), len(begun))
        asked.spans = SpanTracker(self._loaded.model.vocabulary.piece, asked.begun)
        asked.spans.prime(asked.begun_tokens)
        return asked

    def steps(self, generation: Generation[State]) -> Iterator[AnswerPart]:
        """What each step adds to the answer, one after the other, until it is finished."""
        asked = self._asked
        while not generation.is_finished:
            for step in self._engine.step([generation]):
                parts = asked.splitter.feed(step.text)
                if generation.is_finished:
                    parts += asked.splitter.finish()
                asked.feed(parts, len(step.text))
                spans = self._spans(generation, step.tokens)
                yield AnswerPart(parts.text, parts.thinking, step.tokens, step.statistics, spans)

    def _spans(
        self, generation: Generation[State], tokens: Sequence[int]
    ) -> tuple[StoredSpan, ...]:
        asked = self._asked
        assert asked.spans is not None
        return asked.spans.feed(tokens, generation.drafted, asked.written, asked.text)

    def cancel(self, generation: Generation[State]) -> Parts:
        """Stops an answer; what was written so far is kept. Returns what had been held back."""
        asked = self._asked
        held = self._engine.cancel(generation)
        parts = asked.splitter.feed(held) + asked.splitter.finish()
        asked.feed(parts, len(held))
        return parts

    def answer(self, generation: Generation[State]) -> Parts:
        """The answer so far, thinking and text."""
        return split_thinking(self._asked.begun + generation.text, self._asked.opened)

    def tokens(self, generation: Generation[State]) -> list[int]:
        """The tokens of the answer so far."""
        return [*self._asked.begun_tokens, *generation.tokens]

    def spans(self, generation: Generation[State]) -> tuple[StoredSpan, ...]:
        """What of the answer was drafted since it began or went on, with the documents that it
        came from. Not for the time between two steps."""
        self._spans(generation, ())
        assert self._asked.spans is not None
        return self._asked.spans.all_spans(generation.drafted)

    def written(self, generation: Generation[State]) -> str:
        """The answer so far as it is to be kept: as the model wrote it, with the mark that begins
        its thinking also where the prompt wrote that."""
        opened, text = self._asked.opened, self._asked.begun + generation.text
        if not opened or not text or text.lstrip().startswith(opened):
            return text
        return f"{opened}\n{text}"

    def finish(self, question: str, generation: Generation[State]) -> None:
        """Lets question and answer join the conversation, unless the answer was stopped before its
        first token."""
        if not self.tokens(generation):
            return
        parts = self.answer(generation)
        self._prompts.messages += [
            Message("user", question),
            Message("assistant", parts.text, parts.thinking),
        ]
        prompt, tokens = self._asked.prompt, generation.tokens
        if generation.stopped_by is StoppedBy.STOP:
            # The stop string was cut off the text, and the tokens say more than the chat keeps.
            self._prompts.learn(prompt)
            return
        if tokens and self._loaded.model.vocabulary.is_end_of_generation(tokens[-1]):
            # The template writes the end of the turn itself.
            tokens = tokens[:-1]
        text = self.template.protect(generation.text)
        self._prompts.learn(prompt.followed_by(text, tokens))

    # The state of a chat that is left, and opened again

    def keep_state(self, states: StateCache, chat: int) -> None:
        """Keeps the KV state of the conversation for the next time that the chat is opened, unless
        it is so short that reading it again takes no time. Call it when the chat is left: what was
        read ahead is given up."""
        target, sequence = self._loaded.target, self._conversation.state
        known = self._prompts.known
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
        self._prompts.known = kept.known.with_text(self._own_placeholders(kept))
        self._prompts.turns_left_out = kept.turns_left_out
        target, sequence = self._loaded.target, self._conversation.state
        shared = self._shared_with_next_prompt(kept.tokens)
        useful = shared == len(kept.tokens) or (target.can_rewind and shared >= LEAST_TOKENS)
        if not useful or not target.load_state(sequence, kept.tokens, kept.data):
            self._prompts.known = KnownText()
            self._prompts.turns_left_out = 0
            return 0
        self._kept = kept.tokens
        return shared

    def _own_placeholders(self, kept: KeptState) -> str:
        own = self.template.user_text.placeholder
        table = {ord(mark): own(form) for form, mark in kept.placeholders.items()}
        return kept.known.text.translate(table)

    def _shared_with_next_prompt(self, tokens: Sequence[int]) -> int:
        try:
            prompt = self._prompts.next_prompt().tokens
        except UserError:
            return 0
        return len(shared_tokens(tokens, prompt))
