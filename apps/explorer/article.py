"""Articles: one a paper, in steps that move a picture of a page.

`articles/` has a text for each. Its head names the page whose pictures it moves; each step has lines `key: value` and
then paragraphs:

- `figure`: the picture; `page`: the page that has it, where it is not the article's; `set`: values of controls,
  `name=value` each, the others as on a fresh page; `ends`: those of sliders, `name=low..high` each, where a step does
  not show the whole range;
- `guess`: `number | question | low | high | unit | step`: a number that the page computes, guessed before it is shown
  (a hundredth of the range where no step is given);
- in paragraphs, `{name}` is the control, `{=name}` a number that the page computes (`{=name %}` in per cent) or a count
  of the paper's statements, `{=verdicts}` the sentence part that has all of them, `[[statement]]` the
  verdict on a statement of the ledger, `[text](address)` a link; below a line `---` stands what follows the guess.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

from tcpdynamics.errors import InputError
from tcpdynamics.paper_figures.rules import CONDITIONS, FAILS, HOLDS, OPEN
from tcpdynamics.paper_figures.statements import SEVERAL

from .page import Page

#: Words of an article, headings included.
MAX_WORDS = 1100
#: Verdict -> the name of its count.
_COUNTS = {HOLDS: "holds", CONDITIONS: "conditions", FAILS: "fails", OPEN: "undecided"}
_VERDICTS = ", ".join(f"{{={name}}} {SEVERAL[verdict]}" for verdict, name in _COUNTS.items())
#: How a statement ends that no paper makes.
OURS = "(a check of ours)."
_KEYS = ("figure", "page", "set", "ends", "guess")
_LINE = re.compile(r"^(\w+): (.+)$", re.M)
_STATEMENT = re.compile(r"\[\[([\w.]+)\]\]")
_CONTROL = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Article:
    """What `articles/` says of a paper.

    Attributes
    ----------
    slug, title, finding : str
        Address; name in the menu; what came out, in a sentence.
    paper : str
        Its name in the ledger.
    page : str
        Slug of the page whose pictures it moves.
    heading : str
        What stands on top.
    steps : tuple of mappings
        As the script takes them: `heading`, `figure`, `page`, `values`, `ends` (of sliders that have their own),
        `guess`, `before` and `after` (paragraphs).
    """

    slug: str
    title: str
    finding: str
    paper: str
    page: str
    heading: str
    steps: tuple[dict[str, Any], ...]

    def words(self) -> int:
        """Words that a reader reads."""
        texts = [self.heading, *(text for s in self.steps for text in (s["heading"], *s["before"], *s["after"]))]
        return sum(len(text.split()) for text in texts)

    def statements(self) -> list[str]:
        """Statements of the ledger that stand beside sentences."""
        return [name for s in self.steps for text in (*s["before"], *s["after"]) for name in _STATEMENT.findall(text)]


def read(slug: str, text: str) -> Article:
    """An article from its text.

    Raises
    ------
    InputError
        A line of the head is missing, or a step has an unknown key.
    """
    head, *steps = re.split(r"^## ", text, flags=re.M)
    lines = {name: words for name, words in _LINE.findall(head)}
    missing = {"title", "finding", "paper", "page", "heading"} - lines.keys()
    if missing:
        raise InputError(f"the article {slug} has no {', '.join(sorted(missing))} in its head")
    return Article(slug, steps=tuple(_step(slug, step) for step in steps), **lines)


def _step(slug: str, text: str) -> dict[str, Any]:
    heading, *lines = text.strip().splitlines()
    keys: dict[str, str] = {}
    while lines and (line := _LINE.fullmatch(lines[0])):
        if line[1] not in _KEYS:
            raise InputError(f"a step of the article {slug} has no {line[1]}; it has {', '.join(_KEYS)}")
        keys[line[1]] = line[2]
        lines = lines[1:]
    before, _, after = "\n".join(lines).partition("\n---\n")
    values, ends = (dict(pair.split("=") for pair in keys.get(key, "").split()) for key in ("set", "ends"))
    return {
        "heading": heading,
        "figure": keys.get("figure", ""),
        "page": keys.get("page", ""),
        "values": values,
        "ends": ends,
        "guess": _guess(keys["guess"]) if "guess" in keys else None,
        "before": _paragraphs(before),
        "after": _paragraphs(after),
        "controls": _CONTROL.findall(before + after),
    }


def _guess(text: str) -> dict[str, Any]:
    number, question, low, high, unit, *step = (part.strip() for part in text.split("|"))
    ends = {
        "low": float(low),
        "high": float(high),
        "step": float(step[0]) if step else (float(high) - float(low)) / 100,
    }
    return {"number": number, "question": question, "unit": unit} | ends


def _paragraphs(text: str) -> list[str]:
    return [" ".join(part.split()).replace("{=verdicts}", _VERDICTS) for part in text.split("\n\n") if part.strip()]


@cache
def articles() -> dict[str, Article]:
    """slug -> article, in the order of the files' names."""
    by_slug = {}
    for file in sorted(resources.files(f"{__package__}.articles").iterdir(), key=lambda file: file.name):
        if file.name.endswith(".md"):
            slug = "paper-" + file.name.removesuffix(".md").partition("_")[2]
            by_slug[slug] = read(slug, file.read_text(encoding="utf-8"))
    return by_slug


