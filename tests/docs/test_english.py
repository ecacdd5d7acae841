"""English of pages, --help and public docstrings: the field's words, no persons, plain headings, short sentences."""

import importlib
import re
import sys
from pathlib import Path

import click
import pytest

from tcpdynamics.apps.command.main import cli

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs" / "_ext"))
import written  # noqa: E402

PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES += sorted([*(ROOT / "docs/tutorial").glob("*.md"), *(ROOT / "docs/reference").glob("*.md")])
#: What a page should have -> what stood there in its place.
INSTEAD = {
    "no person (reports, raises, applies)": r"\b(says|tells|knows|hears|heeds?|told|asks|asked|judges?|judged)\b",
    "compared with, next to": r"\bbeside\b",
    "validated against": r"\b(held|holds?|holding)\b[^.|]{0,60}\bagainst\b",
    "distribution, formula": r"(?<!Little's )\blaws?\b",
    "random": r"\bdrawn (cases?|lists?|loss(es)?|numbers?|states?)\b",
    "interpretation, variant": r"\breadings?\b",
    "profile": r"\brule books?\b",
    "minimum, maximum": r"\b[Ll]east (RTT|round|timeout|retransmission|RTO)|\bgreatest\b",
    "because": r", for (it|they|the|there|no|each|this)\b",
    "except": r"\bbut for\b",
    "about": r"\bsome (\d|ten|fifty|hundred)",
    "retransmit": r"\b(sen[dt]s? again|resen[dt]s?|resending)\b",
    "its own, separate": r"\bof (its|their|one's|our) own\b",
    "backoff, timestamp": r"\b[Bb]ack-off\b|\btime stamps?\b",
    "transmission time": r"\bsending times?\b",
    "congested": r"\bcrowded\b",
    "packet by packet": r"\bsend by send\b",
    "equilibrium, trajectory": r"\b(at|of|points? of) rest\b|\bmotions?\b",
    "a thing or a task": r"^#+ (What|Who|Where (?!to go)|Without|A ).*[^?]$",
}


def prose(path):
    """The text of a page without code, links and tables' rules."""
    return words_of(re.sub(r"^(```|:::).*?^\1", "", path.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE))


def words_of(text):
    return re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`\n]*`", "`x`", text))


def commands(command, name, parent=None):
    """Every command with its context, those of each model and comparison too."""
    context = click.Context(command, info_name=name, parent=parent, terminal_width=1000)
    yield context
    for inner in command.list_commands(context) if isinstance(command, click.Group) else ():
        yield from commands(command.get_command(context, inner), inner, context)


HELP = {one.command_path: words_of(one.command.get_help(one)) for one in commands(cli, "tcpdynamics")}
TEXTS = {path.relative_to(ROOT).as_posix(): prose(path) for path in PAGES} | HELP


def house_words(text):
    found = {word: [m[0] for m in re.finditer(old, text, re.MULTILINE)] for word, old in INSTEAD.items()}
    return {word: old for word, old in found.items() if old}


@pytest.mark.parametrize("name", TEXTS)
def test_a_page_or_help_has_the_words_of_the_field(name):
    assert house_words(TEXTS[name]) == {}


def docstrings(package):
    """Of each public class and function and what it has, without examples and names of arguments."""
    for name in written._names(package):
        one = getattr(importlib.import_module(package), name)
        inner = {key: part for key, part in getattr(one, "__dict__", {}).items() if key[0] != "_"}
        for key, part in {"": one, **inner}.items():
            text = (part.__doc__ is not type(part).__doc__ and part.__doc__) or ""
            yield f"{package}.{name}.{key}", words_of(re.sub(r"(?m)^ *(>>>|\.\.\.).*|^ *[\w, ]+ :", "", text))


@pytest.mark.parametrize("package", ["tcpdynamics", "tcpdynamics.models", *written.PUBLIC])
def test_public_docstrings_have_the_words_of_the_field(package):
    assert {name: house_words(text) for name, text in docstrings(package) if house_words(text)} == {}


def test_sentences_have_at_most_twenty_five_words_on_average_and_pages_27_000_in_all():
    for path in PAGES:
        text = re.sub(r"^(#|\||- \||\s*[a-z_/]+$).*", "", prose(path), flags=re.MULTILINE)
        sentences = [s.split() for s in re.split(r"(?<=[.?!:])\s+|\n\n|\n- |\n\* ", text) if len(s.split()) > 2]
        assert not sentences or sum(map(len, sentences)) / len(sentences) <= 25, path.name
    assert sum(len(path.read_text("utf-8").split()) for path in PAGES if path.stem != "CHANGELOG") <= 27_000
