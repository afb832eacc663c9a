"""Random commands, against a simple model of what a chat is: the screen, the history and the
session say the same after each of them."""

from __future__ import annotations

import contextlib
import itertools
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sssd_chat.conversation.engine_thread import EngineThread
from sssd_chat.conversation.engine_thread.running import Running
from sssd_chat.conversation.events import (
    AnswerDone,
    ChatOpened,
    Event,
    ModelReady,
    Notice,
    QuestionKept,
    TitleChanged,
    TurnDeleted,
)
from sssd_chat.conversation.history import ChatRecorder, History
from sssd_chat.conversation.session import ChatSession, ChatSettings
from sssd_chat.generation.engine import GenerationSettings
from sssd_chat.generation.loading import EngineSettings
from tests.tiny_models import CHATML_TEMPLATE, tiny_model

WORDS = ["the", "cat", "and", "a", "dog", "saw", "one", "old", "bird"]


@dataclass
class Chat:
    """What a chat is: turns that follow each other, and the one that goes on."""

    turns: dict[int, tuple[int | None, str, str]] = field(default_factory=dict)
    """Parent, role and text, oldest first."""
    leaf: int | None = None

    def branch(self) -> list[int]:
        found: list[int] = []
        turn = self.leaf
        while turn is not None:
            found.insert(0, turn)
            turn = self.turns[turn][0]
        return found

    def siblings(self, turn: int) -> list[int]:
        return [t for t in self.turns if self.turns[t][0] == self.turns[turn][0]]

    def below(self, turn: int) -> list[int]:
        found = [turn]
        for each, (parent, _, _) in self.turns.items():
            if parent in found:
                found.append(each)
        return found

    def delete(self, turn: int) -> None:
        parent, gone = self.turns[turn][0], self.below(turn)
        beside = self.siblings(turn)
        place = beside.index(turn)
        beside.remove(turn)
        if self.leaf in gone:
            nearest = beside[max(0, place - 1)] if beside else None
            self.leaf = parent if nearest is None else self.below(nearest)[-1]
        for each in gone:
            del self.turns[each]

    def shown(self) -> list[tuple[int, str, str, int, int]]:
        return [
            (t, *self.turns[t][1:], self.siblings(t).index(t), len(self.siblings(t)))
            for t in self.branch()
        ]

    def messages(self) -> list[str]:
        texts: list[str] = []
        branch = [self.turns[turn] for turn in self.branch()]
        for (_, role, question), (_, next_role, answer) in itertools.pairwise(branch):
            if (role, next_role) == ("user", "assistant") and answer:
                texts += [question, answer]
        return texts


class Screen:
    """Shows what the events say, as the real one does."""

    def __init__(self, backend: EngineThread) -> None:
        self.backend = backend
        self.chat: int | None = None
        self.shown: list[tuple[int, str, str, int, int]] = []
        self.asked = ""
        self.notices: list[str] = []
        self.coming: list[Event] = []

    def wait_for(self, kind: type) -> Event:
        until = time.monotonic() + 30
        while time.monotonic() < until:
            self.coming += self.backend.events()
            while self.coming:
                event = self.coming.pop(0)
                self._show(event)
                if isinstance(event, kind):
                    return event
            time.sleep(0.001)
        raise AssertionError(f"no {kind}")

    def settle(self) -> None:
        self.coming += self.backend.events()
        while self.coming:
            self._show(self.coming.pop(0))

    def _show(self, event: Event) -> None:
        match event:
            case ChatOpened(chat, _, turns):
                self.chat = chat
                self.shown = [(t.id or 0, t.role, t.text, t.position, t.siblings) for t in turns]
            case TitleChanged(chat):
                self.chat = chat
            case QuestionKept(turn, position, siblings):
                self.shown.append((turn, "user", self.asked, position, siblings))
            case AnswerDone(text=text, turn=turn, position=position, siblings=siblings):
                if self.shown and self.shown[-1][0] == turn:
                    self.shown.pop()
                if turn is not None:
                    self.shown.append((turn, "assistant", text, position, siblings))
            case TurnDeleted(turn):
                self.shown = self.shown[: [each[0] for each in self.shown].index(turn)]
            case Notice(message):
                self.notices.append(message)


