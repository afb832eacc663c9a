"""Reading recordings, and the sentences about broken ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sssd_chat.bench.records import Record, read_records
from sssd_chat.errors import UserError

GOOD = {"set": "mt", "id": 1, "turn": 0, "prompt": [1, 2], "out": [3], "top": [[3, 4]]}


def written(folder: Path, *lines: object) -> Path:
    path = folder / "records.jsonl"
    path.write_text(
        "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    )
    return path


def test_records_are_read_in_order(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD, "", {**GOOD, "id": "b", "turn": 1})
    assert read_records([path]) == [
        Record("mt", 1, 0, (1, 2), (3,), ((3, 4),)),
        Record("mt", "b", 1, (1, 2), (3,), ((3, 4),)),
    ]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "not a JSON object"),
        ("[]", "not a JSON object"),
        ({key: value for key, value in GOOD.items() if key != "top"}, "no 'top'"),
        ({**GOOD, "set": 3}, "'set'"),
        ({**GOOD, "id": None}, "'id'"),
        ({**GOOD, "turn": "first"}, "'turn'"),
        ({**GOOD, "prompt": []}, "at least one"),
        ({**GOOD, "out": [], "top": []}, "at least one"),
        ({**GOOD, "prompt": "text"}, "'prompt' must hold token ids"),
        ({**GOOD, "out": [1.5]}, "'out' must hold token ids"),
        ({**GOOD, "out": [True]}, "'out' must hold token ids"),
        ({**GOOD, "prompt": [-1]}, "'prompt' must hold token ids"),
        ({**GOOD, "top": [[3], [4]]}, "one entry for each token"),
        ({**GOOD, "top": [3]}, "'top' must hold token ids"),
    ],
)
def test_a_broken_line_is_named(line: object, complaint: str, tmp_path: Path) -> None:
    path = written(tmp_path, GOOD, line)
    with pytest.raises(UserError) as caught:
        read_records([path])
    assert f"{path}, line 2: " in str(caught.value)
    assert complaint in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.jsonl"):
        read_records([tmp_path / "none.jsonl"])
    path = tmp_path / "binary.jsonl"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="not UTF-8"):
        read_records([path])
