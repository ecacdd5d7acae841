"""What is kept of a picture: its code and NetCDF give the numbers of its CSV, and its image shows the picture."""

from __future__ import annotations

import io
import math
import random
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from explorer_tabs import FRACTION, keep, numbers, often, opened, table_of
from playwright.sync_api import Page
from textbook_models import MODELS

from tcpdynamics.apps.explorer import shown
from tcpdynamics.apps.explorer.lotka_volterra_motion import BOUNDED
from tcpdynamics.apps.explorer.page import Choice, Control, Text
from tcpdynamics.apps.explorer.pages import pages
from tcpdynamics.errors import InputError
from tcpdynamics.quantities import only_number

#: A file of each picture, without a download each.
SAVED = """async (word) => {
  const kept = [], made = URL.createObjectURL, click = HTMLAnchorElement.prototype.click;
  URL.createObjectURL = (blob) => { kept.push(blob); return "blob:null"; };
  HTMLAnchorElement.prototype.click = () => {};
  for (const f of document.querySelectorAll(".figure")) [...f.querySelectorAll("button")].find((b) => b.textContent === word)?.click();
  Object.assign(URL, { createObjectURL: made });
  HTMLAnchorElement.prototype.click = click;
  return Promise.all(kept.map((blob) => blob.text()));
}"""  # noqa: E501

#: The same rows as NetCDF.
AS_NETCDF = """async (i) => {
  let kept = null;
  const made = URL.createObjectURL, click = HTMLAnchorElement.prototype.click;
  URL.createObjectURL = (blob) => { kept = blob; return "blob:null"; };
  HTMLAnchorElement.prototype.click = () => {};
  [...document.querySelectorAll(".figure")[i].querySelectorAll("button")].find((b) => b.textContent === "NetCDF").click();
  Object.assign(URL, { createObjectURL: made });
  HTMLAnchorElement.prototype.click = click;
  return Array.from(new Uint8Array(await kept.arrayBuffer()));
}"""  # noqa: E501

#: Settings of each page, beside the start values.
DRAWN: dict[str, tuple[dict[str, Any], ...]] = {
    "sub-packet": (
        {
            "chain": "exact",
            "loss": 0.202,
            "w_max": 5.0,
            "backoff_cap": 3.0,
            "base_timeout": 8.5,
            "sender": "newreno",
            "points": "linux",
        },
        {"source": "users-on-a-link", "users": 1.0, "rate": 0.1, "buffer": 500.0},
        {"source": "users-on-a-link", "users": 150.0, "buffer": 40.0, "stages": 2.0, "collapse": 1.0, "points": "ns-2"},
    ),
    "retransmission-priority": (
        {"share": 0.31, "slice": 23.0, "collapse": 2.0},
        {"base_timeout": 5.0, "backoff_cap": 7.0},
    ),
    "lotka-volterra": (
        {"reading": "map", "epsilon": 1.37, "gamma": 0.61, "flows": 4.0, "leaves": 41.0},
        {"reading": "stale", "epsilon": 0.9, "gamma": 0.5, "ratio": 1.13, "flows": 3.0, "capacity": 240.0},
        {"flows": 4.0, "gamma": 0.44, "delay": 0.61, "epsilon": 2.31},
        {"reading": "held", "flows": 3.0, "gamma": 0.5},
        {"reading": "cross-delayed", "flows": 3.0, "delay": 3.0, "gamma": 0.98},
        {"reading": "windows", "flows": 5.0, "gamma": 0.3, "ratio": 4.0, "epsilon": 3.2},
        {"reading": "link", "flows": 5.0, "link": 10.0},
    ),
    "t-refwa": (
        {"reading": "measured-rtt", "phi": 0.83, "psi": 0.41, "bdp": 410.0, "buffer": 130.0, "rtt_high": 1.39},
        {"reading": "window", "phi": 0.0, "psi": 0.0},
        {"reading": "integrating-delayed", "phi": 0.31, "psi": 0.12, "delay": 3.0, "group_flows": 7.0},
    ),
    "two-bottlenecks": (
        {"phi": 0.68, "psi": 0.31, "bdp_1": 190.0, "buffer_1": 310.0, "bdp_3": 325.0, "weight_2": 6.5},
        {"reading": "measured", "phi": 1.06, "psi": 0.7, "weight_1": 9.5, "commands": 45.0},
    ),
    "fluid-tcp": (
        {"marking": "red", "flows": 41.0, "averaging": 0.53, "capacity": 4100.0},
        {"marking": "drop-tail", "flows": 71.0, "base_rtt": 0.222, "end": 41.0},
    ),
    "high-speed": (
        {"loss": 5.87e-06, "a": 0.019, "b": 0.37, "end": 816.0},
        {"loss": 0.000258, "a": 0.0228, "b": 0.205},
    ),
    "leap": (
        {"data_loss": 0.2, "ack_loss": 0.31, "window": 3.0, "variant": "SACK"},
        {"data_loss": 0.05, "window": 7.0, "density": 4.2, "nodes": "2-1-1"},
    ),
    "strip": (
        {"window": 6.0, "lost_data": 2.0, "lost_acks": 0.0},
        {"window": 5.0, "rto": 0.25, "lost_data": 261.0, "lost_acks": 12.0, "shown": "with-LEAP"},
    ),
    "ladder": (
        {"drop": 0.13, "sender": "newreno", "linux": "reno-options-off"},
        {"drop": 0.444, "linux": "bbr", "quantity": "goodput"},
    ),
    "mtcp": ({"routes": 3.0, "ack_loss": 0.31, "alpha": 0.7}, {"loss": 0.1, "window_limit": 5.0, "asymmetry": -0.07}),
    "my-link": ({"users": 300.0, "rate": 2.5, "base_rtt": 61.0, "buffer": 40.0}, {"sender": "linux-bbr"}),
    "own-model": ({"model": MODELS["an epidemic: two rests meet where it ends"]},),
    "fairness": ({"flows": 3.0, "x1": 5.28, "x2": 6.21, "x3": 3.25}, {"flows": 8.0, "x2": 0.07, "x7": 9.31}),
}
POINTS = [(slug, words) for slug, drawn in DRAWN.items() for words in ({}, *drawn)]
#: Beginnings of columns that are recorded or measured, beside those that the code computes.
RECORDED = ("packets", "Linux", "stacks")
#: The page integrates to 1e-7 of each step, and rounds boundaries to six decimals.
CLOSE = 1e-6
#: Its steps do not end where a buffer fills or empties: as in test_explorer.py.
CORNERS = {"fluid-tcp": 1e-4}


