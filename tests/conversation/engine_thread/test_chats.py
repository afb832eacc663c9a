"""Opening, leaving and deleting chats, and other models, by the engine thread."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import pytest

from sssd_chat import paths
from sssd_chat.conversation.chat_library import ChatLibrary
from sssd_chat.conversation.engine_thread import loading
from sssd_chat.conversation.events import (
    AnswerDone,
    AnswerFailed,
    AnswerStep,
    ChatOpened,
    ContextFilled,
    LifetimeChanged,
    ModelFailed,
    ModelLoading,
    ModelReady,
    Notice,
    QuestionKept,
    TokensCounted,
    TurnDeleted,
)
from sssd_chat.conversation.history import History
from sssd_chat.datastore.store import Datastore
from sssd_chat.datastore.traces import text_needles, traces_in_files
from sssd_chat.errors import UserError
from tests.conversation.engine_thread.screen import Screen, Start
from tests.tiny_models import CHATML_TEMPLATE, Architecture, tiny_model


def ask(screen: Screen, text: str) -> AnswerDone:
    screen.backend.send(text)
    return screen.get(AnswerDone)


def texts(opened: ChatOpened) -> list[str]:
    return [turn.text for turn in opened.turns]


# Chats


def test_chats_are_left_and_opened_again(start: Start) -> None:
    screen = start(context=2048)
    long = "the cat and the dog " * 60
    first = ask(screen, long)
    screen.backend.new_chat()
    ask(screen, "short")
    screen.backend.open_chat(1)
    while (opened := screen.get(ChatOpened)).chat != 1:
        pass
    assert texts(opened) == [long, first.text]
    filled = screen.get(ContextFilled)
    more = ask(screen, "more")
    # Its state was kept when it was left.
    assert more.answer.reused_tokens == filled.tokens > 300


def test_a_chat_that_is_not_there_leaves_the_one_that_is(start: Start) -> None:
    screen = start()
    ask(screen, "hello")
    screen.backend.open_chat(77)
    assert "no chat 77" in screen.get(Notice).message
    ask(screen, "more")
    assert len(screen.of(ChatOpened)) == 1


def test_without_a_history_no_chat_can_be_opened(start: Start) -> None:
    screen = start(keeps=False)
    done = ask(screen, "hello")
    assert done.turn is not None and done.turn < 0
    screen.backend.open_chat(1)
    assert "none is kept" in screen.get(Notice).message


def test_prompts_are_kept_with_their_chats(start: Start) -> None:
    screen = start()
    screen.get(ChatOpened)
    screen.backend.save_prompt("not asked yet")
    ask(screen, "hello")
    screen.backend.save_prompt("half a quest")
    screen.backend.new_chat()
    # It was asked, in another form perhaps.
    assert screen.get(ChatOpened).prompt == ""
    screen.backend.save_prompt("begun elsewhere")
    screen.backend.open_chat(1)
    assert screen.get(ChatOpened).prompt == "half a quest"
    screen.backend.close()
    again = start()
    assert again.get(ChatOpened).prompt == "begun elsewhere"


def test_the_screen_can_change_chats_while_the_model_loads(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = start()
    ask(screen, "hello")
    screen.backend.close()
    # Long enough for the command to come meanwhile.
    slow = loading.Loader._progress

    def wait(loader: loading.Loader, done: float) -> bool:
        time.sleep(0.02)
        return slow(loader, done)

    monkeypatch.setattr(loading.Loader, "_progress", wait)
    again = start()
    assert again.get(ChatOpened).turns == ()
    again.backend.open_chat(1)
    assert texts(again.get(ChatOpened))[0] == "hello"
    again.wait_for(ModelReady)
    assert ask(again, "more").answer.prompt_tokens > 40


def test_closing_does_not_wait_for_a_question_asked_while_the_model_loads(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[float] = []
    quick = loading.Loader._progress

    def wait(loader: loading.Loader, done: float) -> bool:
        told.append(done)
        time.sleep(0.02)
        return quick(loader, done)

    monkeypatch.setattr(loading.Loader, "_progress", wait)
    screen = start()
    screen.wait_for(ModelLoading)
    screen.backend.send("too early")
    screen.backend.close()
    assert told[-1] < 1
    assert not screen.of(QuestionKept)


def test_what_was_saved_is_told_from_the_start(start: Start) -> None:
    screen = start()
    assert screen.get(LifetimeChanged).lifetime.answers == 0
    ask(screen, "hello")
    assert screen.get(LifetimeChanged).lifetime.tokens == 30
    screen.backend.close()
    lifetime = start().get(LifetimeChanged).lifetime
    assert (lifetime.answers, lifetime.tokens, len(lifetime.weeks)) == (1, 30, 1)


# Deleting


def test_a_deleted_turn_is_nowhere_any_more(start: Start, home: Path) -> None:
    screen = start(learns=True, context=2048)
    first = ask(screen, "hello")
    ask(screen, "my secret is purple " * 20)
    secret = screen.of(QuestionKept)[1].turn
    screen.backend.delete_turn(secret)
    assert screen.get(TurnDeleted).turn == secret
    more = ask(screen, "more")
    assert more.answer.prompt_tokens < first.answer.prompt_tokens + 30 + 40
    screen.backend.close()
    assert texts(start(resume=True).get(ChatOpened)) == ["hello", first.text, "more", more.text]
    assert list(traces_in_files(home, text_needles("my secret is purple"), set())) == []
    (folder,) = paths.datastore_folder().iterdir()
    with contextlib.closing(Datastore(folder)) as store:
        # The last answer may wait for the next start: another one was writing.
        assert (
            {f"1/{first.turn}"}
            <= set(store.labels("chats"))
            <= {
                f"1/{first.turn}",
                f"1/{more.turn}",
            }
        )


def test_a_sibling_takes_the_place_of_a_deleted_answer(start: Start) -> None:
    screen = start()
    first = ask(screen, "hello")
    assert first.turn is not None
    screen.backend.regenerate(first.turn)
    second = screen.get(AnswerDone)
    assert second.turn is not None
    screen.seen.clear()
    screen.backend.delete_turn(second.turn)
    opened = screen.get(ChatOpened)
    assert screen.of(TurnDeleted) and opened.turns[1].id == first.turn
    assert (opened.turns[1].position, opened.turns[1].siblings) == (0, 1)
    screen.backend.delete_turn(second.turn)
    assert "not there any more" in screen.get(Notice).message


def test_deleting_stops_the_answer_first(start: Start) -> None:
    screen = start(max_tokens=None, context=4096)
    screen.backend.send("hello")
    kept = screen.get(QuestionKept)
    screen.wait_for(AnswerStep)
    screen.backend.delete_turn(kept.turn)
    screen.get(AnswerDone)
    screen.get(TurnDeleted)
    screen.backend.send("short")
    again = screen.get(QuestionKept)
    assert (again.position, again.siblings) == (0, 1)
    screen.backend.cancel()
    screen.get(AnswerDone)


@pytest.mark.parametrize("asks", [True, False])
def test_a_chat_that_was_deleted_elsewhere_is_let_go_of(
    start: Start, home: Path, asks: bool
) -> None:
    screen = start(context=2048)
    ask(screen, "my secret is purple " * 30)
    ChatLibrary(paths.history_file()).delete([1]).commit()
    if asks:
        # Before anybody looked.
        screen.backend.send("what is my secret")
    opened = screen.get(ChatOpened)
    while opened.chat is not None or len(screen.of(ChatOpened)) < 2:
        opened = screen.get(ChatOpened)
    assert opened.turns == ()
    if not asks:
        screen.backend.send("what is my secret")
    done = screen.get(AnswerDone)
    assert (done.answer.reused_tokens, done.answer.prompt_tokens < 100) == (0, True)
    assert "deleted elsewhere" in screen.of(Notice)[-1].message
    screen.backend.close()
    assert list(traces_in_files(home, text_needles("my secret is purple"), set())) == []


def test_a_turn_that_was_deleted_elsewhere_is_let_go_of(start: Start) -> None:
    screen = start()
    first = ask(screen, "hello")
    ask(screen, "my secret")
    secret = screen.of(QuestionKept)[1].turn
    with contextlib.closing(History(paths.history_file())) as history:
        history.delete_turns(1, [secret])
    more = ask(screen, "more")
    assert texts(screen.of(ChatOpened)[-1]) == ["hello", first.text]
    assert more.answer.prompt_tokens < 130
    assert screen.of(QuestionKept)[-1].position == 0


# Models


def test_another_model_goes_on_with_the_chat(start: Start, models: Path) -> None:
    screen = start(learns=True)
    first = ask(screen, "hello")
    other = tiny_model(models, Architecture.GEMMA3, chat_template=CHATML_TEMPLATE)
    screen.backend.load_model(str(other))
    screen.seen.clear()
    ready = screen.get(ModelReady)
    assert ready.info.path == str(other) and screen.of(ModelLoading)
    more = ask(screen, "more")
    assert more.answer.reused_tokens == 0
    assert more.answer.prompt_tokens > first.answer.prompt_tokens + 10
    screen.backend.count_tokens("one two")
    assert screen.get(TokensCounted).tokens > 0


def test_a_model_that_is_none_leaves_the_one_before(start: Start, tmp_path: Path) -> None:
    screen = start()
    before = screen.get(ModelReady)
    ask(screen, "hello")
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + b"\x00" * 100)
    screen.backend.load_model(str(broken))
    notice = screen.get(Notice)
    assert "broken.gguf" in notice.message and notice.severity == "error"
    assert screen.get(ModelReady) == before
    assert ask(screen, "more").answer.prompt_tokens > 50


def test_what_is_known_to_be_too_large_is_not_tried(start: Start) -> None:
    def check(path: str) -> None:
        raise UserError(f"{path} is too large.")

    screen = start(check=check)
    before = screen.get(ModelReady)
    ask(screen, "hello")
    screen.seen.clear()
    screen.backend.load_model("huge.gguf")
    assert screen.get(Notice).message == "huge.gguf is too large."
    assert screen.get(ModelReady) == before
    assert not screen.of(ModelLoading)
    more = ask(screen, "more")
    assert more.answer.reused_tokens > 30


def test_after_a_failure_another_model_can_be_chosen(
    start: Start, tmp_path: Path, models: Path
) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"nothing")
    screen = start(path=broken)
    screen.get(ModelFailed)
    screen.backend.send("hello")
    assert "no model" in screen.get(AnswerFailed).message
    screen.backend.load_model(str(tiny_model(models, chat_template=CHATML_TEMPLATE)))
    screen.get(ModelReady)
    assert ask(screen, "hello").text


# Counting


def test_tokens_are_counted_for_the_newest_text(start: Start) -> None:
    screen = start()
    screen.backend.count_tokens("before the model is there")
    screen.backend.count_tokens("one two three")
    counted = screen.get(TokensCounted)
    done = ask(screen, "one two three")
    assert counted.tokens > 0
    assert abs(counted.total - done.answer.prompt_tokens) <= 2
    # It is told again when the context has grown.
    while (again := screen.get(TokensCounted)).total <= done.answer.prompt_tokens + 20:
        pass
    assert again.tokens == counted.tokens
    more = ask(screen, "one two three")
    assert abs(again.total - more.answer.prompt_tokens) <= 2


def test_counting_goes_on_while_an_answer_is_written(start: Start) -> None:
    screen = start(max_tokens=None, context=4096)
    screen.backend.send("hello")
    screen.wait_for(AnswerStep)
    screen.backend.count_tokens("one two three")
    screen.wait_for(TokensCounted, AnswerDone)
    assert screen.of(TokensCounted)


# Two programs


def test_two_programs_in_one_chat_make_branches(start: Start) -> None:
    first = start()
    trunk = ask(first, "hello")
    second = start(resume=True)
    assert texts(second.get(ChatOpened)) == ["hello", trunk.text]
    left, right = ask(first, "left"), ask(second, "right")
    more = ask(first, "more")
    first.backend.close()
    second.backend.close()
    assert not [n for screen in (first, second) for n in screen.of(Notice)]
    with contextlib.closing(History(paths.history_file())) as history:
        said = {record.id: (record.parent, record.text) for record in history.records(1)}
    assert len(said) == 8
    asked = {text: (turn, parent) for turn, (parent, text) in said.items()}
    assert asked["left"][1] == asked["right"][1] == trunk.turn
    assert asked["more"][1] == left.turn != right.turn
    assert more.turn in said
