"""Results reach their file whole or not at all: written under a temporary name, then renamed."""

from __future__ import annotations

import os
import stat
import struct
import tempfile
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcpdynamics.errors import OutputError, bare

if TYPE_CHECKING:
    import xarray as xr
    from typing_extensions import Buffer


def write_whole(path: Path, write: Callable[[Path], None]) -> None:
    """Call `write` with a temporary name beside `path`, then rename. Raises OutputError; leaves no half file."""
    check_writable(path)
    path = path.resolve()  # through links, to the file that is meant
    temporary = path
    try:
        handle, name = tempfile.mkstemp(prefix=".unfinished.", suffix=path.suffix, dir=path.parent)
        os.close(handle)
        temporary = Path(name)
        write(temporary)
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        os.replace(temporary, path)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        if temporary != path:
            temporary.unlink(missing_ok=True)


def check_netcdf_name(path: Path) -> None:
    """As `check_writable`; also refuses a suffix that promises another format."""
    if path.suffix.lower() not in (".nc", ".nc4", ".h5", ".netcdf"):
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
_TEXT_OF_PICTURE = b"tEXtSoftware\0tcpdynamics"


def check_replaceable(path: Path, force: bool, model: str = "") -> None:
    """Raise OutputError if a file is there that this package did not write, or that holds another model.

    An empty file, as `mktemp` makes it, may be replaced.
    """
    if force or not path.is_file():
        return
    try:
        with path.open("rb") as file:
            start = file.read(1024)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from None
    if not start or start.startswith((PAGE.encode(), TABLE.encode())) or _TEXT_OF_PICTURE in start:
        return
    attributes = _attributes(path)
    if not {"version", "comparison"} & set(attributes):
        raise OutputError(
            f"cannot write {path}: the file that is there is not whole, or tcpdynamics did not write it; give another "
            "name, remove it, or give --force"
        )
    held = str(attributes.get("model", model))
    if model and held != model:
        raise OutputError(
            f"cannot write {path}: {path.name} holds {bare(held)}, not {model}; give another name, remove it, or give "
            "--force"
        )


def _attributes(path: Path) -> dict[str, Any]:
    """What a NetCDF file says of itself; nothing for any other file, and for one that was cut off."""
    from tcpdynamics.solvers.sweeps.netcdf_store import read_netcdf_attributes

    try:
        return read_netcdf_attributes(path.resolve())[0]
    except Exception:  # whatever the libraries raise on what is not theirs
        return {}


def marked_picture(png: bytes) -> bytes:
    """A PNG that says what made it, in a text chunk behind its header."""
    end = 8 + 25  # signature and IHDR
    crc = zlib.crc32(_TEXT_OF_PICTURE)
    return (
        png[:end]
        + struct.pack(">I", len(_TEXT_OF_PICTURE) - 4)
        + _TEXT_OF_PICTURE
        + struct.pack(">I", crc)
        + png[end:]
    )


def write_netcdf(path: Path, result: xr.Dataset) -> None:
    """Write a result as NetCDF-4 (`check_netcdf_name` its path before the work); a hash of its bytes stands behind."""
    from tcpdynamics.solvers.sweeps.netcdf_rules import seal

    # By way of memory: HDF5 that meets a full disk crashes the process instead of raising OSError.
    content = result.to_netcdf(engine="h5netcdf")
    write_whole(path, lambda temporary: _write_bytes(content, seal(content), temporary))


def _write_bytes(content: Buffer, end: bytes, path: Path) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.write(end)


def _write_utf8(text: str, path: Path) -> None:
    path.write_text(text, encoding="utf-8")


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text."""
    write_whole(path, partial(_write_utf8, text))
