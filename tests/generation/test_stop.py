from __future__ import annotations

import random

import pytest

from sssd_chat.generation.stop import StopStrings


def split(rng: random.Random, text: str) -> list[str]:
    pieces = []
    while text:
        size = rng.randrange(1, 5)
        pieces.append(text[:size])
        text = text[size:]
    return pieces


@pytest.mark.parametrize("seed", range(300))
def test_however_the_text_is_split_it_ends_before_the_first_stop(seed: int) -> None:
    rng = random.Random(seed)
    text = "".join(rng.choice("ab") for _ in range(40))
    stops = ["".join(rng.choice("ab") for _ in range(rng.randrange(1, 8))) for _ in range(3)]
    watcher = StopStrings([*stops, ""])
    result = ""
    for piece in split(rng, text):
        result += watcher.feed(piece)
        # Nothing that a later piece might take back is given out.
        assert text.startswith(result)
        if watcher.found is not None:
            break
    ends = [text.index(stop) for stop in stops if stop in text]
    if ends:
        first_end = min(text.index(stop) + len(stop) for stop in stops if stop in text)
        assert watcher.found is not None
        assert len(result) <= first_end
        assert watcher.found == text[len(result) : len(result) + len(watcher.found)]
    else:
        assert watcher.found is None
        assert result + watcher.finish() == text


def test_only_a_possible_beginning_is_held_back() -> None:
    watcher = StopStrings(["\nUser:"])
    assert watcher.feed("hello") == "hello"
    assert watcher.feed(" there\n") == " there"
    assert watcher.feed("Us") == ""
    assert watcher.feed("ually") == "\nUsually"


def test_nothing_comes_after_a_stop() -> None:
    watcher = StopStrings(["x"])
    assert watcher.feed("axb") == "a"
    assert watcher.feed("more") == ""
    assert watcher.finish() == ""
