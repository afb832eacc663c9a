from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sssd_chat.datastore.savings import Saving, add_savings, forget_savings, read_savings


def test_sums_grow_and_are_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "new" / "savings.json"
    assert read_savings(path) == {}
    add_savings(path, {"a": Saving(2, 0.5), "b": Saving(1, -0.25)})
    add_savings(path, {"a": Saving(3, 1.0)})
    assert read_savings(path) == {"a": Saving(5, 1.5), "b": Saving(1, -0.25)}
    forget_savings(path, ["b", "none"])
    assert read_savings(path) == {"a": Saving(5, 1.5)}
    forget_savings(path)
    assert read_savings(path) == {}


def test_nothing_to_add_makes_no_file(tmp_path: Path) -> None:
    add_savings(tmp_path / "savings.json", {})
    forget_savings(tmp_path / "savings.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"[]", b'{"a": 3}', b"\xff", b'{"a": [1, "x"]}'])
def test_a_damaged_file_counts_from_zero(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "savings.json"
    path.write_bytes(content)
    assert read_savings(path) == {}
    add_savings(path, {"a": Saving(1, 1.0)})
    assert read_savings(path) == {"a": Saving(1, 1.0)}


def test_processes_do_not_lose_each_others_sums(tmp_path: Path) -> None:
    path = tmp_path / "savings.json"
    code = (
        "import sys; from pathlib import Path\n"
        "from sssd_chat.datastore.savings import Saving, add_savings\n"
        "for _ in range(40): add_savings(Path(sys.argv[1]), {'a': Saving(1, 0.5)})\n"
    )
    children = [subprocess.Popen([sys.executable, "-c", code, str(path)]) for _ in range(3)]
    assert [child.wait() for child in children] == [0, 0, 0]
    assert read_savings(path) == {"a": Saving(120, 60.0)}
