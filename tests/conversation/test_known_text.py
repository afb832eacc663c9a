"""What the model saw keeps its tokens; the rest is tokenized anew."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sssd_chat.conversation.known_text import KnownText

PIECES = st.lists(st.text("ab", max_size=4), max_size=8)


def tokenize(text: str, start: bool) -> list[int]:
    return [0] * start + [ord(character) for character in text]


@given(PIECES, st.text("ab", max_size=20))
def test_what_is_shared_is_a_beginning_that_ends_at_a_border(pieces: list[str], text: str) -> None:
    known = KnownText()
    for number, piece in enumerate(pieces):
        # Tokens of our own, so that they can be told from those of `tokenize`.
        known = known.followed_by(piece, [-number] * len(piece))
    shared = known.shared_with(text)
    assert text.startswith(shared.text) and known.text.startswith(shared.text)
    assert shared.tokens == known.tokens[: len(shared.tokens)]
    ends = {len("".join(pieces[:count])) for count in range(len(pieces) + 1)}
    longest = max(end for end in ends if text.startswith(known.text[:end]))
    assert len(shared.text) == longest

    rendered = known.rendered(text, tokenize)
    assert rendered.text == text
    assert rendered.tokens[: len(shared.tokens)] == shared.tokens
    rest = list(rendered.tokens[len(shared.tokens) :])
    assert rest == tokenize(text[longest:], longest == 0)


def test_a_prompt_that_is_known_whole_is_not_tokenized_again() -> None:
    known = KnownText().followed_by("question", [1]).followed_by("answer", [2, 3])
    assert known.rendered("questionanswer", tokenize).tokens == (1, 2, 3)
    assert known.rendered("questionansweR", tokenize).tokens[0] == 1