def same(shown: Any, computed: Any, close: float, size: float = 0.0) -> None:
    """Whole columns: numbers within what the page computes, words letter by letter, gaps at the same places.

    A number may differ by so much of the column's largest, or of `size`.
    """
    page, own = (pd.to_numeric(c, errors="coerce").to_numpy(dtype=float) for c in (shown, computed))
    np.testing.assert_allclose(page, own, rtol=close, atol=close * np.nanmax(np.abs(own), initial=size))
    words = np.isnan(page)
    text = [["" if str(x) == "nan" else str(x) for x in column[words]] for column in (shown, computed)]
    assert text[0] == text[1]


@pytest.mark.parametrize(
    ("slug", "words"),
    [pytest.param(s, w, marks=[pytest.mark.slow] if w != DRAWN[s][0] else []) for s, w in POINTS],
    ids=[f"{s}-{'-'.join(str(x)[:30] for x in w.values())}" for s, w in POINTS],
)
def test_the_code_of_each_picture_gives_its_numbers(
    tab: Page, server: str, slug: str, words: dict[str, Any], tmp_path: Path
) -> None:
    check(tab, server, slug, words, tmp_path)


def code_here(tab: Page, name: str) -> str:
    """The code of a picture that the page's script writes."""
    details = tab.locator(f"[data-figure={name}] details.code")
    if details.get_attribute("open") is None:
        details.locator("summary").click()
    details.get_by_text("table = ").wait_for()
    return details.locator("pre").inner_text()


