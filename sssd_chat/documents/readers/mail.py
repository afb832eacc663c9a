"""E-mail: the subject and the text that was written, decoded, without attachments."""

from __future__ import annotations

import email.policy
from collections.abc import Iterator
from email import message_from_bytes
from email.message import EmailMessage
from io import BytesIO

from sssd_chat.documents.document import Document, Source
from sssd_chat.documents.encoding import whole_text
from sssd_chat.documents.web_text import text_of_page


def read(source: Source) -> Iterator[Document]:
    """The message as one document."""
    source.file.seek(0)
    yield message_document(source.file.read(), source.name)


def message_document(message_bytes: bytes, name: str) -> Document:
    """One message as a document: its subject, a blank line, its text. Raises anything about a
    damaged message."""
    message = message_from_bytes(message_bytes, policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    subject = " ".join(str(message.get("subject", "")).split())
    body = message.get_body(preferencelist=("plain", "html"))
    text = _text_of(body, name).strip() if isinstance(body, EmailMessage) else ""
    attachments = sum(1 for _ in message.iter_attachments()) if message.is_multipart() else 0
    notes = (f"{attachments} attachments left out",) if attachments > 1 else ()
    notes = ("an attachment left out",) if attachments == 1 else notes
    if not text:
        return Document(subject or name, "", notes)
    return Document(subject or name, f"{subject}\n\n{text}\n".lstrip(), notes)


def _text_of(body: EmailMessage, name: str) -> str:
    payload = body.get_payload(decode=True)
    if not isinstance(payload, bytes):
        return ""
    # Not get_content(), which trusts the charset that is named, even one that does not exist.
    text = whole_text(Source(name, BytesIO(payload)), body.get_content_charset())
    return text_of_page([text]).text if body.get_content_type() == "text/html" else text
