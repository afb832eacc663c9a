"""Each format is recognized and read; what is damaged costs one record."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sssd_chat.conversation.exchange.exporting import exported
from sssd_chat.conversation.exchange.importing import Importer
from sssd_chat.conversation.exchange.portable import PortableChat
from sssd_chat.conversation.exchange.reading import Found, Problem, read_chats
from sssd_chat.conversation.history import History
from sssd_chat.errors import UserError
from tests.conversation.exchange import samples

SAID = [("user", "hello"), ("assistant", "good"), ("user", "more"), ("assistant", "yes")]


def read(tmp_path: Path, value: object, name: str = "chats.json") -> list[Found | Problem]:
    file = tmp_path / name
    file.write_text(value if isinstance(value, str) else json.dumps(value))
    return list(read_chats(file))


def only(found: list[Found | Problem]) -> PortableChat:
    (one,) = found
    assert isinstance(one, Found), one
    return one.chat


def said(chat: PortableChat, tmp_path: Path) -> list[tuple[str, str]]:
    """The current branch, once it is in a history."""
    with contextlib.closing(History(tmp_path / "history.db")) as history:
        number = Importer(history).add(chat)
        assert number is not None
        return [(turn.role, turn.text) for _, turn in history.turns(number)]


@pytest.mark.parametrize("sample", samples.WHOLE.values(), ids=samples.WHOLE.keys())
@pytest.mark.parametrize("wrap", [lambda v: v, lambda v: [v], lambda v: {"conversations": [v]}])
def test_a_chat_is_read(
    sample: Callable[[], Any], wrap: Callable[[Any], Any], tmp_path: Path
) -> None:
    chat = only(read(tmp_path, wrap(sample())))
    assert said(chat, tmp_path) == SAID


@pytest.mark.parametrize("sample", samples.WHOLE.values(), ids=samples.WHOLE.keys())
def test_lines_are_read_whatever_the_name(sample: Callable[[], Any], tmp_path: Path) -> None:
    lines = "".join(json.dumps(sample()) + "\n" for _ in range(2))
    for name in ("chats.jsonl", "chats.json"):
        found = read(tmp_path, lines, name)
        assert [each.position for each in found] == ["line 1", "line 2"]
        assert all(isinstance(each, Found) for each in found)


def test_what_is_known_of_a_chat_is_kept(tmp_path: Path) -> None:
    for sample in (samples.chatgpt, samples.claude, samples.lm_studio, samples.llama_cpp):
        assert only(read(tmp_path, sample())).title == "A title"
    chat = only(read(tmp_path, samples.chatgpt()))
    assert (chat.created, chat.updated) == (1_700_000_000, 1_700_000_100)
    assert chat.turns[0].created == 1_700_000_001.5
    assert [turn.model for turn in chat.turns if turn.text == "good"] == ["gpt-4"]
    assert only(read(tmp_path, samples.claude())).created == 1_700_000_000
    assert only(read(tmp_path, samples.claude())).turns[0].created == 1_700_000_001.5
    for sample in (samples.sharegpt, samples.messages, samples.lm_studio):
        assert only(read(tmp_path, sample())).system == "be kind"
    chat = only(read(tmp_path, samples.lm_studio()))
    assert {turn.model for turn in chat.turns if turn.role == "assistant"} == {"qwen"}
    assert only(read(tmp_path, samples.llama_cpp())).updated == 1_700_000_100


@pytest.mark.parametrize(
    ("sample", "text"),
    [
        (samples.chatgpt, "another answer"),
        (samples.lm_studio, "another"),
        (samples.llama_cpp, "another"),
    ],
)
def test_branches_are_kept(sample: Callable[[], Any], text: str, tmp_path: Path) -> None:
    chat = only(read(tmp_path, sample()))
    turns = {turn.text: turn for turn in chat.turns}
    assert turns[text].parent == turns["good"].parent == turns["hello"].key
    assert turns["more"].parent == turns["good"].key


def test_branches_of_claude_are_kept(tmp_path: Path) -> None:
    export = samples.claude()
    parent = "00000000-0000-4000-8000-000000000000"
    for message in export["chat_messages"]:
        message["parent_message_uuid"] = parent
        parent = message["uuid"]
    other = {**export["chat_messages"][1], "uuid": "o", "text": "", "content": []}
    other["attachments"] = [{"file_name": "a.txt", "extracted_content": "another"}]
    export["chat_messages"].append(other)
    export["current_leaf_message_uuid"] = "yes"
    chat = only(read(tmp_path, export))
    assert [turn.text for turn in chat.turns if turn.parent == "hello"] == [
        "good",
        "a.txt\nanother",
    ]
    assert said(chat, tmp_path) == SAID


def test_a_copy_of_the_database_of_llama_cpp(tmp_path: Path) -> None:
    chat = only(read(tmp_path, samples.llama_cpp_tables()))
    assert said(chat, tmp_path) == SAID
    assert (chat.title, len(chat.turns)) == ("A title", 5)


def test_magpie_of_one_and_of_several_turns(tmp_path: Path) -> None:
    record = {"uuid": "1", "instruction": "hello", "response": "good"}
    assert said(only(read(tmp_path, record)), tmp_path) == SAID[:2]
    record = {**record, **samples.sharegpt()}
    assert said(only(read(tmp_path, record)), tmp_path) == SAID


def test_a_bare_list_of_messages_is_one_chat(tmp_path: Path) -> None:
    assert said(only(read(tmp_path, samples.messages()["messages"])), tmp_path) == SAID


def test_the_same_chat_is_imported_once(tmp_path: Path) -> None:
    found = read(tmp_path, [samples.chatgpt(), samples.sharegpt(), samples.chatgpt()])
    with contextlib.closing(History(tmp_path / "history.db")) as history:
        importer = Importer(history)
        numbers = [importer.add(each.chat) for each in found if isinstance(each, Found)]
        assert numbers == [1, 2, None]
        history.delete_chats([1])
        assert importer.add(found[0].chat) == 3  # type: ignore[union-attr]


def test_what_is_damaged_is_told_with_its_position(tmp_path: Path) -> None:
    records = [
        samples.chatgpt(),
        {"conversations": [{"from": "human"}]},
        {"nothing": "known"},
        {"conversations": [{"from": "martian", "value": "x"}]},
        17,
        {"mapping": {"a": {"parent": "b", "message": None}, "b": {"parent": "a", "message": None}}},
        {"data": []},
        samples.claude(),
    ]
    found = read(tmp_path, records)
    assert [isinstance(each, Found) for each in found] == [True, *[False] * 6, True]
    problems = [each for each in found if isinstance(each, Problem)]
    assert [problem.position for problem in problems] == [f"record {n}" for n in range(2, 8)]
    assert [problem.reason for problem in problems] == [
        "message 0 says nothing",
        "its format is unknown",
        "the speaker of message 0 is unknown: 'martian'",
        "its format is unknown",
        "its messages follow each other in a circle",
        "it holds no message",
    ]


def test_damaged_lines_are_told_and_the_rest_is_read(tmp_path: Path) -> None:
    file = tmp_path / "chats.jsonl"
    good = json.dumps(samples.ultrachat()).encode()
    file.write_bytes(
        b"\xef\xbb\xbf" + good + b'\n\n{"data": [\n\xff\xfe\n' + b"[" * 100_000 + b"\n" + good
    )
    found = list(read_chats(file))
    assert [(each.position, isinstance(each, Found)) for each in found] == [
        ("line 1", True),
        ("line 3", False),
        ("line 4", False),
        ("line 5", False),
        ("line 6", True),
    ]


@pytest.mark.parametrize("content", [b"", b"no chats", b'{"mapping": ', b"\xff\xff", b"\x1f\x8b"])
def test_a_file_that_is_none_is_told(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "chats.json"
    file.write_bytes(content)
    with pytest.raises(UserError, match="not valid JSON"):
        list(read_chats(file))
    with pytest.raises(UserError, match="cannot be read"):
        list(read_chats(tmp_path))


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_damage_costs_one_record_at_most(data: st.DataObject, tmp_path: Path) -> None:
    """Something in a good record, however deep, becomes something else or goes away."""
    record = data.draw(st.sampled_from(list(samples.WHOLE.values())))()
    before = copy.deepcopy(record)
    place: Any = record
    while True:
        names = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not names:
            break
        name = data.draw(st.sampled_from(names))
        if isinstance(place[name], dict | list) and data.draw(st.booleans()):
            place = place[name]
            continue
        if data.draw(st.booleans()):
            del place[name]
        else:
            place[name] = data.draw(
                st.none() | st.booleans() | st.floats() | st.text(max_size=3) | st.just([{}])
            )
        break
    damaged, good = read(tmp_path, [record, before])
    assert isinstance(good, Found)
    if isinstance(damaged, Found):
        keys = {turn.key for turn in damaged.chat.turns}
        assert all(turn.parent is None or turn.parent in keys for turn in damaged.chat.turns)
        assert damaged.chat.leaf is None or damaged.chat.leaf in keys
        assert damaged.chat.content_hash()


def test_a_branch_as_sharegpt_and_as_markdown(tmp_path: Path) -> None:
    with contextlib.closing(History(tmp_path / "history.db")) as history:
        chat = Importer(history).add(only(read(tmp_path, samples.lm_studio()))) or 0
        (record,) = json.loads("".join(exported(history, [chat], "sharegpt")))
        assert record["conversations"] == [
            {"from": "system", "value": "be kind"},
            {"from": "human", "value": "hello"},
            {"from": "gpt", "value": "good"},
            {"from": "human", "value": "more"},
            {"from": "gpt", "value": "yes"},
        ]
        document = "".join(exported(history, [chat], "md"))
        parts = [part for part in document.split("\n\n") if not part.startswith("*20")]
        assert [part.strip() for part in parts] == [
            *("# A title", "## System prompt", "be kind"),
            *("## You", "hello", "## qwen", "good", "## You", "more", "## qwen", "yes"),
            "*(questions and answers in other branches, not shown: 1)*",
        ]
        assert said(only(read(tmp_path, [record])), tmp_path) == SAID