def check(tab: Page, server: str, slug: str, words: dict[str, Any], folder: Path | None = None) -> None:
    """Each picture's code gives the table of its CSV, row by row; in `folder`, the NetCDF has it, too."""
    page = pages()[slug]
    values = page.read({k: str(v) for k, v in words.items()})[0]
    opened(tab, f"{server}/{slug}?{urlencode(words)}")
    tab.wait_for_function("() => !document.querySelector('.picture.old, [data-computing]')")
    if slug == "sub-packet" and words.get("sender", "none") != "none":
        tab.get_by_text("states of the simulator").wait_for()
    if slug == "lotka-volterra" and words.get("ratio", 1) != 1 and words.get("reading", "delayed") in BOUNDED:
        tab.get_by_text("by exact roots, these access links").wait_for()
    for i, (figure, text) in enumerate(zip(page.figures, tab.evaluate(SAVED, "CSV"), strict=True)):
        shown = pd.read_csv(io.StringIO(text))
        computed = table_of(figure.code(values) if figure.code else code_here(tab, figure.name))
        if figure.name == "ends" and "delayed" in values["reading"]:
            # beyond, a swing is longer than what is kept: a peak falls in or out
            shown, computed = (t[t["gain ε"] * values["delay"] <= 7].reset_index(drop=True) for t in (shown, computed))
        size = 0.0
        if slug == "own-model" and figure.name == "roots":  # the library has those alone that it can prove leading
            shown = shown.head(max(len(computed), 1))
            size = max(map(float, computed.select_dtypes("number").abs().max()), default=0.0)
        more = {name for name in shown if name.startswith(RECORDED)} if slug == "my-link" else set()
        assert set(shown) - set(computed) - more <= {"unit", "meaning"} and len(shown) == len(computed)
        for column in computed:
            same(shown[column], computed[column], CORNERS.get(slug, CLOSE), size)
        if folder and not words:
            check_netcdf(bytes(tab.evaluate(AS_NETCDF, i)), shown, folder / f"{figure.name}.nc")


OWN_MODELS = [*(dict(one.values) for one in pages()["own-model"].presets[1:]), *({"model": m} for m in MODELS.values())]


@pytest.mark.slow
@pytest.mark.parametrize("words", OWN_MODELS, ids=lambda words: words["model"].partition("\n")[0][:40])
def test_the_code_of_each_own_model_gives_its_numbers(tab: Page, server: str, words: dict[str, Any]) -> None:
    check(tab, server, "own-model", words)


@pytest.mark.slow
@pytest.mark.parametrize("slug", DRAWN)
def test_the_code_gives_the_numbers_at_twenty_drawn_states(tab: Page, server: str, slug: str) -> None:
    chance = random.Random(slug)
    for _ in range(20):
        words: dict[str, Any] = {}
        for c in pages()[slug].controls:
            if isinstance(c, Choice):
                words[c.name] = chance.choice(c.choices)
                continue
            if isinstance(c, Text):
                said = chance.choice([str(one["model"]) for one in OWN_MODELS])
                words[c.name] = re.sub(r"= (\S+) in ([^. ]+(?:\.\d+)?)\.\.(\S+)( log)?", partial(moved, chance), said)
                continue
            x = math.exp(chance.uniform(math.log(c.low), math.log(c.high))) if c.log else chance.uniform(c.low, c.high)
            words[c.name] = min(max(float(round(x)) if c.step == 1 else float(f"{x:.3g}"), c.low), c.high)
        check(tab, server, slug, words | ({"sender": "none"} if slug == "sub-packet" else {}))


def moved(chance: random.Random, found: re.Match[str]) -> str:
    """A parameter's line with its value somewhere in the inner half of its range."""
    value, low, high = map(float, found.groups()[:3])
    near, far = 0.75 * value + 0.25 * low, 0.75 * value + 0.25 * high
    if found[4]:
        near, far = value**0.75 * low**0.25, value**0.75 * high**0.25
    return f"= {chance.uniform(near, far):.4g} in {found[2]}..{found[3]}{found[4] or ''}"


def test_all_pages_with_sliders_are_here() -> None:
    coded = {slug for slug, page in pages().items() if any(f.code or f.scripted for f in page.figures)}
    assert set(DRAWN) == {slug for slug in coded if not pages()[slug].article}


def test_no_code_is_a_text_in_the_package() -> None:
    """What a page shows is what lint, types and tests see: each line stands in a module of the package."""
    folder = Path(shown.__file__).parent
    text = "\n".join(file.read_text(encoding="utf-8") for file in folder.glob("*.py"))
    lines = set((text + text.replace("  # fmt: skip", "")).splitlines())
    for page in pages().values():
        for figure in page.figures:
            if figure.code is not None:
                body, _, call = figure.code(page.start()).partition("\n\n\ntable = ")
                own = body.partition("\n\n\n")[2]  # below the imports
                assert call.endswith(")\nprint(table.to_csv(index=False))\n") and set(own.splitlines()) <= lines, (
                    figure.name
                )


