"""What the cost curve says about drafting."""

import pytest

from sssd_chat.diagnosis.formats import EVIDENCE, evidence_for
from sssd_chat.diagnosis.machine import look_at_terminal, versions
from sssd_chat.diagnosis.model import _least_probability, _points
from sssd_chat.generation.cost import StepCost


def cost(**milliseconds: float) -> StepCost:
    found = StepCost(128)
    for name, value in milliseconds.items():
        found.observe(int(name[1:]), 1, value / 1e3)
    return found


def test_the_staircase_is_shown_and_its_best_step_found() -> None:
    """The curve of a 1.5B model that was measured on two cores."""
    curve = cost(n1=75, n2=106, n3=135, n4=117, n8=214, n16=271, n32=480, n64=784)
    points = {point.tokens: point for point in _points(curve)}
    assert set(points) == {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64}
    assert points[4].ratio == pytest.approx(1.56)
    assert points[4].gain == pytest.approx(2.564, abs=1e-3)
    assert max(point.gain for point in points.values()) == pytest.approx(64 * 75 / 784)
    assert points[16].is_measured and not points[12].is_measured
    # Three further tokens for 42 ms more is the cheapest there is, but for long drafts.
    assert _least_probability(curve) == pytest.approx((784 / 75 - 1) / 63)


def test_a_single_measurement_is_enough() -> None:
    (only,) = _points(cost(n1=10))
    assert (only.ratio, only.gain) == (1.0, 1.0)
    assert 0 < _least_probability(cost(n1=10)) <= 1


def test_formats_with_repacked_kernels_batch_well() -> None:
    well = {one.quantization for one in EVIDENCE if one.batches_well}
    assert well == {"Q4_K_M", "Q4_0", "Q8_0"}
    assert evidence_for("Q6_K") is None and evidence_for(None) is None


def test_the_terminal_is_told_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "COLORTERM", "STY", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("TMUX", "/tmp/tmux")
    assert (look_at_terminal().colours, look_at_terminal().inside) == ("256", ("tmux",))
    monkeypatch.setenv("COLORTERM", "truecolor")
    assert look_at_terminal().colours == "16 million"
    monkeypatch.setenv("NO_COLOR", "1")
    assert look_at_terminal().colours == "none"


def test_versions_name_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    from sssd_chat.diagnosis import machine

    monkeypatch.setattr(machine, "_PACKAGES", ("numpy", "not-installed-anywhere"))
    assert versions()["not-installed-anywhere"] == "missing"
    assert versions()["numpy"][0].isdigit()
