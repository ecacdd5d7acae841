"""An address is read alike by the server and by a page: ten thousand drawn ones, by Node where it is installed."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tcpdynamics.apps.explorer.bundle import bundle
from tcpdynamics.apps.explorer.page import NOT_EMBEDDED, Choice, Control, Text
from tcpdynamics.apps.explorer.pages import pages
from tcpdynamics.apps.explorer.server import words_of
from tcpdynamics.errors import InputError
from tcpdynamics.quantities import TABLES, quantity

COUNT = 10_000
PAGES = {slug: page for slug, page in pages().items() if page.controls}
ODD = (
    "", " ", "nan", "inf", "-inf", "1e999", "-1", "0", "1/4", "3/0", "10 %", "5%", "1,2", "0x10", "1_000", "٣", "'",
    '"', "it's", "<b>",
    "\x1c5", "\x855", "\ufeff1", "\xa05", "\u200b", "5\n", "a\tb", "\u3000", "😀" * 50, "\U000e0001",
    "\\", "1e-3", "2.5", "7", "100", "200ms", "3Mbit/s", "0.1 s", "+2", ".5", "5.", "9" * 61, "é", "😀",
)  # fmt: skip


def drawn(random: random.Random) -> tuple[str, str]:
    """A page, and the words of an address of it: mostly right, some wrong, twice, strange, many or long."""
    slug = random.choice(list(PAGES))
    controls = PAGES[slug].controls
    pairs = []
    for c in random.sample(controls, random.randint(0, min(4, len(controls)))):
        if random.random() < 0.3:
            text = random.choice(ODD)
        elif isinstance(c, Choice):
            text = random.choice(c.choices)
        elif isinstance(c, Text):
            text = random.choice(
                [c.start, "x' = -k*x(t - 1) + 100%\r\nk = 1 in 0..2", "x&y=1;+#\n", "é" * 2000, "x" * 2001]
            )
        else:
            x = random.uniform(c.low - 0.1 * (c.high - c.low), c.high + 0.1 * (c.high - c.low))
            text = repr(float(round(x)) if c.step == 1 and random.random() < 0.8 else x)
        pairs.append((c.name, text))
    if random.random() < 0.1:
        words = ("1", "first", "yes", "chart", "9")
        others = [(name, text) for name in ("guess", "embed", "figure", "step") for text in words]
        pairs.append(random.choice([*others, ("zzz", "1"), ("__proto__", "2")]))
    if random.random() < 0.02:
        pairs += [("step", "2"), ("step", "5")]
    if pairs and random.random() < 0.05:
        pairs.append(pairs[0])
    if random.random() < 0.01:
        pairs += [(f"a{i}", "1") for i in range(120)]
    if random.random() < 0.01:
        pairs.append(("loss", "9" * 5000))
    return slug, urlencode(pairs) + "&" * random.choice([0] * 50 + [1, 99, 100, 101])


def read(slug: str, search: str) -> tuple[dict[str, Any], list[str]]:
    """Values and complaints by the server."""
    try:
        return PAGES[slug].read(words_of(search))
    except InputError as error:
        return PAGES[slug].start(), [str(error)]


#: Addresses of an article, and the sentence on each.
OF_ARTICLE = {
    "step=2": "", "step=2&step=5": "the address has step twice and was not read", "step=2&embed=1": NOT_EMBEDDED,
    "step=2&figure=duplicates": "this page has no 'figure'",
    "step=2&guess=first": "this page has no 'guess'",
    "ack=1": "this page has no 'ack'",
}  # fmt: skip
SCRIPT = """
const { specs, cases } = JSON.parse(require("fs").readFileSync(0, "utf8"));
const answers = cases.map(([slug, search]) => module_core_address.readAddress(specs[slug], search));
process.stdout.write(JSON.stringify(answers));
"""


def test_ten_thousand_addresses_are_read_alike(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node")
    chance = random.Random(20261128)
    cases = [*(("paper-leap", search) for search in OF_ARTICLE), *(drawn(chance) for _ in range(COUNT))]
    known = ("controls", "figures", "article")
    specs = {slug: {k: v for k, v in page.spec().items() if k in known} for slug, page in PAGES.items()}
    script = tmp_path / "read.js"
    script.write_text(bundle("core/address.js") + SCRIPT, encoding="utf-8")
    done = subprocess.run(
        [node, script], input=json.dumps({"specs": specs, "cases": cases}), capture_output=True, text=True, check=True
    )
    refused = 0
    for (slug, search), (values, complaints) in zip(cases, json.loads(done.stdout), strict=True):
        expected, said = read(slug, search)
        assert values == expected, (slug, search[:200])
        assert complaints == said, search[:200]
        refused += bool(said)
    assert COUNT / 10 < refused < COUNT
    assert [". ".join(read("paper-leap", search)[1]) for search in OF_ARTICLE] == list(OF_ARTICLE.values())


def test_a_field_reads_the_units_of_the_library(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node")
    words = [(word, unit) for unit, table in TABLES.items() for word in table]
    calls = [f"module_core_numbers.typedNumber({f'2.5 {word}'!r}, {unit!r})[0]" for word, unit in words]
    script = tmp_path / "units.js"
    script.write_text(f"{bundle('core/numbers.js')}console.log(JSON.stringify([{', '.join(calls)}]));", "utf-8")
    done = subprocess.run([node, script], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == pytest.approx([quantity(f"2.5 {word}", unit, "x") for word, unit in words])


def test_a_refused_fraction_is_said_as_its_field_has_it() -> None:
    for page in PAGES.values():
        for c in (c for c in page.controls if isinstance(c, Control) and c.percent):
            (said,) = page.read({c.name: "2e9"})[1]
            assert f"({100 * c.low:g} % to {100 * c.high:g} %)" in said
            assert said.endswith(f"; {100 * c.start:g} % ({c.start:g}) is shown")
