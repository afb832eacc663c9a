"""A backend without a model: tests put events in and look at what the screen asked for."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Awaitable, Callable

from textual.pilot import Pilot

from sssd_chat.conversation.events import (
    AnswerDone,
    AnswerParameters,
    AnswerStatistics,
    AnswerStep,
    ChatOpened,
    Drafting,
    Event,
    ModelInfo,
    ModelLoading,
    ModelReady,
    PromptRead,
    QuestionKept,
    ShownTurn,
    Span,
    StepStatistics,
    StoppedBy,
)
from sssd_chat.generation.statistics import Count

MODEL = ModelInfo(
    name="Fake-135M-Instruct",
    path="/models/fake.gguf",
    description="llama 135M Q4_1",
    context_length=8192,
    threads=4,
    gpu=False,
    drafting=Drafting.ON,
)

PLAIN_STEP_SECONDS = 0.05
_DRAFTED_STEP_SECONDS = 0.0625
_SOURCES = ("conversation", "runner-ups", "datastore")


def shown_turn(
    role: str,
    text: str,
    complete: bool = True,
    model: str = "m",
    thinking: str = "",
    *,
    id: int | None = None,
    position: int = 0,
    siblings: int = 1,
    statistics: AnswerStatistics | None = None,
    spans: tuple[Span, ...] = (),
    created: float = 0.0,
) -> ShownTurn:
    """A turn of a chat that is opened."""
    return ShownTurn(
        id, role, text, thinking, complete, model, position, siblings, statistics, spans, created
    )


def opened(
    *turns: ShownTurn,
    chat: int | None = 1,
    title: str = "A chat",
    system: str = "",
    parameters: AnswerParameters | None = None,
    prompt: str = "",
) -> ChatOpened:
    """A chat with these turns, which are numbered from 1 where they have no number."""
    numbered = tuple(
        turn if turn.id is not None else dataclasses.replace(turn, id=number)
        for number, turn in enumerate(turns, 1)
    )
    return ChatOpened(chat, title, numbered, system, parameters or AnswerParameters(), prompt)


class FakeBackend:
    """Implements ChatBackend. Nothing happens by itself."""

    def __init__(self, model: ModelInfo | None = MODEL) -> None:
        self.asked: list[str] = []
        self.asked_instead: list[tuple[int, str]] = []
        self.regenerated: list[tuple[int, AnswerParameters | None]] = []
        self.continued: list[int] = []
        self.cancelled = 0
        self.verified = 0
        self.drafting: list[bool] = []
        self.new_chats = 0
        self.opened_chats: list[int] = []
        self.chosen_siblings: list[tuple[int, int]] = []
        self.deleted_turns: list[int] = []
        self.systems: list[str] = []
        self.parameters: list[AnswerParameters] = []
        self.loaded_models: list[str] = []
        self.drafts: list[str] = []
        self.saved_prompts: list[str] = []
        self.counted: list[str] = []
        self.attached: list[str] = []
        self.detached = 0
        self.started = False
        self.closed = False
        self.context_tokens = 0
        self._statistics = AnswerStatistics()
        self._events: list[Event] = []
        self._next_turn = 1000
        if model is not None:
            self.put(ModelLoading(1.0), ModelReady(model))

    def start(self) -> None:
        self.started = True

    def close(self) -> None:
        self.closed = True

    def events(self) -> list[Event]:
        if not self.started:
            return []
        taken, self._events = self._events, []
        return taken

    def send(self, text: str) -> None:
        self.asked.append(text)

    def ask_instead(self, turn: int, text: str) -> None:
        self.asked_instead.append((turn, text))

    def regenerate(self, turn: int, parameters: AnswerParameters | None = None) -> None:
        self.regenerated.append((turn, parameters))

    def continue_answer(self, turn: int) -> None:
        self.continued.append(turn)

    def cancel(self) -> None:
        self.cancelled += 1

    def verify(self) -> None:
        self.verified += 1

    def set_drafting(self, on: bool) -> None:
        self.drafting.append(on)

    def new_chat(self) -> None:
        self.new_chats += 1

    def open_chat(self, chat: int) -> None:
        self.opened_chats.append(chat)

    def choose_sibling(self, turn: int, step: int) -> None:
        self.chosen_siblings.append((turn, step))

    def delete_turn(self, turn: int) -> None:
        self.deleted_turns.append(turn)

    def set_system(self, text: str) -> None:
        self.systems.append(text)

    def set_parameters(self, parameters: AnswerParameters) -> None:
        self.parameters.append(parameters)

    def load_model(self, path: str) -> None:
        self.loaded_models.append(path)

    def draft(self, text: str) -> None:
        self.drafts.append(text)

    def save_prompt(self, text: str) -> None:
        self.saved_prompts.append(text)

    def count_tokens(self, text: str) -> None:
        self.counted.append(text)

    def attach(self, path: str) -> None:
        self.attached.append(path)

    def detach(self) -> None:
        self.detached += 1

    # What tests do

    def put(self, *events: Event) -> None:
        """Lets the screen see these events next."""
        self._events.extend(events)

    @property
    def idle(self) -> bool:
        """Whether the screen took all events."""
        return not self._events

    def read_prompt(self, done: int, total: int, reused: int = 0) -> None:
        self._statistics = AnswerStatistics(prompt_tokens=total, reused_tokens=reused)
        self.context_tokens = done
        self.put(PromptRead(done, total, reused))

    def step(
        self, text: str, emitted: int = 3, draft_size: int = 6, drafting: Drafting = Drafting.ON
    ) -> None:
        """A step that gave `emitted` tokens, all but one of them drafted."""
        accepted = emitted - 1 if draft_size else 0
        self.context_tokens += emitted
        by_source: dict[str, Count] = {}
        if draft_size:
            # The share of each source is fixed, so that pictures of the screen are too.
            source = _SOURCES[(0, 0, 1, 0, 1, 2)[self._statistics.steps % 6]]
            by_source[source] = Count(draft_size, accepted + 1, accepted)
        step = StepStatistics(
            emitted=emitted,
            draft_size=draft_size,
            tested=accepted + 1 if draft_size else 0,
            accepted=accepted,
            by_source=by_source,
            decode_seconds=_DRAFTED_STEP_SECONDS if draft_size else PLAIN_STEP_SECONDS,
            plain_seconds=emitted * PLAIN_STEP_SECONDS,
            context_tokens=self.context_tokens,
            drafting=drafting,
        )
        self._statistics.add(step)
        self.put(AnswerStep(text, step, copy.deepcopy(self._statistics)))

    def think(self, thinking: str) -> None:
        """A step whose token belongs to the thinking before the answer."""
        self.context_tokens += 1
        step = StepStatistics(emitted=1, context_tokens=self.context_tokens)
        self._statistics.add(step)
        self.put(AnswerStep("", step, copy.deepcopy(self._statistics), thinking))

    def keep_question(self, turn: int | None = None, position: int = 0, siblings: int = 1) -> int:
        """The question that was sent has its number now, which is returned."""
        if turn is None:
            turn, self._next_turn = self._next_turn, self._next_turn + 1
        self.put(QuestionKept(turn, position, siblings))
        return turn

    def finish(
        self,
        text: str,
        stopped_by: StoppedBy = StoppedBy.END,
        thinking: str = "",
        *,
        turn: int | None = None,
        position: int = 0,
        siblings: int = 1,
        spans: tuple[Span, ...] = (),
    ) -> None:
        if turn is None:
            turn, self._next_turn = self._next_turn, self._next_turn + 1
        statistics = copy.deepcopy(self._statistics)
        self.put(
            AnswerDone(text, stopped_by, statistics, thinking, turn, position, siblings, spans)
        )
        self._statistics = AnswerStatistics()

    def answer(self, text: str, stopped_by: StoppedBy = StoppedBy.END) -> None:
        """A whole answer, a few words a step."""
        self.read_prompt(60, 60, 20)
        self.stream(text)
        self.finish(text, stopped_by)

    def stream(self, text: str) -> None:
        """The steps of an answer without its end."""
        sizes = (2, 4, 1, 3, 6, 2, 1, 5)
        start = number = 0
        while start < len(text):
            emitted = sizes[number % len(sizes)]
            self.step(text[start : start + 4 * emitted], emitted)
            start += 4 * emitted
            number += 1


async def wait_until(
    pilot: Pilot[None], predicate: Callable[[], object | Awaitable[object]], seconds: float = 5.0
) -> None:
    """Lets the app run until `predicate` holds."""
    for _ in range(int(seconds / 0.02)):
        result = predicate()
        if isinstance(result, Awaitable):
            result = await result
        if result:
            return
        await pilot.pause(0.02)
    raise AssertionError(f"still not true after {seconds} s: {predicate}")
