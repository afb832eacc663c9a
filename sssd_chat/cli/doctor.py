"""`sssd-chat doctor`: what this machine can do."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sssd_chat.cli import options as shared
from sssd_chat.errors import UserError
from sssd_chat.text import counted, parameter_count

if TYPE_CHECKING:
    from sssd_chat.diagnosis.machine import Machine, Terminal
    from sssd_chat.diagnosis.model import CostPoint, ModelReport
    from sssd_chat.diagnosis.report import Report
    from sssd_chat.diagnosis.store import PlaceReport, StoreReport

_BAR = 30
"""Columns of the longest bar."""
_EIGHTHS = " ▏▎▍▌▋▊▉"

_Lines = Iterator[tuple[str, str]]


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    result = argparse.ArgumentParser(
        prog="sssd-chat doctor",
        description="Shows what this machine can do: processor and llama.cpp, what a step of the "
        "chosen model costs and what drafting can gain, the datastore's health, places, versions, "
        "the terminal. Step costs that are not known are measured, which loads the model. Exit "
        "code 1 if something is wrong.",
    )
    shared.add_model_options(result)
    result.add_argument(
        "--json", action="store_true", help="one object for a bug report, with nothing private"
    )
    return result


def run(arguments: Sequence[str]) -> int:
    """Runs the command and returns the exit code."""
    from sssd_chat.logs import start_logging

    options = parser().parse_args(arguments)
    start_logging()
    report = _examine(options)
    if options.json:
        print(json.dumps(report.as_json(), indent=2))
        return 1 if report.problems else 0
    for title, lines in _sections(report):
        print(title)
        rows = list(lines)
        width = max(len(label) for label, _ in rows)
        for label, text in rows:
            print(f"  {label:{width}}  {_shown(text)}".rstrip())
        print()
    if not report.problems:
        print("Nothing is wrong.")
    for problem in report.problems:
        print(f"sssd-chat: {_shown(problem)}", file=sys.stderr)
    return 1 if report.problems else 0


def _examine(options: argparse.Namespace) -> Report:
    from sssd_chat.config import load_config
    from sssd_chat.diagnosis.machine import look_at_machine, look_at_terminal, versions
    from sssd_chat.diagnosis.model import look_at_model
    from sssd_chat.diagnosis.report import Report
    from sssd_chat.diagnosis.store import look_at_datastore, look_at_places

    config = load_config()
    model, problem = None, None
    # Before the model is loaded: afterwards the memory that is free is another one.
    machine = look_at_machine()
    try:
        model = look_at_model(shared.engine_settings(options, config))
    except UserError as error:
        problem = str(error)
    return Report(
        versions(),
        machine,
        look_at_terminal(),
        model,
        problem,
        look_at_datastore(),
        look_at_places(),
        config.notices,
    )


def _sections(report: Report) -> Iterator[tuple[str, _Lines]]:
    yield "Machine", _machine(report.machine)
    yield "Model", _model(report.model)
    if report.model is not None and report.model.points:
        yield "Step cost, by tokens in a step", _curve(report.model)
        yield "What drafting can gain", _gain(report.model)
    yield "Formats, as measured", _formats(report)
    yield "Datastore", _datastore(report.datastore)
    yield "Places", ((place.purpose, _place(place)) for place in report.places)
    yield "Terminal", _terminal(report.terminal)
    yield "Versions", iter(report.versions.items())


def _machine(machine: Machine) -> _Lines:
    yield "system", machine.system
    yield "processor", machine.processor
    yield (
        "cores",
        f"{machine.physical_cores} ({machine.logical_cores} with hyper-threads); a model uses "
        f"{machine.threads}",
    )
    yield "memory", f"{_bytes(machine.memory)}, {_bytes(machine.free_memory)} free"
    yield "copying", f"{_bytes(machine.copy_bandwidth)}/s read and written by one thread"
    for device in machine.devices:
        if device.is_gpu:
            free = f"{_bytes(device.free)} of {_bytes(device.total)} free"
            yield device.kind, f"{device.name}: {device.description}, {free}"
    if not any(device.is_gpu for device in machine.devices):
        yield "GPU", "none that this build of llama.cpp can use"
    for backend, names in machine.features.items():
        yield f"{backend} build", " ".join(names)


def _model(model: ModelReport | None) -> _Lines:
    from sssd_chat.generation.offloading import about_plan

    if model is None:
        yield "none", "see below"
        return
    told = model.description
    yield "file", str(model.path)
    quantization = told.quantization or "unknown quantization"
    yield (
        "kind",
        f"{told.architecture}, {parameter_count(told.parameters or 0)} parameters, {quantization}",
    )
    yield "size", f"{_bytes(told.bytes)}"
    if model.read_bandwidth is not None:
        yield "reading", f"{_bytes(model.read_bandwidth)}/s of weights in plain decoding"
    yield "drafts", told.draft_shape.in_words
    yield "runs with", _runs_with(model)
    yield "tuned", _tuned(model)
    if model.offload is not None:
        yield "on the GPU", about_plan(model.offload) or "all layers fit"


def _runs_with(model: ModelReport) -> str:
    count = model.threads
    threads = "a thread a core" if count is None else f"{count} thread{'s' * (count != 1)}"
    batches = f", {model.threads_batch} for batches" if model.threads_batch else ""
    cache = model.cache
    return (
        f"{threads}{batches}; KV cache in {cache.type_k} and {cache.type_v}, flash "
        f"attention {cache.flash_attention}"
    )


def _tuned(model: ModelReport) -> str:
    tuning = model.tuning
    if tuning is None:
        return "no; `sssd-chat tune` measures what is fastest here"
    if not tuning.changes:
        return f"on {tuning.measured_on}: nothing was better than the usual"
    changed = " ".join(f"{option} {value}" for option, value in tuning.changes.items())
    return (
        f"on {tuning.measured_on}, {changed}: {tuning.drafted_before:.1f} → {tuning.drafted:.1f} "
        "tokens/s expected with drafts"
    )


def _curve(model: ModelReport) -> _Lines:
    longest = max(point.ratio for point in model.points)
    for point in model.points:
        yield f"{point.tokens:4}", _bar(point, longest)


def _bar(point: CostPoint, longest: float) -> str:
    drawn = _drawn(point.ratio / longest)
    mark = "" if point.is_measured else "  (between measurements)"
    return f"{drawn:{_BAR}}  {point.seconds * 1e3:8.2f} ms {point.ratio:6.2f}×{mark}"


def _drawn(share: float) -> str:
    """A bar of that share of the longest, in blocks, or in # where the output has none."""
    if (sys.stdout.encoding or "").lower().replace("-", "") != "utf8":
        return "#" * max(1, round(share * _BAR))
    eighths = max(1, round(share * _BAR * 8))
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def _gain(model: ModelReport) -> _Lines:
    best = max(model.points, key=lambda point: point.gain)
    yield (
        "at most",
        f"{best.gain:.2f}× where every guess is right, {best.tokens} tokens a step",
    )
    if model.least_probability is not None:
        yield "a guess pays", f"from a chance of {model.least_probability:.0%} that it is right"
    source = "just now" if model.was_probed else "from the steps of earlier chats"
    yield "measured", source


