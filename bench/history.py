"""How long lists and searches take in a large history.

    python bench/history.py FOLDER [--chats 10000] [--turns 100]

Makes FOLDER/history.db unless it is there (minutes, about 1.5 kB a turn), then prints the median
and the longest time of each operation in milliseconds, and the least processor time, which other
programs do not change. Each is done in a connection of its own, as a command has it.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import random
import statistics
import time
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path

from sssd_chat.conversation.history import History, NewTurn

_CHATS_A_TRANSACTION = 100
_REPEATS = 5


def main() -> None:
    """Makes the database if need be, and measures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--chats", type=int, default=10_000)
    parser.add_argument("--turns", type=int, default=100, help="turns of each chat")
    options = parser.parse_args()
    path = options.folder / "history.db"
    if not path.exists():
        began = time.perf_counter()
        fill(path, options.chats, options.turns)
        print(f"made in {time.perf_counter() - began:.0f} s")
    with contextlib.closing(History(path)) as history:
        count = len(history.chats())
    print(f"{count} chats, {path.stat().st_size / 1e6:.0f} MB")
    for name, work in operations().items():
        times, used = zip(*(measure(path, work) for _ in range(_REPEATS)), strict=True)
        print(
            f"{name:42} median {statistics.median(times):7.1f}, longest {max(times):7.1f}, "
            f"processor {min(used):7.1f}"
        )


def fill(path: Path, chats: int, turns: int) -> None:
    """Writes chats of made-up words as frequent as those of a language, each tenth in Chinese."""
    chance = random.Random(1)
    western, chinese = words_of_letters(chance), words_of_characters(chance)
    with contextlib.closing(History(path)) as history:
        for first in range(0, chats, _CHATS_A_TRANSACTION):
            last = min(first + _CHATS_A_TRANSACTION, chats)

            def add(first: int = first, last: int = last) -> None:
                for chat in range(first, last):
                    add_chat(history, chinese if chat % 10 == 9 else western, chat, turns)

            history.transaction(add)


def add_chat(history: History, words: Iterator[str], number: int, turns: int) -> None:
    """One chat without branches."""
    created = 1.7e9 + 1000.0 * number
    texts = [" ".join(itertools.islice(words, 10 if n % 2 == 0 else 70)) for n in range(turns)]
    if number == 77:
        texts[5] = "a needle in a haystack, 針 and qz"
    chat = history.add_chat(texts[0], "", created=created, updated=created + turns)
    parent = None
    for n, text in enumerate(texts):
        role = "user" if n % 2 == 0 else "assistant"
        tokens = array("i", range(len(text) // 4)) if n % 2 else None
        turn = NewTurn(role, text, model="made up", tokens=tokens, created=created + n)
        parent = history.insert(chat, parent, turn)


def words_of_letters(chance: random.Random) -> Iterator[str]:
    """Words without end, of 30,000 different ones."""
    syllables = [a + b for a in "bcdfghjklmnprstvw" for b in ("a", "e", "i", "o", "u", "en", "er")]
    words = ["".join(chance.choices(syllables, k=chance.randint(1, 4))) for _ in range(30_000)]
    return _endless(chance, words)


def words_of_characters(chance: random.Random) -> Iterator[str]:
    """Chinese words without end, of 10,000 different ones."""
    characters = [chr(0x4E00 + n) for n in range(3000)]
    words = ["".join(chance.choices(characters, k=chance.randint(1, 3))) for _ in range(10_000)]
    return _endless(chance, words)


def _endless(chance: random.Random, words: list[str]) -> Iterator[str]:
    weights = list(itertools.accumulate(1 / (rank + 3) for rank in range(len(words))))
    while True:
        yield from chance.choices(words, cum_weights=weights, k=10_000)


def operations() -> dict[str, Callable[[History], object]]:
    """What is measured, by name."""
    chance = random.Random(1)
    western, chinese = words_of_letters(chance), words_of_characters(chance)
    common = next(word for word in western if len(word) >= 4)
    rare = [word for word in itertools.islice(western, 2000) if len(word) >= 6][-1]
    two = next(word for word in chinese if len(word) == 2)
    queries = {
        "a common word": common,
        "a rare word": rare,
        "two words": f"{common} {rare}",
        "a phrase that is nowhere": f'"{rare} {common} {rare}"',
        "a word of common pieces, nowhere": "benbanbun",
        "needle, once": "needle",
        "a common letter": "e",
        "two letters, once": "qz",
        "two letters, nowhere": "zq",
        "two characters of Chinese": two,
        "one character of Chinese": two[0],
        "one character of Chinese, once": "針",
    }

    def search(query: str) -> Callable[[History], object]:
        return lambda history: history.search(query)

    return {
        "open": lambda history: None,
        "list 50": lambda history: history.chats(50),
        "list all": lambda history: history.chats(),
        "last chat": lambda history: history.turns(history.last_chat() or 0),
        "numbers of all answers": lambda history: history.answer_ids(),
        **{f"search: {name}": search(query) for name, query in queries.items()},
    }


def measure(path: Path, work: Callable[[History], object]) -> tuple[float, float]:
    """Milliseconds, and milliseconds of the processor, to open the database, do the work and close
    it."""
    began, used = time.perf_counter(), time.process_time()
    with contextlib.closing(History(path)) as history:
        work(history)
    return 1000 * (time.perf_counter() - began), 1000 * (time.process_time() - used)


if __name__ == "__main__":
    main()
