"""Tunes a model file: loads it, measures, and tells what is best. Keeps nothing by itself."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import psutil

from sssd_chat.diagnosis.model_bench import ModelBench
from sssd_chat.diagnosis.trials import Candidate
from sssd_chat.diagnosis.tuning import (
    Fixed,
    Progress,
    Tuner,
    TuningReport,
    as_tuning,
    thread_counts,
)
from sssd_chat.generation.loading import EngineSettings
from sssd_chat.generation.opening import open_model
from sssd_chat.generation.tuning import Tuning
from sssd_chat.llama.gguf import read_header
from sssd_chat.llama.runtime import physical_cores


def tune_model(
    settings: EngineSettings, seconds: float, is_lossy: bool, progress: Progress
) -> tuple[TuningReport, Tuning]:
    """Measures for about `seconds`, the loading not counted. What the settings say stays as it is.
    Raises UserError when the model cannot be used."""
    settings = replace(settings, tuning_folder=None)
    progress("loading the model", 1)
    header = read_header(settings.path)
    opened = open_model(settings, header)
    # Its layers are where they fit; contexts are made for each candidate.
    opened.target.close()
    model = opened.model
    bench = ModelBench(model)
    try:
        threads = settings.threads or physical_cores()
        usual = Candidate(threads, settings.threads_batch or threads, settings.cache)
        bench.open(usual)
        given = (settings.flash_attention, settings.cache_type_k, settings.cache_type_v)
        tuner = Tuner(
            bench,
            model.header,
            usual,
            thread_counts(physical_cores(), _logical_cores()),
            bench.largest,
            seconds,
            Fixed(
                threads=settings.threads is not None or settings.threads_batch is not None,
                cache=given != (None, None, None),
            ),
            is_lossy,
            model.on_gpu,
            bench.text_tokens,
            progress,
        )
        report = tuner.run()
    finally:
        bench.close()
        model.close()
    return report, as_tuning(report, date.today().isoformat())


def _logical_cores() -> int:
    """Those this process may use, hyper-threads counted."""
    process = psutil.Process()
    if hasattr(process, "cpu_affinity"):
        return len(process.cpu_affinity())
    return psutil.cpu_count() or 1
