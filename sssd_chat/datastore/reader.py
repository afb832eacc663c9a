"""A datastore for those who only look things up: no lock is taken, nothing is mended."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sssd_chat.datastore.disk import Disk
from sssd_chat.datastore.info import CollectionInfo, inventory
from sssd_chat.datastore.integrity import problems
from sssd_chat.datastore.pending import Pending
from sssd_chat.datastore.snapshot import Snapshot


class DatastoreReader:
    """The datastore in a folder, as it was at the last `refresh`. Raises nothing: what cannot be
    read is not there. For one thread."""

    def __init__(self, folder: Path) -> None:
        """Reads all of it once, to check it."""
        self._disk = Disk(folder)
        self.snapshot = Snapshot()
        """What is searched."""
        self._read()

    def refresh(self) -> None:
        """Takes in what other programs wrote or forgot since."""
        if self._disk.has_changed():
            self._read()

    def _read(self) -> None:
        disk, pending = self._disk, Pending()
        try:
            pending.fill(disk.read())
            while (segment := disk.unchecked()) is not None:
                # The search in C trusts what it is given.
                if disk.check(segment):
                    disk.do_without(segment.file)
                else:
                    disk.checked.add(segment.file)
        except OSError:
            self.snapshot = Snapshot()
            return
        self.snapshot = Snapshot((*disk.segments.values(), *pending.segments))


@dataclass(frozen=True, slots=True)
class Inspection:
    """What one index holds, and what is wrong with it."""

    collections: tuple[CollectionInfo, ...] = ()
    problems: tuple[str, ...] = ()
    """Without a full stop."""


def inspect(folder: Path) -> Inspection:
    """Looks at the index in `folder` and reads all of it. Raises nothing; another program may write
    to it meanwhile."""
    disk, pending = Disk(folder), Pending()
    try:
        pending.fill(disk.read())
    except OSError as error:
        return Inspection(problems=(f"{folder} cannot be read: {error.strerror or error}",))
    segments = [*disk.segments.values(), *pending.segments]
    infos = inventory((one, disk.size(one) if one.file else one.memory_bytes) for one in segments)
    return Inspection(tuple(infos), tuple(dict.fromkeys(disk.damage + problems(disk))))