def _formats(report: Report) -> _Lines:
    from sssd_chat.diagnosis.formats import EVIDENCE, MEASURED_ON, evidence_for

    for one in EVIDENCE:
        verdict = "batches well" if one.batches_well else "gains little from batching"
        yield (
            one.quantization,
            f"4 tokens cost {one.four:.2f}×, 16 cost {one.sixteen:.1f}×: {verdict} ({one.model})",
        )
    yield "where", MEASURED_ON
    model = report.model
    known = None if model is None else evidence_for(model.description.quantization)
    is_on_gpu = any(device.is_gpu for device in report.machine.devices)
    if known is not None and not known.batches_well and not is_on_gpu:
        yield "advice", "the chosen model in Q4_K_M, Q4_0 or Q8_0 would gain more from drafts here"


def _datastore(store: StoreReport) -> _Lines:
    yield (
        "holds",
        f"{store.documents:,} documents, {store.tokens:,} tokens, {_bytes(store.bytes)}",
    )
    yield (
        "indexes",
        f"{store.vocabularies} {'vocabulary' if store.vocabularies == 1 else 'vocabularies'}, "
        f"{counted(store.collections, 'collection')}, {counted(store.segments, 'segment')}",
    )
    found = counted(len(store.problems), "problem")
    yield "check", f"{found}, see below" if store.problems else "all files sound"


def _place(place: PlaceReport) -> str:
    state = "" if place.exists else "  (not made yet)"
    return f"{place.path}{state if place.is_writable else '  (cannot be written)'}"


def _terminal(terminal: Terminal) -> _Lines:
    if not terminal.is_terminal:
        yield "output", "goes to a file or a program"
    yield "name", f"{terminal.name or 'unknown'} {terminal.program}".strip()
    yield "size", f"{terminal.columns} columns, {terminal.rows} rows"
    yield "colours", terminal.colours
    yield "encoding", terminal.encoding or "unknown"
    if terminal.inside:
        yield "inside", ", ".join(terminal.inside)


def _bytes(count: float) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"


def _shown(text: str) -> str:
    from sssd_chat.text import for_display

    return for_display(text)
