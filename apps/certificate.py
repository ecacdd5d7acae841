"""Certificates: what made the files of a folder, and a hash of each, chained so that none can be changed quietly."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from tcpdynamics.errors import InputError, OutputError, StoreError, shown
from tcpdynamics.solvers.sweeps.plain_files import pieces, read_json

from . import files

NAME = "certificate.json"
#: Folders that hold what is being computed, not what came out.
_LEFT_OUT = ("stores",)
#: Files that a certificate lists, bytes of all of them, bytes of the certificate.
_MOST, _MOST_BYTES, _MOST_TEXT = 10_000, 8_000_000_000, 50_000_000


def certify(folder: Path, made: Mapping[str, Any], seeds: Mapping[str, Any]) -> Path:
    """Write `certificate.json` into a folder of outputs.

    Parameters
    ----------
    folder : Path
    made : mapping    What made the files: versions, commit, machine, date.
    seeds : mapping   Of each experiment.

    Returns
    -------
    Path of the certificate

    Raises
    ------
    OutputError
        There is nothing in the folder.
    """
    if not folder.is_dir():
        raise OutputError(
            f"cannot certify {folder}: there is no such folder; run figures --all --output {folder} first"
        )
    names = _outputs(folder)
    if not names:
        raise OutputError(f"cannot certify {folder}: no outputs are there; run figures --all --output {folder} first")
    document = {"made": dict(made), "seeds": dict(seeds), "outputs": []}
    link, remaining = _first(document["made"], document["seeds"]), _MOST_BYTES
    for name in names:
        try:
            content, remaining = _hash_of(folder / name, remaining)
        except StoreError as error:
            raise OutputError(f"cannot certify {folder}: {error}") from None
        link = _next(link, name, content)
        document["outputs"].append({"file": name, "sha256": content, "chain": link})  # type: ignore[attr-defined]
    path = folder / NAME
    files.write_text(path, json.dumps(document, indent=1) + "\n")
    return path


def check(path: Path) -> list[str]:
    """What is wrong with a certificate, or with the files beside it; nothing if all is as it was.

    Nothing but ordinary files of bounded size is read, whatever stands in the folder.

    Parameters
    ----------
    path : Path
        The certificate, or the folder that holds it.

    Raises
    ------
    InputError
        There is no certificate, the file is none, or it lists nothing.
    """
    path = path / NAME if path.is_dir() else path
    try:
        document = json.loads(b"".join(pieces(path, most=_MOST_TEXT, follow=True)))
        link = _first(document["made"], document["seeds"])
        rows = [(str(one["file"]), str(one["sha256"]), str(one["chain"])) for one in document["outputs"]]
    except StoreError as error:
        raise InputError(f"cannot read the certificate: {error}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError(f"{path} is no certificate; `tcpdynamics figures --certificate` writes one") from None
    if not 1 <= len(rows) <= _MOST:
        raise InputError(f"{path} is no certificate: it must list 1 to {_MOST:,} files, got {len(rows):,}")
    wrong, remaining = [], _MOST_BYTES
    for name, content, chained in rows:
        link = _next(link, name, content)
        if link != chained:
            wrong.append(f"{shown(name)}: the chain is broken here; the certificate was edited")
            link = chained
        file = path.parent / name
        if Path(name).is_absolute() or ".." in Path(name).parts or not _is_below(file, path.parent):
            wrong.append(f"{shown(name)}: lies outside the folder")
        elif not os.path.isfile(file):  # unlike Path.is_file, False also for a name that is too long
            wrong.append(f"{shown(name)}: is missing")
        else:
            try:
                there, remaining = _hash_of(file, remaining)
            except StoreError as error:
                wrong.append(f"{shown(name)}: is not read: {error}")
            else:
                if there != content:
                    wrong.append(f"{shown(name)}: has other content than when it was certified")
    listed = {name for name, _, _ in rows}
    wrong += [f"{shown(name)}: is not in the certificate" for name in _outputs(path.parent) if name not in listed]
    return wrong


def setting_of(ledger: Path) -> str:
    """The setting that `ledger.json` was made with. Raises InputError where it does not say."""
    try:
        return str(read_json(ledger, _MOST_TEXT)["made"]["setting"])
    except (StoreError, KeyError, TypeError):
        raise InputError(f"{ledger} is not what figures --all writes; remove it, or run figures --all") from None


def _is_below(file: Path, folder: Path) -> bool:
    """Whether a file lies below a folder after links are resolved."""
    try:
        return file.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):  # a link to itself, a name that no file may have
        return True  # reported as missing next


def _outputs(folder: Path) -> list[str]:
    """Names of the files of a folder, in order. Raises InputError where they are too many."""
    entries = list(islice(folder.rglob("*"), 2 * _MOST + 1))
    names = sorted(p.relative_to(folder) for p in entries if p.is_file())
    if len(entries) > 2 * _MOST or len(names) > _MOST:
        raise InputError(f"{folder} holds more than {_MOST:,} files; give the folder of figures --all")
    return [n.as_posix() for n in names if n.parts[0] not in _LEFT_OUT and n.as_posix() != NAME]


def _hash_of(path: Path, most: int) -> tuple[str, int]:
    """The hash of an ordinary file, and how many bytes may still be read after it. Raises StoreError."""
    digest = hashlib.sha256()
    for piece in pieces(path, most=most, follow=True):
        digest.update(piece)
        most -= len(piece)
    return digest.hexdigest(), most


def _first(made: object, seeds: object) -> str:
    """How the chain begins."""
    return _hash(json.dumps([made, seeds], sort_keys=True).encode())


def _next(link: str, name: str, content: str) -> str:
    """The next link of the chain. File systems know names that are not UTF-8, and strangers write any text."""
    return _hash(f"{link} {name} {content}".encode("utf-8", "surrogatepass"))


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
