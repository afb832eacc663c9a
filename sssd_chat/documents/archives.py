"""Zip files opened without trust: archives, and the formats that are zip files inside."""

from __future__ import annotations

from zipfile import BadZipFile, ZipFile, ZipInfo

from sssd_chat.documents.document import DocumentError, Source, amount

_ENCRYPTED = 0x1
_OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_RATIO_MATTERS = 1_000_000


class ZipBombError(DocumentError):
    """An archive that would become far larger than it is; nothing of it is read any more."""


def open_zip(source: Source) -> ZipFile:
    """The list of what is in a zip file. Raises DocumentError if it is none, or too long."""
    source.file.seek(0)
    magic = source.file.read(len(_OLE_MAGIC))
    if magic == _OLE_MAGIC:
        raise DocumentError("is encrypted or of an older Office format; save it without a password")
    try:
        archive = ZipFile(source.file)
    except BadZipFile:
        raise DocumentError("is damaged: its list of contents cannot be read") from None
    count = len(archive.infolist())
    if count > source.limits.archive_members:
        raise DocumentError(f"holds {count} files, more than {source.limits.archive_members}")
    return archive


def unpack(archive: ZipFile, member: ZipInfo, source: Source) -> bytes:
    """The bytes of one file in a zip file, in memory. Counts against what may be unpacked.

    Raises ZipBombError, DocumentError about an encrypted or too large file, and what `zipfile`
    raises about a damaged one.
    """
    if member.flag_bits & _ENCRYPTED:
        raise DocumentError("is encrypted; save a copy without a password")
    allow(member, source)
    # zipfile never gives more than the size that was announced, which allow() has judged.
    return archive.read(member)


def allow(member: ZipInfo, source: Source) -> None:
    """Counts a file that is about to be unpacked. Raises ZipBombError or DocumentError."""
    size = member.file_size
    if size > _RATIO_MATTERS and size > member.compress_size * source.limits.unpacked_ratio:
        raise ZipBombError(
            f"looks like a zip bomb: {amount(member.compress_size)} in it become {amount(size)}"
        )
    source.unpacked.count += size
    if source.unpacked.count > source.limits.unpacked_bytes:
        raise ZipBombError(
            f"would become more than {amount(source.limits.unpacked_bytes)} when unpacked"
        )
    if size > source.limits.member_bytes:
        raise DocumentError(f"is larger than {amount(source.limits.member_bytes)} unpacked")
