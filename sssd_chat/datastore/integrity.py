"""Whether a datastore is what its writer made."""

from __future__ import annotations

from sssd_chat.datastore.disk import Disk
from sssd_chat.datastore.journal import read_journal
from sssd_chat.datastore.manifest import DamagedManifest, load_manifest


def problems(disk: Disk) -> list[str]:
    """Everything that is wrong with the files of a datastore, a sentence each. Reads all of
    them."""
    found: list[str] = []
    try:
        if load_manifest(disk.folder) != disk.manifest and disk.is_writing:
            found.append(f"{disk.folder}: another program has written to it meanwhile")
    except DamagedManifest as error:
        found.append(f"{disk.folder}: the manifest is damaged: {error}")
    except OSError as error:
        found.append(f"{disk.folder}: the manifest cannot be read: {error.strerror}")
    for entry in disk.manifest.segments:
        name = disk.folder / entry.file
        segment = disk.segments.get(entry.file)
        try:
            wrong = "it is missing" if segment is None else disk.check(segment)
            # A suffix array is looked at only when the checksum vouches for the labels.
            wrong = wrong or (segment.check_integrity() if segment is not None else None)
        except OSError as error:
            wrong = f"it cannot be read: {error.strerror}"
        if wrong:
            found.append(f"{name} is damaged: {wrong}")
        elif segment is not None and len(segment) != entry.tokens:
            found.append(f"{name} is damaged: the manifest says it has {entry.tokens} tokens")
    try:
        damage = read_journal(disk.folder / disk.manifest.journal).damage
    except OSError as error:
        damage = f"it cannot be read: {error.strerror}"
    if damage:
        found.append(f"{disk.folder / disk.manifest.journal} is damaged: {damage}")
    return found
