"""Files of any supported format become text.

`walk` finds the files in what a person names; `read_files` reads many, each in a process with a
limit on time and memory, and `read_file` one; `hash_file` tells whether a file is new. `FORMATS`
and `EXTENSIONS` list what can be read.
"""

from sssd_chat.documents.document import Document, DocumentError, Limits, Reader, Source
from sssd_chat.documents.formats import EXTENSIONS, FORMATS, Format, format_of
from sssd_chat.documents.opening import hash_file
from sssd_chat.documents.pool import (
    Event,
    FileFailed,
    FileRead,
    FileUnwanted,
    Piece,
    WorkerError,
    read_file,
    read_files,
)
from sssd_chat.documents.reading import read_source
from sssd_chat.documents.walking import Found, Reason, Skipped, WalkSettings, walk

__all__ = [
    "EXTENSIONS",
    "FORMATS",
    "Document",
    "DocumentError",
    "Event",
    "FileFailed",
    "FileRead",
    "FileUnwanted",
    "Format",
    "Found",
    "Limits",
    "Piece",
    "Reader",
    "Reason",
    "Skipped",
    "Source",
    "WalkSettings",
    "WorkerError",
    "format_of",
    "hash_file",
    "read_file",
    "read_files",
    "read_source",
    "walk",
]