def check_netcdf(content: bytes, shown: Any, file: Path) -> None:
    """The NetCDF of a picture has the columns of its CSV, with their names and units."""
    file.write_bytes(content)
    with xr.open_dataset(file) as dataset:
        assert len(dataset.data_vars) == len(shown.columns) and dataset.attrs["title"]
        for name, column in zip(dataset.data_vars, shown, strict=True):
            variable = dataset[name]
            long_name, _, unit = column.partition(" [")
            assert variable.attrs["long_name"] == long_name
            if variable.dtype.kind == "f":
                assert variable.attrs["units"] == (unit.rstrip("]") or "1")
                np.testing.assert_array_equal(variable.values, shown[column].to_numpy(dtype=float))
            else:
                said = ["" if str(x) == "nan" else str(x) for x in shown[column]]
                assert [x.decode() if isinstance(x, bytes) else str(x) for x in variable.values] == said


def test_each_command_succeeds(answer: Callable[..., str]) -> None:
    words = {"lotka-volterra": {"epsilon": 1.23456789}}
    for slug in DRAWN:
        page = pages()[slug]
        values = page.start() | words.get(slug, {})
        for command in {f.command(values) for f in page.figures if f.command}:
            assert all(answer(*one.split()[1:]) for one in command.split("\n# "))
    motion = pages()["lotka-volterra"].figures[2]
    assert "--epsilon 1.23456789 " in motion.text(pages()["lotka-volterra"].start() | words["lotka-volterra"])


def test_code_is_shown_below_its_picture(tab: Page, server: str) -> None:
    opened(tab, f"{server}/fairness?x1=3")
    details = tab.locator("[data-figure=indices] details.code")
    details.locator("summary").click()
    details.get_by_text("1 - Hoover").wait_for()
    said = details.locator("pre").inner_text()
    assert "indices(x=[3.0, 4.0, 2.0, 1.0])" in said and "no command gives this picture's numbers" in said


# ---- images -------------------------------------------------------------------------------------------------


def kept(tab: Page, name: str) -> Any:
    """The figure that would be drawn for a file."""
    tab.evaluate("() => { window.Plotly = { newPlot: (box, data, layout) => { window.kept = { data, layout }; } }; }")
    keep(tab, f"[data-figure={name}]", "Open as a Plotly figure")
    tab.wait_for_function("() => window.kept")
    return tab.evaluate(
        "() => { const one = JSON.parse(JSON.stringify(window.kept)); delete window.kept; return one; }"
    )


def test_images_have_the_words_and_the_mark_of_the_picture(tab: Page, server: str) -> None:
    opened(tab, f"{server}/sub-packet?loss=0.2")
    axis = kept(tab, "lengths")["layout"]["xaxis"]
    assert axis["ticktext"] == ["1", "3", "7", "15", "31", "63", "127"] and axis["tickvals"] == [1, 2, 3, 4, 5, 6, 7]
    (mark,) = kept(tab, "goodput")["layout"]["shapes"]
    assert mark["x0"] == mark["x1"] == 0.2
    opened(tab, f"{server}/fairness")
    assert kept(tab, "indices")["layout"]["xaxis"]["ticktext"][:3] == ["Jain", "min/max", "entropy"]
    assert kept(tab, "bounds")["layout"]["xaxis"]["ticktext"] == ["Jain's index", "4r/(1 + r)²", "1/n"]


#: A tick that is a number.
TICK = re.compile(r"\u2212?[\d.,]+( %)?|10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+")
PAGES_WITH_PICTURES = [slug for slug, page in pages().items() if page.figures and not page.article]
#: What is seen of a page: names next to samples, by picture; settings; facts with their names and meanings.
SEEN = """() => ({
  legends: [...document.querySelectorAll(".figure")].map((f) => [...f.querySelectorAll(".legend > span:not(.at)")].map((s) => {
    const one = s.cloneNode(true);
    one.querySelectorAll(".value").forEach((value) => value.remove());
    return one.textContent.trim();
  })),
  fields: Object.fromEntries([...document.querySelectorAll(".control:not([hidden])")].map((one) => {
    const box = one.querySelector("input.exact, select");
    return [one.dataset.control, box && (box.tagName === "SELECT" ? box.selectedOptions[0].textContent : box.value)];
  })),
  facts: [
    ...[...document.querySelectorAll("dl.facts > div")].map((one) => [
      one.querySelector("dt").textContent, one.querySelector("dd span").textContent, [one.querySelector("b").textContent]]),
    ...[...document.querySelectorAll("table.compared tbody tr")].map((row) => [
      row.cells[0].firstChild.textContent, row.cells[0].lastChild.textContent, [...row.cells].slice(1).map((c) => c.textContent)]),
  ],
})"""  # noqa: E501


