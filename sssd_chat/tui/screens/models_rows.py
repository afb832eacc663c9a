"""The rows of the list of models."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.content import Content

from sssd_chat.conversation.catalogue import ModelChoice
from sssd_chat.text import for_row, one_line
from sssd_chat.tui.figures import size
from sssd_chat.tui.widgets.row_list import Row

_SIZE_WIDTH = 10
_PROBLEM_LINES = 2
_INDENT = "  "
_SPACE = Row(None, 1, lambda _width: ())


def model_rows(models: Sequence[ModelChoice], typed: str, loaded: str) -> list[Row]:
    """A row for each model that holds all typed words; those that can be used come first. The
    `loaded` one, by its path, is marked."""
    words = typed.casefold().split()
    fitting = [model for model in models if all(word in _searched(model) for word in words)]
    usable = [model for model in fitting if not model.problem]
    refused = [model for model in fitting if model.problem]
    rows: list[Row] = []
    for model in usable:
        rows += [Row(model.path, 2, _usable(model, model.path == loaded)), _SPACE]
    if refused:
        rows += [Row(None, 1, _headline), _SPACE]
        rows += [Row(None, 2 + _PROBLEM_LINES, _refused(model)) for model in refused]
    return rows


def _searched(model: ModelChoice) -> str:
    parts = (model.name, model.description, model.quantization, model.licence, model.path)
    return " ".join(parts).casefold()


def _headline(_width: int) -> Sequence[Content]:
    return [Content.styled("Cannot be used", "bold $muted")]


def _usable(model: ModelChoice, is_loaded: bool) -> Callable[[int], Sequence[Content]]:
    def draw(width: int) -> Sequence[Content]:
        mark = Content.styled("● " if is_loaded else _INDENT, "$accent")
        name = Content.styled(one_line(for_row(model.name)), "bold")
        remark = "in use" if is_loaded else "in the settings" if model.in_use else ""
        if remark:
            name = Content.assemble(name, (f"  {remark}", "$accent"))
        return [
            _first_line(mark, name, model.bytes, width),
            Content.assemble(_INDENT, (one_line(for_row(" · ".join(_facts(model)))), "$muted")),
        ]

    return draw


def _facts(model: ModelChoice) -> list[str]:
    facts = (
        model.description,
        model.quantization,
        f"{model.context:,} tokens" if model.context else "",
        model.batches_well,
        model.licence or "no licence stated",
    )
    return [fact for fact in facts if fact]


def _refused(model: ModelChoice) -> Callable[[int], Sequence[Content]]:
    def draw(width: int) -> Sequence[Content]:
        name = Content.styled(one_line(for_row(model.name)), "$muted")
        room = max(10, width - 2 * len(_INDENT))
        return [
            _first_line(Content.styled("✖ ", "$error"), name, model.bytes, width),
            *(Content.assemble(_INDENT, line) for line in _wrapped(model.problem, room)),
        ]

    return draw


def _wrapped(problem: str, width: int) -> list[Content]:
    """The first lines of a sentence; the last one says when there are more."""
    lines = Content.styled(one_line(for_row(problem)), "$muted").wrap(width)
    if len(lines) > _PROBLEM_LINES:
        last = lines[_PROBLEM_LINES - 1].truncate(width - 2)
        lines[_PROBLEM_LINES - 1 :] = [Content.assemble(last, (" …", "$muted"))]
    return lines


def _first_line(mark: Content, name: Content, bytes: int, width: int) -> Content:
    room = max(4, width - mark.cell_length - _SIZE_WIDTH)
    shown = name.truncate(room, ellipsis=True, pad=True)
    return Content.assemble(mark, shown, (f"{size(bytes):>{_SIZE_WIDTH}}", "$muted"))
