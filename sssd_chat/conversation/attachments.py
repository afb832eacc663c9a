"""Documents that go along with a question.

They stand before the question in the message itself, so the history keeps them, a chat that goes on
has them, and what the model quotes of them is drafted from the conversation.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sssd_chat.errors import UserError
from sssd_chat.text import one_line

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from sssd_chat.conversation.session import ChatSession
    from sssd_chat.generation.loading import LoadedEngine

MOST_CHARACTERS = 8 << 20
"""No context holds more."""
_HEAD = re.compile(r'<document name="([^"\n]*)" lines="(\d{1,9})">\n')
_END = "</document>\n\n"


@dataclass(frozen=True, slots=True)
class Attachment:
    """A document as it is put before a question."""

    name: str
    """The name of its file, without its folder."""
    text: str

    @property
    def lines(self) -> int:
        """How many lines its text has."""
        return self.text.count("\n") + 1


def read_attachment(path: Path, cancelled: threading.Event | None = None) -> Attachment:
    """A file of any format that `sssd_chat.documents` knows, read in a process of its own. Raises
    UserError with a sentence about the file, also after `cancelled` was set."""
    from sssd_chat.documents import FileFailed, Piece, read_files

    texts: list[str] = []
    last = ""
    size = 0
    for event in read_files([path], workers=1, cancelled=cancelled):
        if isinstance(event, FileFailed):
            raise UserError(event.sentence)
        if isinstance(event, Piece):
            document = event.document
            # The parts of a long text are one; several documents of a file each have their title.
            if not (document.part > 1 and document.title == last):
                has_title = document.title not in (path.name, last)
                texts.append("\n\n" if texts else "")
                texts.append(f"{document.title}\n\n" if has_title else "")
            texts.append(document.text)
            last = document.title
            size += len(document.text)
        if size > MOST_CHARACTERS:
            raise UserError(f"{one_line(str(path))} is too long to be attached; import it instead.")
    if cancelled is not None and cancelled.is_set():
        raise UserError(f"{one_line(str(path))} was not attached.")
    name = one_line(path.name.replace('"', "'")).replace("\ufffd", "?") or "document"
    return Attachment(name, "".join(texts).strip("\n"))


def with_attachments(question: str, attachments: Sequence[Attachment]) -> str:
    """The message that holds the documents and the question."""
    written = [
        f'<document name="{a.name}" lines="{a.lines}">\n{a.text}\n{_END}' for a in attachments
    ]
    return "".join(written) + question


def split_attachments(message: str) -> tuple[list[Attachment], str]:
    """The documents of a message, and its question. A message of another kind is a question."""
    attachments = []
    while head := _HEAD.match(message):
        lines = message[head.end() :].split("\n", int(head[2]))
        if len(lines) <= int(head[2]) or not lines[-1].startswith(_END):
            break
        attachments.append(Attachment(head[1], "\n".join(lines[:-1])))
        message = lines[-1][len(_END) :]
    return attachments, message


def shortened(message: str) -> str:
    """A message for the screen: one line for each document."""
    attachments, question = split_attachments(message)
    return with_chips(question, [(attachment.name, attachment.lines) for attachment in attachments])


def with_chips(question: str, documents: Iterable[tuple[str, int]]) -> str:
    """A question below a line for each document, given by name and number of lines."""
    chips = [
        f"⟦{name}: {lines:,} {'line' if lines == 1 else 'lines'}⟧\n" for name, lines in documents
    ]
    return "".join(chips) + question


def counted(
    attachments: Sequence[Attachment], session: ChatSession, loaded: LoadedEngine
) -> list[int]:
    """The tokens of each document. Raises UserError when they cannot be asked about together, even
    without the turns before."""
    from sssd_chat.generation.engine import PromptTooLong

    arrays: list[npt.NDArray[np.uint32]] = loaded.model.vocabulary.tokenize_arrays(
        [attachment.text for attachment in attachments]
    )
    counts = list(map(len, arrays))
    room = loaded.target.context_length
    if sum(counts) < room:
        try:
            session.prompt(with_attachments("?", attachments))
        except PromptTooLong:
            pass
        else:
            return counts
    names = ", ".join(attachment.name for attachment in attachments)
    raise UserError(
        f"{names}: {sum(counts):,} tokens do not fit into the context of {room:,} with room for an "
        "answer; attach less, or use a larger --ctx."
    )