def facts(article: Article, pages: Mapping[str, Page]) -> dict[str, Any]:
    """What the script must know of an article: its steps, with checked values, and the statements that it names."""
    from tcpdynamics.paper_figures import ledger

    steps, moved = [], others_of(article)
    for step in article.steps:
        page = pages[step["page"] or article.page]
        values, complaints = page.read(step["values"])
        if complaints:
            raise InputError(f"the article {article.slug}: {complaints[0]}")
        ends = {c.name: _ended(c, step["ends"][c.name]) for c in page.controls if c.name in step["ends"]}
        steps.append(step | {"values": values, "ends": ends})
    return {
        "heading": article.heading,
        "finding": article.finding,
        "cite": ledger.ledger().papers[article.paper].cite,
        "steps": steps,
        "page": article.page,
        "bench": pages[article.page].title,
        "pages": {slug: pages[slug].spec() for slug in moved},
        "counts": _counts(article.paper),
        "statements": {name: _statement(name) for name in article.statements()},
    }


def _ended(c: Any, text: str) -> dict[str, Any]:
    """What a slider has of its own in a step, of "low..high"."""
    low, high = map(float, text.split(".."))
    return {"low": low, "high": high, "range": replace(c, low=low, high=high).range()}


def others_of(article: Article) -> tuple[str, ...]:
    """Pages beside its own whose pictures it moves."""
    return tuple(dict.fromkeys(step["page"] for step in article.steps if step["page"]))


@cache
def _ledger() -> dict[str, dict[str, Any]]:
    """The ledger's statements by their names; they are made once, which takes a second."""
    from tcpdynamics.paper_figures import ledger, statements

    from .. import ledger_rows

    came = ledger.recorded()["rows"]
    return {
        one.statement.id: {"paper": paper, **ledger_rows.statement(one, came)}
        for paper, summary in statements.summaries(came).items()
        for one in summary.in_order
    }


def _counts(paper: str) -> dict[str, int]:
    """How many statements of a paper have each verdict, by names that an article may write as numbers."""
    listed = [one["verdict"] for one in _ledger().values() if one["paper"] == paper]
    return {name: listed.count(verdict) for verdict, name in _COUNTS.items()} | {"statements": len(listed)}


@cache
def _statement(name: str) -> dict[str, Any]:
    """A statement as it stands beside a sentence: what the paper says, what came out, why, how to decide it again."""
    from tcpdynamics.paper_figures import ledger

    from .. import claim_words

    if name not in _ledger():
        raise InputError(f"there is no statement {name} in the ledger")
    one = _ledger()[name]
    open_ = one["missing"] and f"The paper does not print {one['missing']}."
    reason = one["reason"] or (one["condition"] and f"It holds {one['condition']}.") or open_
    claims, came = ledger.claims(), ledger.recorded()["rows"]
    cell = claim_words.chosen_cell(one["cells"], one["verdict"], came)
    return {
        "says": one["says"].replace(f" {OURS}", "."),
        "verdict": one["verdict"],
        "kind": f"{one['weight']} {one['kind']}",
        "ours": one["says"].endswith(OURS),
        "measured": claim_words.measured(claims[cell], came[cell], one["verdict"]),
        "reason": reason,
        "cell": cell,
        "command": f"tcpdynamics figures {cell} --decide",
    }


def page_of(article: Article, pages: Mapping[str, Page]) -> Page:
    """The article as a page of the explorer, with the controls and pictures of the page that it moves."""
    page = pages[article.page]
    return Page(
        slug=article.slug, title=article.title, question=article.finding, controls=page.controls,
        figures=page.figures, printed=page.printed, script=page.slug, article=True, others=others_of(article),
        facts=lambda whole: facts(article, pages) | (page.facts(whole) if page.facts else {}),
    )  # fmt: skip
