"""Marks of a paper as a reader finds them: by the printed sentence, from what is printed."""

from __future__ import annotations

from tcpdynamics.paper_figures.statements import KINDS_IN_WORDS, MARKS


def marks_by_the_sentence(outcomes: list[tuple[str, str, str]]) -> dict[str, tuple[int, int]]:
    """Marks that a reader finds with the printed sentence: of (weight, kind, verdict), as they are printed."""
    assert "those that hold, of those decided" in MARKS and "under some only, it is decided and not held" in MARKS
    assert "it cannot be decided. Marks omit these, arithmetic and calibrating ones." in MARKS
    out = {}
    for kind in KINDS_IN_WORDS:
        verdicts = [v for weight, k, v in outcomes if k == kind and weight != "arithmetic"]
        out[kind] = (verdicts.count("holds"), len([v for v in verdicts if v not in ("cannot be decided", "")]))
    return out


def verdict_by_the_sentence(readings: list[str], on_both_sides: bool) -> str:
    """A verdict that a reader finds with the printed sentence, from verdicts under each reading."""
    assert "if its cells do under each interpretation that decides; under some only, it is decided" in MARKS
    assert "If most decide nothing, or all fail on both sides of a printed number" in MARKS
    deciding = [verdict for verdict in readings if verdict != "cannot be decided"]
    if len(readings) - len(deciding) > len(readings) / 2 or ("holds" not in deciding and on_both_sides):
        return "cannot be decided"
    if "holds" not in deciding:
        return "does not hold"
    return "holds" if set(deciding) == {"holds"} else "holds with conditions"