def texts_of(svg: str) -> list[tuple[str, str]]:
    """The texts of a picture in order, and where each stands: "start", "middle", "end", or "turned" along an axis."""
    found = [one for one in ElementTree.fromstring(svg).iter() if one.tag.endswith("text")]
    return [
        (
            " ".join(" ".join(one.itertext()).split()),
            "turned" if "rotate" in one.get("transform", "") else one.get("text-anchor", "start"),
        )
        for one in found
    ]


@pytest.mark.parametrize("slug", often(PAGES_WITH_PICTURES))
def test_a_quantity_has_one_form_in_all_places_of_a_page(tab: Page, files: Path, slug: str) -> None:
    """Fractions are in per cent on axes, in fields, among facts and in captions, save on logarithmic axes."""
    opened(tab, (files / f"{slug}.html").as_uri())
    seen, page = tab.evaluate(SEEN), pages()[slug]
    for c in page.controls:
        if isinstance(c, Control) and c.unit == "1" and seen["fields"].get(c.name):
            per = bool(FRACTION.match(c.meaning)) and not c.log
            assert seen["fields"][c.name].endswith(" %") == per, c.meaning
    for name, means, cells in seen["facts"]:
        per = any(FRACTION.match(words) for words in (name, means))
        bare = [cell for cell in cells if re.fullmatch(r"0\.\d+", cell)]
        assert not (per and bare) and (per or not any(cell.endswith(" %") for cell in cells) or "error" in name), (
            name,
            cells,
        )
    for svg in tab.evaluate(SAVED, "SVG"):
        texts = texts_of(svg)
        for ways, titles in ((("end",), ("turned",)), (("middle", "turned"), ("middle",))):
            title = next((words for words, way in texts if way in titles and not TICK.fullmatch(words)), "")
            ticks = [words for words, way in texts if way in ways and TICK.fullmatch(words)]
            if FRACTION.match(title) and not any("10\u207b" in words for words in ticks):
                assert all(words.endswith("%") for words in ticks), (title, ticks)


@pytest.mark.parametrize("slug", often(PAGES_WITH_PICTURES))
def test_a_saved_picture_has_what_is_needed_to_read_it(tab: Page, files: Path, slug: str) -> None:
    """The names in its legend, the settings as the page shows them, and no advice that only the page can follow."""
    opened(tab, (files / f"{slug}.html").as_uri())
    seen, page = tab.evaluate(SEEN), pages()[slug]
    saved = tab.evaluate(SAVED, "SVG")
    assert len(saved) == len(page.figures)
    for figure, svg, names in zip(page.figures, saved, seen["legends"], strict=True):
        lines = [text for text, _ in texts_of(svg)]
        assert not any(text.lstrip().startswith("%") for text in lines), figure.name  # a number keeps its sign
        words = " ".join(" ".join(lines).split())
        assert not re.search(r"\b(Click|Drag|[Pp]ress|under More|Run its)\b", words), figure.name  # on the page alone
        if len(names) > 1:
            assert [name for name in names if " ".join(name.split()) not in words] == [], figure.name
        for c in page.controls:
            value = seen["fields"].get(c.name)
            if value and not isinstance(c, Text):
                number = f"{int(value):,}" if value.isdecimal() else value
                assert f"{c.meaning}: {number}" in words, (figure.name, words)


INTERVALS = """() => {
  const box = document.createElement("div");
  document.body.append(box);
  const figure = module_core_pages.picture("curves", box, { title: "points" });
  figure.show({ x: [1, 2, 3], xTitle: "x", yTitle: "y", series: [{ name: "curve", y: [1, 2, 3] },
    { name: "packets", kind: "points", y: [null, 2, null], low: [null, 1.5, null], high: [null, 2.25, null] }] });
  return [figure.rows(), figure.kept().data[1].error_y, figure.kept().data[0].error_y || null];
}"""


