"""Results reach their file whole or not at all: written under a temporary name, then renamed."""

from __future__ import annotations

import hashlib
import html
import json
import os
import re
import stat
import struct
import tempfile
import zlib
from collections.abc import Iterable, Mapping
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcpdynamics.errors import OutputError, bare

if TYPE_CHECKING:
    import xarray as xr
    from typing_extensions import Buffer


def write_whole(path: Path, content: Iterable[Buffer]) -> None:
    """Write under a temporary name beside `path`, then rename. Raises OutputError; leaves no half file.

    What replaces a file is as private, or as open to others, as that was.
    """
    check_writable(path)
    path = path.resolve()  # through links, to the file that is meant
    temporary = path
    try:
        handle, name = tempfile.mkstemp(prefix=".unfinished.", suffix=path.suffix, dir=path.parent)
        temporary = Path(name)
        with open(handle, "wb") as file:
            file.writelines(content)
        temporary.chmod(_mode(path))
        os.replace(temporary, path)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        if temporary != path:
            temporary.unlink(missing_ok=True)


def _mode(path: Path) -> int:
    """Who may read and write the file there; of a part, the file that it stands beside; else what the mask leaves."""
    for place in (path, path.with_name(re.sub(r"\.part\d*(\.\w+)$", r"\1", path.name))):
        if place.exists():
            return stat.S_IMODE(place.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def beside(path: Path) -> Path:
    """A name that is free, for a part that must not replace the file at `path`: x.part.nc, x.part2.nc, ..."""
    names = (path.with_name(f"{path.stem}.part{n if n > 1 else ''}{path.suffix}") for n in count(1))
    return next(name for name in names if not os.path.lexists(name))


#: How names of NetCDF files end.
NETCDF = (".nc", ".nc4", ".h5", ".netcdf")


def check_netcdf_name(path: Path) -> None:
    """As `check_writable`; also refuses a suffix that promises another format."""
    if path.suffix.lower() not in NETCDF:
        raise OutputError(f"cannot write {path}: results are NetCDF; give a name that ends in .nc")
    check_writable(path)


def check_writable(path: Path) -> None:
    """Raise OutputError now rather than after the work is done."""
    try:
        kind = path.stat().st_mode if path.exists() else None
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from None
    if kind is not None and stat.S_ISDIR(kind):
        raise OutputError(f"cannot write {path}: it is a folder; give a file name")
    if kind is not None and not stat.S_ISREG(kind):
        raise OutputError(f"cannot write {path}: it is a device or a pipe; give the name of an ordinary file")
    if not path.parent.is_dir():
        raise OutputError(f"cannot write {path}: the folder {path.parent} does not exist; create it first")
    if not os.access(path.parent, os.W_OK):
        raise OutputError(f"cannot write {path}: the folder {path.parent} cannot be written to")


#: How the pages, tables and pictures of this package begin: by this they are known again.
PAGE = '<!doctype html>\n<html lang="en"><head><meta name="generator" content="tcpdynamics">'
TABLE = "time_s,flow,sequence,retransmission\n"
SWEEP_TABLE = "sweep_point,"
_TEXT_OF_PICTURE = b"tEXtSoftware\0tcpdynamics"

#: What a table holds, as far as it is known.
_SOME_TABLE = "a table"

#: How a drawing in SVG begins, and the claims of a folder of figures.
_SVG = b"<!-- tcpdynamics-holds: "
_LEDGER = re.compile(rb'\{\s*"made": \{\s*"setting": "(\w+)"')

#: How any PNG begins.
_PNG = b"\x89PNG\r\n\x1a\n"

#: Behind it, what a page or a picture holds: the text that `holding` gives.
_HELD_BY_PAGE = '<meta name="tcpdynamics-holds" content="'
_HELD_BY_PICTURE = b"tEXtDescription\0"

#: The command that gives what a solver of ours does.
_COMMANDS = {
    "stability_chart": "stability",
    "sweep_scenarios": "sweep",
    "chart_points": "stability",
    "characteristic_roots": "stability",
    "eigenvalues": "stability",
}


#: Between what a file holds and the mark of its settings; letters of a subject, so that the mark is never cut off.
_MARKED = ", settings "
_LONGEST_SUBJECT = 150


def settings_mark(settings: Mapping[str, Any]) -> str:
    """A short mark of what was asked for, the same for the same settings.

    >>> settings_mark({"loss": "0.1"}) == settings_mark({"loss": "0.1"}) != settings_mark({"loss": "0.2"})
    True
    """
    text = json.dumps(settings, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def marked(subject: str, mark: str) -> str:
    """What a file holds whose settings have a mark.

    >>> marked("stability of logistic", "0123456789ab")
    'stability of logistic, settings 0123456789ab'
    """
    return f"{subject[:_LONGEST_SUBJECT]}{_MARKED}{mark}" if mark else subject


def holding(attributes: Mapping[str, Any]) -> str:
    """What a result holds, by its attributes: the command, its subject and the mark of the settings; "" if unknown.

    >>> holding({"model": "logistic", "solver": "stability_chart", "version": "1"})
    'stability of logistic'
    """
    subject = _subject(attributes)
    return marked(subject, str(attributes.get("settings", ""))) if subject else ""


def _subject(attributes: Mapping[str, Any]) -> str:
    if "figure" in attributes:
        return f"figure {attributes['figure']}"
    if "comparison" in attributes:
        return f"comparison {attributes['comparison']}"
    if "version" not in attributes:
        return ""
    if "scenario" in attributes:
        return f"simulation of {attributes.get('name', 'scenario')}"
    solver = str(attributes.get("solver", "result"))
    return f"{_COMMANDS.get(solver, solver)} of {attributes['model']}" if "model" in attributes else ""


def page_start(what: str) -> str:
    """How a page begins that holds `what`."""
    return f'{PAGE}{_HELD_BY_PAGE}{html.escape(_brief(what))}">'


def _brief(what: str) -> str:
    return what[:200].encode("ascii", "backslashreplace").decode()


def check_ours(path: Path, force: bool) -> None:
    """Raise OutputError if `path` cannot be written, or a file is there that this package did not write."""
    check_writable(path)
    _held_by_ours(path, force)


def check_replaceable(path: Path, force: bool, what: str) -> None:
    """Raise OutputError if a file is there that this package did not write, or that holds something else than `what`.

    An empty file, as `mktemp` makes it, may be replaced. A table has no room for what it holds: it is refused.
    """
    content = _held_by_ours(path, force)
    if content == _SOME_TABLE:
        raise OutputError(
            f"cannot write {path}: {path.name} is a table, which does not say of which run; give another name, "
            "remove it, or give --force"
        )
    if content is not None and content != _brief(what):
        described = bare(content.partition(_MARKED)[0]) if content else "something that an older version did not name"
        wanted = bare(_brief(what).partition(_MARKED)[0])
        other = f", not {wanted}" if described != wanted else " with other settings"
        if described == wanted and _MARKED not in content:
            other = " and does not say with which settings"
        raise OutputError(
            f"cannot write {path}: {path.name} holds {described}{other}; give another name, remove it, or give --force"
        )


def is_protected(path: Path) -> bool:
    """Whether nobody may write to a file or folder, or this user may not: root could, and is asked not to."""
    return not path.stat().st_mode & 0o222 or not os.access(path, os.W_OK)


def _held_by_ours(path: Path, force: bool) -> str | None:
    """What the file there holds; None where anything may stand in its place. Refuses what is not this package's."""
    if force or not path.is_file():
        return None
    if is_protected(path):
        raise OutputError(
            f"cannot write {path}: the file that is there may not be written to; give another name, allow it with "
            "chmod u+w, or give --force"
        )
    try:
        with path.open("rb") as file:
            start = file.read(4096)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from None
    if not start:
        return None
    content = _held(path, start)
    if content is None:
        raise OutputError(
            f"cannot write {path}: the file that is there is not whole, or tcpdynamics did not write it; give another "
            "name, remove it, or give --force"
        )
    return content


def _held(path: Path, start: bytes) -> str | None:
    """What a file of ours holds by its own words, "" if it has none; None if it is not ours, or was cut off."""
    if start.startswith(PAGE.encode()):
        behind = start[len(PAGE) :].decode("utf-8", "replace")
        named = behind.startswith(_HELD_BY_PAGE)
        return html.unescape(behind[len(_HELD_BY_PAGE) :].partition('"')[0]) if named else ""
    if start.startswith(_PNG):
        if _TEXT_OF_PICTURE not in start:
            return None
        at = start.find(_HELD_BY_PICTURE)
        size = int.from_bytes(start[at - 4 : at], "big")
        return start[at + len(_HELD_BY_PICTURE) : at + 4 + size].decode("latin-1") if at >= 0 else ""
    if start.startswith((TABLE.encode(), SWEEP_TABLE.encode())):
        return _SOME_TABLE
    if start.startswith(_SVG):
        return start[len(_SVG) :].partition(b" -->")[0].decode("ascii", "replace")
    if ledger := _LEDGER.match(start):
        return ledger_of(ledger[1].decode("ascii"))
    attributes = _attributes(path)
    content = holding(attributes)
    return _brief(content) if content else None


def _attributes(path: Path) -> dict[str, Any]:
    """What a NetCDF file says of itself; nothing for any other file, and for one that was cut off."""
    from tcpdynamics.solvers.sweeps.netcdf_store import read_netcdf_attributes

    try:
        return read_netcdf_attributes(path.resolve())[0]
    except Exception:  # whatever the libraries raise on what is not theirs
        return {}


def marked_picture(png: bytes, what: str) -> bytes:
    """A PNG that says what made it and what it holds, in text chunks behind its header."""
    end = len(_PNG) + 25  # signature and IHDR
    chunks = (_TEXT_OF_PICTURE, _HELD_BY_PICTURE + _brief(what).encode("ascii"))
    return png[:end] + b"".join(map(_chunk, chunks)) + png[end:]


def marked_drawing(svg: bytes, what: str) -> bytes:
    """An SVG that says what it holds, in a comment before it."""
    return _SVG + _brief(what).replace("--", "-").encode("ascii") + b" -->\n" + svg


def ledger_of(setting: str) -> str:
    """What `ledger.json` holds."""
    return f"ledger of the setting {setting}"


def _chunk(text: bytes) -> bytes:
    """A chunk of a PNG, from its name and what it holds."""
    return struct.pack(">I", len(text) - 4) + text + struct.pack(">I", zlib.crc32(text))


def write_netcdf(path: Path, result: xr.Dataset) -> None:
    """Write a result as NetCDF-4 (`check_netcdf_name` its path before the work); a hash of its bytes stands behind."""
    # By way of memory: HDF5 that meets a full disk crashes the process instead of raising OSError.
    write_whole(path, netcdf(result))


def netcdf(result: xr.Dataset) -> list[Buffer]:
    """What `write_netcdf` writes."""
    from tcpdynamics.solvers.sweeps.netcdf_rules import seal

    content = result.to_netcdf(engine="h5netcdf")
    return [content, seal(content)]


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text; of file names that are not UTF-8, the bytes as escapes."""
    write_whole(path, [text.encode("utf-8", "backslashreplace")])