class Player:
    """Gives random commands and says what should come of them."""

    def __init__(self, screen: Screen, seed: int, *, keeps: bool) -> None:
        self.screen = screen
        self.backend = screen.backend
        self.random = random.Random(seed)
        self.chats: dict[int, Chat] = {}
        self.chat = Chat()
        self.keeps = keeps

    def turn(self) -> None:
        commands = [self.send, self.new]
        if self.chat.branch():
            commands += [self.send, self.edit, self.regenerate, self.sibling]
            commands += [self.delete, self.go_on, self.stop]
        if self.chats:
            commands += [self.open]
        self.random.choice(commands)()
        if self.keeps and self.screen.chat is not None:
            self.chats[self.screen.chat] = self.chat

    def _text(self) -> str:
        return " ".join(self.random.choices(WORDS, k=self.random.randint(1, 5)))

    def _any(self, role: str | None = None) -> int | None:
        turns = [t for t in self.chat.branch() if role in (None, self.chat.turns[t][1])]
        return self.random.choice(turns) if turns else None

    def _asked(self, parent: int | None, text: str) -> None:
        done = self.screen.wait_for(AnswerDone)
        assert isinstance(done, AnswerDone)
        question = next(t[0] for t in self.screen.shown[::-1] if t[1] == "user")
        self.chat.turns[question] = (parent, "user", text)
        self._answered(question, done)

    def _answered(self, question: int, done: AnswerDone) -> None:
        self.chat.leaf = question
        if done.turn is not None:
            self.chat.turns[done.turn] = (question, "assistant", done.text)
            self.chat.leaf = done.turn

    def send(self) -> None:
        self.screen.asked = text = self._text()
        self.backend.send(text)
        self._asked(self.chat.leaf, text)

    def stop(self) -> None:
        self.screen.asked = text = self._text()
        self.backend.send(text)
        self.screen.wait_for(QuestionKept)
        self.backend.cancel()
        self._asked(self.chat.leaf, text)

    def edit(self) -> None:
        turn = self._any("user")
        assert turn is not None
        self.screen.asked = text = self._text()
        self.backend.ask_instead(turn, text)
        self._asked(self.chat.turns[turn][0], text)

    def regenerate(self) -> None:
        turn = self._any()
        assert turn is not None
        question = turn if self.chat.turns[turn][1] == "user" else self.chat.turns[turn][0]
        assert question is not None
        self.backend.regenerate(turn)
        done = self.screen.wait_for(AnswerDone)
        assert isinstance(done, AnswerDone) and done.turn is not None
        self._answered(question, done)

    def go_on(self) -> None:
        leaf = self.chat.leaf
        if leaf is None or self.chat.turns[leaf][1] != "assistant":
            return
        before = self.chat.turns[leaf]
        self.backend.continue_answer(leaf)
        done = self.screen.wait_for(AnswerDone)
        assert isinstance(done, AnswerDone) and done.turn == leaf
        assert done.text.startswith(before[2])
        self.chat.turns[leaf] = (*before[:2], done.text)

    def sibling(self) -> None:
        turn, step = self._any(), self.random.choice((-1, 1))
        assert turn is not None
        siblings = self.chat.siblings(turn)
        place = siblings.index(turn) + step
        if 0 <= place < len(siblings):
            self.backend.choose_sibling(turn, step)
            self.screen.wait_for(ChatOpened)
            self.chat.leaf = self.chat.below(siblings[place])[-1]

    def delete(self) -> None:
        turn = self._any()
        assert turn is not None
        self.backend.delete_turn(turn)
        self.screen.wait_for(TurnDeleted)
        self.chat.delete(turn)

    def new(self) -> None:
        self.backend.new_chat()
        self.screen.wait_for(ChatOpened)
        self.chat = Chat()

    def open(self) -> None:
        number = self.random.choice(list(self.chats))
        self.backend.open_chat(number)
        self.screen.wait_for(ChatOpened)
        self.chat = self.chats[number]


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> list[ChatSession]:
    """The session of the engine thread."""
    seen: list[ChatSession] = []
    begin = Running.begin

    def watched(*arguments: object) -> Running:
        running = begin(*arguments)  # type: ignore[arg-type]
        seen.append(running.session)
        return running

    monkeypatch.setattr(Running, "begin", watched)
    return seen


@contextlib.contextmanager
def running(models: Path, recorder: ChatRecorder | None) -> Iterator[Screen]:
    path = tiny_model(models, chat_template=CHATML_TEMPLATE)
    settings = ChatSettings(generation=GenerationSettings(max_tokens=5))
    backend = EngineThread(
        lambda _: EngineSettings(path, 1024, threads=1), lambda: settings, recorder
    )
    backend.start()
    try:
        screen = Screen(backend)
        screen.wait_for(ModelReady)
        yield screen
    finally:
        backend.close()


def wait_until_same(player: Player, session: ChatSession) -> None:
    until = time.monotonic() + 10
    wanted = player.chat.shown(), player.chat.messages()
    while True:
        player.screen.settle()
        found = player.screen.shown, [message.content for message in session.messages]
        if found == wanted:
            return
        assert time.monotonic() < until, (found, wanted)
        time.sleep(0.001)


def history_agrees(path: Path, player: Player) -> None:
    with contextlib.closing(History(path)) as history:
        for number, chat in player.chats.items():
            records = {r.id: (r.parent, r.role, r.text) for r in history.records(number)}
            assert records == chat.turns
            assert [turn for turn, _ in history.turns(number)] == chat.branch()


@pytest.mark.parametrize("seed", range(4))
def test_screen_history_and_session_agree(
    models: Path, home: Path, sessions: list[ChatSession], seed: int
) -> None:
    path = home / "data" / "history.db"
    recorder = ChatRecorder(path)
    with running(models, recorder) as screen:
        player = Player(screen, seed, keeps=True)
        for _ in range(25):
            player.turn()
            wait_until_same(player, sessions[0])
            # What was written before this is on the disk.
            recorder.title()
            history_agrees(path, player)
        assert screen.notices == []


def test_without_a_history_all_of_it_works_in_memory(
    models: Path, sessions: list[ChatSession]
) -> None:
    with running(models, None) as screen:
        player = Player(screen, 7, keeps=False)
        for _ in range(30):
            player.turn()
            wait_until_same(player, sessions[0])
            assert all(turn < 0 for turn in player.chat.turns)
        assert screen.notices == []
