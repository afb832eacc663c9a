"""Documents before a question."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sssd_chat.conversation import attachments as module
from sssd_chat.conversation.attachments import (
    Attachment,
    counted,
    read_attachment,
    shortened,
    split_attachments,
    with_attachments,
)
from sssd_chat.conversation.history.encoding import title_of
from sssd_chat.conversation.session import ChatSession, ChatSettings
from sssd_chat.errors import UserError
from sssd_chat.generation.engine import GenerationSettings
from tests.conftest import LoadTiny
from tests.tiny_models import CHATML_TEMPLATE

_texts = st.text() | st.just('a\n</document>\n\n<document name="x" lines="1">\nb')
_names = st.from_regex(r'[^"\n]*', fullmatch=True)


@given(_texts, st.lists(st.builds(Attachment, _names, _texts), max_size=3))
def test_what_was_put_together_comes_apart(question: str, attachments: list[Attachment]) -> None:
    if split_attachments(question)[0]:
        return
    message = with_attachments(question, attachments)
    assert split_attachments(message) == (attachments, question)


@given(st.text(alphabet='<document name="x" lines="1">\n/', max_size=80))
def test_any_text_is_a_question(text: str) -> None:
    attachments, question = split_attachments(text)
    assert with_attachments(question, attachments) == text


def test_the_screen_shows_a_line_for_each() -> None:
    message = with_attachments("Why?", [Attachment("a.txt", "x\ny"), Attachment("b.md", "z")])
    assert shortened(message) == "⟦a.txt: 2 lines⟧\n⟦b.md: 1 line⟧\nWhy?"
    assert shortened("Why?") == "Why?"
    assert title_of(message) == title_of("Why?") == "Why?"


def test_files_of_any_format(tmp_path: Path) -> None:
    path = tmp_path / 'my "notes".html'
    path.write_text("<title>On birds</title><body><p>One</p><p>Two</p></body>")
    found = read_attachment(path)
    assert found.name == "my 'notes'.html"
    assert "One" in found.text and "<p>" not in found.text and not found.text.endswith("\n")
    box = tmp_path / "mail.mbox"
    box.write_text("From a\nSubject: first\n\none\n\nFrom b\nSubject: second\n\ntwo\n")
    text = read_attachment(box).text
    assert text.index("first") < text.index("one") < text.index("second") < text.index("two")


def test_the_parts_of_a_long_text_are_joined(tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    text = "\n".join(f"line {n}" for n in range(400_000))
    path.write_text(text)
    assert read_attachment(path).text == text


def test_files_that_cannot_be_attached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=r"nothing\.txt does not exist"):
        read_attachment(tmp_path / "nothing.txt")
    with pytest.raises(UserError, match="is a folder"):
        read_attachment(tmp_path)
    monkeypatch.setattr(module, "MOST_CHARACTERS", 10)
    (tmp_path / "long.txt").write_text("x" * 11)
    with pytest.raises(UserError, match="too long to be attached"):
        read_attachment(tmp_path / "long.txt")


def test_tokens_against_the_context(load_tiny: LoadTiny) -> None:
    loaded = load_tiny(context=512, chat_template=CHATML_TEMPLATE)
    settings = ChatSettings(generation=GenerationSettings(max_tokens=20))
    session = ChatSession(loaded, settings)
    small = Attachment("small.txt", "the the the")
    expected = len(loaded.model.vocabulary.tokenize(small.text))
    assert counted([small, small], session, loaded) == [expected, expected]
    for size in (480, 2000):
        with pytest.raises(UserError, match=r"big\.txt: [\d,]+ tokens do not fit .* 512") as error:
            counted([Attachment("big.txt", "x" * size)], session, loaded)
        assert "\n" not in str(error.value)


def test_a_document_stays_in_the_chat(load_tiny: LoadTiny) -> None:
    loaded = load_tiny(context=512, chat_template=CHATML_TEMPLATE)
    session = ChatSession(loaded, ChatSettings(generation=GenerationSettings(max_tokens=4)))
    message = with_attachments("Why?", [Attachment("a.txt", "the thing and the other")])
    assert len(session.prompt(message)) > len(session.prompt("Why?")) + 10
    generation = session.begin(message)
    for _ in session.steps(generation):
        pass
    session.finish(message, generation)
    assert [m.content for m in session.messages if m.role == "user"] == [message]
