"""KV states of chats that were left, so that opening one again does not read it again.

One file for each chat and model in a folder of bounded size; the one that was not used for the
longest time goes first. It is a cache: whatever is stale, cut short or damaged is ignored and
taken away, and the chat is read from its text.

The files hold what was said. `forget` takes away those of a chat, `clear` all.
"""

from __future__ import annotations

import array
import contextlib
import hashlib
import json
import logging
import os
import time
from dataclasses import dataclass
from pathlib import Path

from sssd_chat.conversation.known_text import KnownText
from sssd_chat.files import write_atomically

LEAST_TOKENS = 256
"""Shorter texts are read again in no time."""

_MAGIC = b"sssd-chat state 1\n"
_CHECKSUM_BYTES = 16
_LENGTH_BYTES = 8
_UNFINISHED_SECONDS = 3600.0
"""A file that has not been finished for so long never will be: its program has ended."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class KeptState:
    """The state of one chat in one model."""

    key: str
    """The model file and the kind of context (`LoadedEngine.state_key`)."""
    chat: int
    """The number of the chat in the history."""
    turns_left_out: int
    """Its oldest turns that were no longer in the prompt."""
    known: KnownText
    """The last prompt with its answer."""
    placeholders: dict[str, str]
    """The character in the text for each form that it stands for."""
    tokens: tuple[int, ...]
    """The tokens of which this is the state."""
    data: memoryview
    """The state as the engine gave it."""


class StateCache:
    """The folder of states. Several programs may use it at once."""

    def __init__(self, folder: Path, megabytes: int) -> None:
        """Keeps at most `megabytes` (of 1,000,000 bytes) in `folder`; with 0 nothing is kept, and
        nothing that was kept is used."""
        self._folder = folder
        self._limit = megabytes * 1_000_000

    def has_room_for(self, size: int) -> bool:
        """Whether a state of so many bytes could be kept at all."""
        return 0 < size < self._limit

    def store(self, state: KeptState) -> None:
        """Keeps a state; the earlier one of the chat in this model is replaced. A state that is
        larger than the cache, and a disk that refuses, are only logged."""
        head = _encoded_head(state)
        size = len(head) + len(state.data) + _CHECKSUM_BYTES
        if size > self._limit or not state.data:
            return
        checksum = hashlib.blake2b(head, digest_size=_CHECKSUM_BYTES)
        checksum.update(state.data)
        path = self._path(state.key, state.chat)
        try:
            self._make_room(size, path)
            write_atomically(path, (head, state.data, checksum.digest()))
        except OSError as error:
            log.warning("The state of a chat could not be kept: %s", error)

    def find(self, key: str, chat: int) -> KeptState | None:
        """The state of a chat for this model and context. None when there is none, or none that
        is whole."""
        if not self._limit:
            return None
        path = self._path(key, chat)
        try:
            content = memoryview(path.read_bytes())
            state = _decoded(content)
            if state.key != key or state.chat != chat:
                raise ValueError("it belongs to another chat or model")
            os.utime(path)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            log.warning("The kept state %s is of no use: %s", path, error)
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        return state

    def forget(self, chat: int) -> None:
        """Takes away what is kept of a chat, for all models. Raises OSError when the disk
        refuses."""
        # The dot is for files that were being written when their program ended.
        for pattern in (f"*-{chat}.state", f".*-{chat}.state.*"):
            self._remove(pattern)

    def clear(self) -> None:
        """Takes away everything. Raises OSError when the disk refuses."""
        for pattern in ("*.state", ".*.state.*"):
            self._remove(pattern)

    def _remove(self, pattern: str) -> None:
        for path in self._folder.glob(pattern):
            path.unlink(missing_ok=True)

    def _path(self, key: str, chat: int) -> Path:
        name = hashlib.sha256(key.encode()).hexdigest()[:16]
        return self._folder / f"{name}-{chat}.state"

    def _make_room(self, size: int, replaced: Path) -> None:
        """Takes away states until one of `size` bytes fits, and leftovers of programs that ended
        while they wrote."""
        for path in self._folder.glob(".*.state.*"):
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_mtime < time.time() - _UNFINISHED_SECONDS:
                    path.unlink()
        files = []
        for path in self._folder.glob("*.state"):
            with contextlib.suppress(FileNotFoundError):
                if path != replaced and not path.name.startswith("."):
                    status = path.stat()
                    files.append((status.st_mtime_ns, status.st_size, path))
        files.sort(reverse=True)
        room = self._limit - size
        for _, used, path in files:
            room -= used
            if room < 0:
                path.unlink(missing_ok=True)


def _encoded_head(state: KeptState) -> bytes:
    """Everything but the state itself: a length, a description in JSON, and the tokens."""
    description = {
        "key": state.key,
        "chat": state.chat,
        "turns_left_out": state.turns_left_out,
        "text": state.known.text,
        "borders": state.known.borders,
        "placeholders": state.placeholders,
        "known": len(state.known.tokens),
        "tokens": len(state.tokens),
    }
    text = json.dumps(description).encode()
    tokens = array.array("i", (*state.known.tokens, *state.tokens)).tobytes()
    return _MAGIC + len(text).to_bytes(_LENGTH_BYTES, "little") + text + tokens


def _decoded(content: memoryview) -> KeptState:
    """Raises ValueError, KeyError or TypeError for anything but a whole file."""
    body, checksum = content[:-_CHECKSUM_BYTES], content[-_CHECKSUM_BYTES:]
    if hashlib.blake2b(body, digest_size=_CHECKSUM_BYTES).digest() != checksum:
        raise ValueError("the file is cut short or damaged")
    if body[: len(_MAGIC)] != _MAGIC:
        raise ValueError("another version wrote it")
    start = len(_MAGIC) + _LENGTH_BYTES
    end = start + int.from_bytes(body[len(_MAGIC) : start], "little")
    description = json.loads(bytes(body[start:end]))
    tokens = array.array("i")
    known = description["known"]
    after = end + (known + description["tokens"]) * tokens.itemsize
    tokens.frombytes(body[end:after])
    return KeptState(
        description["key"],
        description["chat"],
        description["turns_left_out"],
        KnownText(
            description["text"],
            tuple(tokens[:known]),
            tuple((characters, count) for characters, count in description["borders"]),
        ),
        description["placeholders"],
        tuple(tokens[known:]),
        body[after:],
    )
