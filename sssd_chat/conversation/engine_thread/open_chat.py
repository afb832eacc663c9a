"""The chat on the screen: its turns in memory, and what is kept of it."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sssd_chat.conversation.events import ChatOpened, Event, Notice, TitleChanged
from sssd_chat.conversation.history import ChatRecorder, TurnRecord
from sssd_chat.conversation.history.origins import StoredSpan, packed_spans, unpacked_spans
from sssd_chat.conversation.history.particulars import read_statistics
from sssd_chat.conversation.naming import Names
from sssd_chat.conversation.parameters import read_parameters, written_parameters
from sssd_chat.conversation.shown import AnswerParameters, ShownTurn
from sssd_chat.conversation.tree import ChatTree, Turn
from sssd_chat.errors import UserError
from sssd_chat.generation.statistics import AnswerStatistics

if TYPE_CHECKING:
    from sssd_chat.conversation.history.recorder import OpenedChat
    from sssd_chat.conversation.templates import Message

_NONE_KEPT = (
    "No chat can be opened, since none is kept: allow it with `sssd-chat config set history.keep "
    "true`."
)
_GONE = "This part of the chat is not there any more."


@dataclass(frozen=True, slots=True)
class WrittenAnswer:
    """An answer as it is now."""

    text: str
    """As the model wrote it, thinking included."""
    tokens: list[int]
    status: str
    """As in the history."""
    parameters: str
    """A JSON object."""
    statistics: AnswerStatistics
    statistics_text: str
    """The same as a JSON object."""
    spans: tuple[StoredSpan, ...] = ()


class ScreenChat:
    """For the engine thread. Everything works without a history as well, for as long as the program
    runs: turns that are not kept have numbers below zero."""

    def __init__(
        self,
        recorder: ChatRecorder | None,
        emit: Callable[[Event], None],
        system: str | None = None,
    ) -> None:
        """The recorder keeps the chat; None keeps nothing. `system` goes before the system prompt
        of the chat that goes on."""
        self.tree = ChatTree()
        self.title = ""
        self.system: str | None = system
        """The system prompt; None for that of the settings."""
        self.parameters = AnswerParameters()
        self.names = Names()
        self._recorder = recorder
        self._emit = emit
        self._default_system = ""
        self._unkept = itertools.count(-1, -1)
        self._told_problem = False

    @property
    def recorder(self) -> ChatRecorder | None:
        """What keeps it."""
        return self._recorder

    @property
    def number(self) -> int | None:
        """Its number; None when it is not kept (yet)."""
        return None if self._recorder is None else self._recorder.chat

    # Which chat it is

    def open_first(self, default_system: Callable[[], str]) -> None:
        """Opens the chat that goes on, or an empty one; `default_system` is the system prompt of a
        new one. Raises NoSuchChat."""
        opened = None if self._recorder is None else self._recorder.opened()
        self.tell_problem()
        wanted = self.system
        if opened is not None:
            self._take(opened)
            self.system = wanted if wanted is not None else self.system
            self.show(opened.prompt)
            self._default_system = default_system()
            return
        self._default_system = default_system()
        self.show("" if self._recorder is None else self._recorder.new_prompt())

    def read(self, chat: int) -> OpenedChat:
        """Another chat, not gone on with yet. Raises UserError when that is not possible."""
        if self._recorder is None:
            raise UserError(_NONE_KEPT)
        opened = self._recorder.read(chat)
        if opened is None:
            raise UserError(self._recorder.problem)
        return opened

    def enter(self, opened: OpenedChat) -> None:
        """Goes on with this chat. The old one is left."""
        assert self._recorder is not None
        self._recorder.go_on_with(opened)
        self._take(opened)
        self.show(opened.prompt)

    def begin_anew(self) -> None:
        """Begins an empty chat. The old one is left."""
        if self._recorder is not None:
            self._recorder.new_chat()
        self._clear()
        self.show("" if self._recorder is None else self._recorder.new_prompt())

    def _clear(self) -> None:
        self.tree = ChatTree()
        self.title, self.system, self.parameters = "", None, AnswerParameters()
        self.names.forget()

    def _take(self, opened: OpenedChat) -> None:
        self._clear()
        self.title, self.system = opened.summary.title, opened.summary.system
        self.parameters = read_parameters(opened.summary.parameters)
        for record in opened.turns:
            self.tree.add(_turn_of(record))
        self.tree.leaf = opened.leaf

    def has_lost(self) -> bool:
        """Whether the chat, or a turn of its branch, was deleted by somebody else meanwhile."""
        if self._recorder is None or self.number is None:
            return False
        return self._recorder.lost([turn.id for turn in self.tree.branch() if turn.id >= 0])

    # What is shown of it

    def show(self, prompt: str | None = None) -> None:
        """Tells the screen to show exactly this."""
        if prompt is None:
            prompt = ""
        self._emit(
            ChatOpened(
                self.number,
                self.title,
                tuple(map(self._shown, self.tree.branch())),
                self.system_prompt,
                self.parameters,
                prompt,
            )
        )

    def _shown(self, turn: Turn) -> ShownTurn:
        position, siblings = self.place_of(turn.id)
        return ShownTurn(
            turn.id,
            turn.role,
            turn.parts.text,
            turn.parts.thinking,
            turn.status == "done",
            turn.model,
            position,
            siblings,
            turn.statistics,
            self.names.named(turn.spans),
            turn.created,
            read_parameters(turn.parameters),
        )

    def place_of(self, turn: int) -> tuple[int, int]:
        """The position of a turn among its siblings, and how many there are."""
        siblings = self.tree.siblings(turn)
        return siblings.index(turn), len(siblings)

    @property
    def system_prompt(self) -> str:
        """The system prompt in use."""
        return self._default_system if self.system is None else self.system

    def messages(self, before: int | None) -> list[Message]:
        """Questions and answers in turn, before a question (None: all). A question that never got
        an answer stays out: templates want questions and answers in turn."""
        from sssd_chat.conversation.templates import Message

        branch = self.tree.branch() if before is None else self.tree.branch(before)[:-1]
        messages: list[Message] = []
        for question, answer in itertools.pairwise(branch):
            if (question.role, answer.role) == ("user", "assistant") and not answer.is_empty:
                parts = answer.parts
                messages += [
                    Message("user", question.written),
                    Message("assistant", parts.text, parts.thinking),
                ]
        return messages

    def find(self, turn: int, role: str | None = None) -> Turn:
        """A turn by its number. Raises UserError when it is not there, or of another role."""
        if turn not in self.tree or role not in (None, self.tree[turn].role):
            raise UserError(_GONE)
        return self.tree[turn]

    # Changing it

    def ask(self, parent: int | None, text: str, model: str, fingerprint: str) -> Turn:
        """Adds a question after a turn; returns when it is on the disk, or is not to be."""
        number = None
        if self._recorder is not None:
            is_new = self._recorder.chat is None
            self._recorder.follow(self._kept(parent))
            number = self._recorder.question(text, self.system_prompt, model, fingerprint)
            self.tell_problem()
            if is_new and number is not None:
                self._begun()
        turn = Turn(self._number(number), parent, "user", text, "done", model, time.time())
        self.tree.add(turn)
        return turn

    def _begun(self) -> None:
        """The chat has a number now."""
        assert self._recorder is not None and self._recorder.chat is not None
        if self.parameters != AnswerParameters():
            self._recorder.keep_parameters(written_parameters(self.parameters))
        self.title = self._recorder.title()
        self._emit(TitleChanged(self._recorder.chat, self.title))

    def begin_answer(self, question: int, answer: Turn | None, model: str, vocabulary: str) -> None:
        """An answer to the question comes next, or more of one that is there. `vocabulary` is the
        fingerprint."""
        if self._recorder is not None and question >= 0:
            self._recorder.follow(question, model, vocabulary)
            if answer is not None and answer.id >= 0:
                self._recorder.go_on_writing(answer.id)

    def checkpoint(self, question: int, answer: Turn | None, written: WrittenAnswer) -> None:
        """Keeps an answer as it is now; returns at once."""
        self._write(question, answer, written)

    def finish_answer(
        self, question: int, answer: Turn | None, written: WrittenAnswer, model: str
    ) -> Turn:
        """Adds an answer to the question, or more of one that is there; returns when it is on the
        disk, or is not to be."""
        kept = self._write(question, answer, written)
        number = None if kept is None else kept.result()
        self.tell_problem()
        if answer is None:
            number = self._number(number)
            answer = Turn(number, question, "assistant", "", model=model, created=time.time())
            self.tree.add(answer)
        answer.write(written.text)
        answer.status = written.status
        answer.parameters = written.parameters
        answer.statistics = written.statistics
        answer.spans = written.spans
        return answer

    def _write(
        self, question: int, answer: Turn | None, written: WrittenAnswer
    ) -> Future[int | None] | None:
        if self._recorder is None or question < 0 or (answer is not None and answer.id < 0):
            return None
        return self._recorder.answer(
            written.text,
            written.tokens,
            written.status,
            written.parameters,
            written.statistics_text,
            packed_spans(written.spans),
        )

    def go_to(self, leaf: int | None) -> None:
        """The chat goes on after this turn."""
        self.tree.leaf = leaf

    def choose(self, turn: int) -> None:
        """The chat goes on with the newest branch of a turn, also when it is opened again."""
        self.tree.choose(turn)
        if self._recorder is not None and self.tree.leaf is not None:
            kept = self._kept(self.tree.leaf)
            if kept is not None:
                self._recorder.choose(kept)

    def delete(self, turn: int) -> list[int]:
        """Takes out a turn and all that follow it; returns the numbers of those that were kept.
        Raises UserError, and then nothing is taken out."""
        doomed = [number for number in self.tree.below(turn) if number >= 0]
        if doomed and self._recorder is not None:
            deleted = self._recorder.delete_turns(doomed)
            if deleted is None:
                raise UserError(f"Nothing was deleted. {self._recorder.problem}")
            doomed = deleted
        self.tree.remove(turn)
        return doomed

    def set_system(self, text: str) -> None:
        """Gives the chat another system prompt."""
        self.system = text
        if self._recorder is not None:
            self._recorder.keep_system(text)

    def set_parameters(self, parameters: AnswerParameters) -> None:
        """How its answers are written from now on."""
        self.parameters = parameters
        if self._recorder is not None:
            self._recorder.keep_parameters(written_parameters(parameters))

    def _kept(self, turn: int | None) -> int | None:
        """The last turn up to this one that is in the history."""
        while turn is not None and turn < 0:
            turn = self.tree[turn].parent
        return turn

    def _number(self, kept: int | None) -> int:
        return next(self._unkept) if kept is None else kept

    def tell_problem(self) -> None:
        """Says once that the chat is not kept: it goes on all the same."""
        problem = "" if self._recorder is None else self._recorder.problem
        if problem and not self._told_problem:
            self._told_problem = True
            self._emit(Notice(problem, "warning"))


def _turn_of(record: TurnRecord) -> Turn:
    return Turn(
        record.id,
        record.parent,
        record.role,
        record.text,
        record.status,
        record.model,
        record.created,
        read_statistics(record.statistics),
        unpacked_spans(record.spans),
        record.parameters if record.role == "assistant" else "",
    )
