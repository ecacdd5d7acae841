"""Marks of a paper as a reader finds them: by the printed sentence, from what is printed."""

from __future__ import annotations

from tcpdynamics.paper_figures.statements import KINDS_IN_WORDS, MARKS


def marks_by_the_sentence(outcomes: list[tuple[str, str, str]]) -> dict[str, tuple[int, int]]:
    """Marks that a reader finds with the printed sentence: of (weight, kind, verdict), as they are printed."""
    assert "those that hold, of those decided" in MARKS and "it is decided and not held" in MARKS
    assert "cannot be decided counts on neither side, arithmetic for no mark" in MARKS
    out = {}
    for kind in KINDS_IN_WORDS:
        verdicts = [v for weight, k, v in outcomes if k == kind and weight != "arithmetic"]
        out[kind] = (verdicts.count("holds"), len([v for v in verdicts if v not in ("cannot be decided", "")]))
    return out
