"""`sssd-chat bench` end to end with a tiny model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sssd_chat.cli.main import main
from tests.cli.running import run
from tests.tiny_models import CHATML_TEMPLATE, tiny_model


@pytest.fixture(scope="module")
def model(models: Path) -> Path:
    return tiny_model(models, chat_template=CHATML_TEMPLATE)


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    path = tmp_path / "prompts.jsonl"
    lines = [json.dumps({"id": n, "turns": ["the cat " * (n + 1), "more"]}) for n in range(5)]
    path.write_text("\n".join(lines))
    return path


def record(model: Path, prompts: Path, out: Path, *words: str) -> list[dict]:
    result = run(
        "bench", "record", "--model", str(model), "--prompts", str(prompts), "--out", str(out),
        "--max-tokens", "30", "--threads", "1", "--ctx", "1500", *words,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in out.read_text().splitlines()]


def test_a_recording_in_parallel_is_the_recording_alone(
    model: Path, prompts: Path, tmp_path: Path
) -> None:
    together = record(model, prompts, tmp_path / "together.jsonl", "--parallel", "4")
    alone = record(model, prompts, tmp_path / "alone.jsonl", "--parallel", "1")

    def ordered(records: list[dict]) -> list[dict]:
        return sorted(records, key=lambda r: (r["id"], r["turn"]))

    first_turns = [
        [r["out"] for r in ordered(records) if r["turn"] == 0] for records in (together, alone)
    ]
    # Near-ties apart: the tokens agree from the start for at least a while.
    for left, right in zip(*first_turns, strict=True):
        assert left[:8] == right[:8]
    assert len(together) == len(alone) == 10
    for r in together:
        assert len(r["out"]) == len(r["top"]) == 30
        assert all(
            top[0] == token and len(top) == 4 for top, token in zip(r["top"], r["out"], strict=True)
        )


def test_a_recording_goes_on_where_it_was_stopped(
    model: Path, prompts: Path, tmp_path: Path
) -> None:
    out = tmp_path / "records.jsonl"
    whole = record(model, prompts, out)
    lines = out.read_bytes().splitlines(keepends=True)
    out.write_bytes(b"".join(lines[:7]) + lines[7][:20])
    again = record(model, prompts, out)
    assert again[:7] == whole[:7]
    keys = [(r["id"], r["turn"]) for r in again]
    assert sorted(keys) == sorted({(r["id"], r["turn"]) for r in whole})
    assert len(keys) == len(set(keys))


def test_a_recording_can_be_replayed(model: Path, prompts: Path, tmp_path: Path) -> None:
    out = tmp_path / "records.jsonl"
    record(model, prompts, out)
    result = run("bench", "replay", str(out), "--policy", "plain", "--policy", "sssd", "--json",
                 "--policy", "sssd-reference", "--policy", "prompt-lookup", "--calibration",
                 "--datastore", "growing")  # fmt: skip
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert set(report["policies"]) == {"plain", "sssd", "sssd-reference", "prompt-lookup"}
    plain = report["policies"]["plain"]["all"]
    assert plain["tau"] == 1.0 == pytest.approx(plain["speedup"])
    assert plain["acceptance"] is None
    for policy in report["policies"].values():
        assert set(policy) == {"all", "prompts"}
        assert policy["all"]["tokens"] == plain["tokens"]
        assert set(policy["all"]) >= {
            "tau", "speedup", "draft_size", "acceptance", "draft_us_median", "draft_us_p99",
            "tokens", "steps",
        }  # fmt: skip
    assert 0 <= report["calibration"]["sssd"]["expected_error"] <= 1
    table = run("bench", "replay", str(out), "--calibration")
    assert "speed-up" in table.stdout and "expected calibration error" in table.stdout


def test_live_modes_are_compared(model: Path, prompts: Path) -> None:
    words = ("bench", "live", "--model", str(model), "--prompts", str(prompts), "--threads", "1",
             "--max-tokens", "30", "--ctx", "1024", "--limit", "2")  # fmt: skip
    modes = ("plain", "sssd", "llama-cpp-python", "prompt-lookup")
    chosen = [word for mode in modes for word in ("--mode", mode)]
    result = run(*words, "--json", *chosen)
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert set(report["summary"]) == set(modes)
    assert report["summary"]["plain"]["ratio"]["mean"] == 1.0
    assert len(report["questions"]) == 2
    for question in report["questions"]:
        for mode in question["modes"].values():
            assert mode["tokens"] == 30
            assert mode["tokens_per_second"] > 0
        if not question["modes"]["sssd"]["same_text"]:
            assert question["difference"]["explained_by_rounding"]
    assert report["predicted"]["tau"] >= 1.0
    table = run(*words)
    assert table.returncode == 0
    assert "ratio" in table.stdout


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        ((), 2, "KIND"),
        (("replay",), 2, "RECORDS"),
        (("replay", "no-such-file"), 1, "no-such-file"),
        (("replay", "no-such-file", "--datastore", "some"), 2, "invalid choice"),
        (("record", "--prompts", "x"), 2, "--out"),
        (("live", "--prompts", "no-such-file"), 1, "no-such-file"),
    ],
)
def test_wrong_usage_is_told(words: tuple[str, ...], code: int, complaint: str) -> None:
    result = run("bench", *words)
    assert result.returncode == code
    assert complaint in result.stderr
    assert "Traceback" not in result.stderr


def test_throughput_is_measured_in_both_modes(
    model: Path, prompts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [
        *("bench", "throughput", "--model", str(model), "--prompts", str(prompts)),
        *("--parallel", "1,3", "--max-tokens", "6", "--least", "2", "--rounds", "1"),
        *("--threads", "1", "--ctx", "256"),
    ]
    assert main([*arguments, "--json"]) == 0
    results = json.loads(capsys.readouterr().out)["results"]
    assert [(one["parallel"], one["mode"]) for one in results] == [
        (1, "plain"),
        (1, "sssd"),
        (3, "plain"),
        (3, "sssd"),
    ]
    assert [one["tokens"] for one in results] == [10, 10, 32, 32]
    assert main(arguments) == 0
    table = capsys.readouterr().out.splitlines()
    assert len(table) == 5 and table[0].split()[:2] == ["at", "once"]