def test_intervals_are_kept(tab: Page, files: Path) -> None:
    opened(tab, (files / "fairness.html").as_uri())
    rows, bars, none = tab.evaluate(INTERVALS)
    assert rows[0] == ["x", "curve", "packets", "packets, low", "packets, high"]
    assert rows[2] == [2, 2, 2, 1.5, 2.25] and rows[1][2:] == [None, None, None]
    assert (bars["array"][1], bars["arrayminus"][1], none) == (0.25, 0.5, None)


def test_the_image_of_the_diagram_is_the_diagram(tab: Page, files: Path) -> None:
    opened(tab, (files / "sub-packet.html").as_uri())
    states = tab.locator("[data-figure=diagram] svg circle").count()
    for word, start in (("PNG", b"\x89PNG"), ("SVG", b"<svg")):
        with tab.expect_download() as download:
            keep(tab, "[data-figure=diagram]", word)
        content = Path(download.value.path()).read_bytes()
        assert content.startswith(start)
    text = content.decode()
    assert text.count("<circle") == states > 5 and "currentColor" not in text and "var(" not in text


# ---- words --------------------------------------------------------------------------------------------------

#: Texts of an address, with the unit of their control.
TEXTS = [
    (text, unit)
    for unit in ("1", "s", "Mbit/s", "RTT", "packet", "packet/s")
    for text in (
        "3", "0.1", ".5", "5.", "-2", "+2", "1e-3", "1E2", "1/2", " 7 ", "3/0", "0.5/2", "1e2/3", "5%", "12.5 %", "%",
        "3Mbit/s", "3 Mbit/s", "200ms", "5us", "2min", "1.5s", "3RTT", "4packets", "4 packet", "9packet/s",
        "nan", "inf", "1e999", "1e18", "1e19", "0x10", "1_000", "\u0663", "", ",", "1,", "1,2", "1:2:3", "--1", "1.2.3",
        "9" * 61, "1e",
    )
]  # fmt: skip


def test_texts_are_numbers_alike_in_served_and_exported_pages(tab: Page, files: Path) -> None:
    opened(tab, (files / "fairness.html").as_uri())
    read = tab.evaluate(
        "(texts) => texts.map((one) => module_core_numbers.number(...one)).map((x) => (Number.isFinite(x) ? x : null))",
        TEXTS,
    )
    for (text, unit), x in zip(TEXTS, read, strict=True):
        try:
            expected: float | None = only_number("`x`", text, unit)
        except InputError:
            expected = None
        if expected is None or not math.isfinite(expected):
            assert x is None, (text, unit, x)
        else:
            assert x == pytest.approx(expected, rel=1e-15), (text, unit)


def test_an_exported_link_reads_units(tab: Page, files: Path) -> None:
    opened(tab, (files / "fairness.html").as_uri() + "#x1=3Mbit/s&x2=1/2&x3=2kg")
    assert [tab.locator(f"#control-x{i} + input").input_value() for i in (1, 2, 3)] == ["3", "0.5", "2"]
    assert "(`x3`) must be" in tab.locator(".complaint").inner_text()


def test_a_long_table_says_that_it_ends(tab: Page, files: Path) -> None:
    opened(tab, (files / "fluid-tcp.html").as_uri())
    assert len(numbers(tab, 0)) == 401
    note = tab.locator("[data-figure=window] details.table .note")
    assert note.inner_text() == "The first 400 of 601 rows; the CSV has all."
    opened(tab, (files / "fairness.html").as_uri())
    numbers(tab, 0)
    assert tab.locator("[data-figure=flows] details.table .note").inner_text() == ""


def test_an_exported_page_says_what_it_lacks(tab: Page, files: Path) -> None:
    for slug, words in (("lotka-volterra", "exact roots for unequal access links"), ("sub-packet", "exact rationals")):
        opened(tab, (files / f"{slug}.html").as_uri())
        said = tab.get_by_text("This page opens from disk").inner_text()
        assert words in said and "The code of each picture" in said


def test_the_models_own_results_reach_as_far_as_the_curves() -> None:
    page = pages()["sub-packet"]
    assert page.dataset is not None
    loss = page.dataset(page.start() | {"source": "users-on-a-link"}).sel(chain="exact").goodput.dropna("loss").loss
    assert float(loss.max()) == pytest.approx(0.695)
