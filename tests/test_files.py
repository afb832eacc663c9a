"""Files and folders that only their owner can read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from sssd_chat.files import make_private_folder, write_atomically


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_all_that_is_made_is_private_and_what_was_there_stays(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    there.chmod(0o755)
    file = there / "new" / "newer" / "file"
    before = os.umask(0)
    try:
        write_atomically(file, b"text")
    finally:
        os.umask(before)
    assert mode(there) == 0o755
    assert {mode(folder) for folder in (file.parent, file.parent.parent)} == {0o700}
    assert mode(file) == 0o600


def test_a_folder_that_is_there_is_left_alone_and_a_file_in_the_way_is_told(
    tmp_path: Path,
) -> None:
    make_private_folder(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(OSError):
        make_private_folder(tmp_path / "file" / "folder")
    with pytest.raises(OSError):
        make_private_folder(tmp_path / "file")
