from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sssd_chat import __version__, paths
from sssd_chat.cli.main import COMMANDS, main
from tests.cli.running import run, run_fresh


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_every_command_has_help_on_stdout(name: str) -> None:
    result = run(*([name] if name else []), "--help")
    assert result.returncode == 0
    assert f"sssd-chat {name}".strip() in result.stdout
    assert result.stderr == ""


def test_help_lists_every_command() -> None:
    result = run("--help")
    for name, purpose in COMMANDS.items():
        assert name in result.stdout
        assert purpose in result.stdout


def test_the_version() -> None:
    assert run_fresh("--version").stdout == f"sssd-chat {__version__}\n"


def test_an_unknown_command_is_wrong_usage() -> None:
    result = run("nonsense", "--json")
    assert result.returncode == 2
    assert "no command nonsense; `sssd-chat --help`" in result.stderr
    assert "did you mean datastore?" in run("datastor", "list").stderr


def test_the_chat_needs_a_terminal_and_says_what_to_use_instead() -> None:
    result = run()
    assert result.returncode == 2
    assert "sssd-chat ask" in result.stderr


@pytest.mark.parametrize("name", ["ask", "chats", "models", "doctor", "config", "verify"])
def test_help_loads_nothing_heavy(name: str) -> None:
    """Starting must not wait for what help does not need."""
    code = (
        "import sys\nfrom sssd_chat.cli.main import main\n"
        f"try: main(['{name}', '--help'])\nexcept SystemExit: pass\n"
        "heavy = {'numpy', 'textual', 'llama_cpp', 'jinja2', 'psutil', 'sqlite3', 'asyncio'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    import subprocess

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.strip() == "[]"


def test_a_fault_of_the_program_goes_to_the_log(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_: object) -> int:
        raise RuntimeError("boom")

    monkeypatch.setattr("sssd_chat.cli.verify.run", broken)
    assert main(["verify", "x"]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert str(paths.log_file()) in error
    assert "boom" in paths.log_file().read_text()
    assert paths.log_file().stat().st_mode & 0o077 == 0


def test_an_interrupt_is_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("sssd_chat.cli.verify.run", interrupted)
    assert main(["verify", "x"]) == 130


@pytest.mark.parametrize(
    "words",
    [
        ["chats", "list"],
        ["chats", "import", "nothing.json"],
        ["chats", "delete", "1"],
        ["datastore", "forget", "--all", "--yes"],
        ["datastore", "forget", "--collection", "notes"],
        ["import", ".", "--collection", "notes"],
        ["config", "set", "answer.temperature", "0"],
    ],
    ids=" ".join,
)
def test_a_file_in_the_way_of_a_folder_is_told_by_its_name(
    words: list[str], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home.mkdir()
    (home / ("config" if words[0] == "config" else "data")).write_text("in the way")
    assert main(words) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and error.endswith(".\n")
    assert f"{home}/" in error and "File exists" in error
    assert "Errno" not in error and "inside the program" not in error


def test_a_locale_without_some_characters_loses_those_and_no_more(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    paths.config_file().parent.mkdir(parents=True)
    paths.config_file().write_text('[answer]\nsystem = "世 fin"\n', encoding="utf-8")
    result = run_fresh("config", "show")
    assert (result.returncode, result.stderr) == (0, "")
    assert 'system = "? fin"' in result.stdout


@pytest.mark.parametrize(
    "words",
    [
        ["chats", "search", "WORD"],
        ["chats", "export", "--all", "-o", "WORD"],
        ["chats", "import", "WORD"],
        ["config", "set", "answer.system", "WORD"],
        ["config", "set", "WORD", "1"],
        ["models", "info", "WORD"],
        ["models", "use", "WORD"],
        ["datastore", "audit", "WORD"],
        ["datastore", "forget", "--collection", "WORD", "--yes"],
        ["datastore", "forget", "--document", "WORD", "--yes"],
        ["import", ".", "--collection", "WORD"],
        ["import", "WORD", "--collection", "notes", "--dry-run"],
        ["WORD"],
    ],
    ids=" ".join,
)
def test_bytes_that_are_no_text_are_no_fault_of_the_program(
    words: list[str],
    home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    main([word.replace("WORD", "not text: \x1b[31mcaf\udce9") for word in words])
    error = capsys.readouterr().err
    assert "inside the program" not in error and "Errno" not in error
    assert "\x1b" not in error


@pytest.mark.parametrize(
    "words", [["import", "", "--collection", "notes"], ["ask", "--attach", "", "hello"]]
)
def test_an_empty_path_is_wrong_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    # It is not the current folder: a variable of a script was not set.
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    assert "the path is empty" in capsys.readouterr().err


@pytest.mark.parametrize("where", ["sssd_chat.cli.config.run", "importlib.import_module"])
def test_an_interrupt_is_silent(
    where: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(where, interrupted)
    assert main(["config", "path"]) == 130
    assert capsys.readouterr() == ("", "")
