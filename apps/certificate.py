"""Certificates: what made the files of a folder, and a hash of each, chained so that none can be changed quietly."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tcpdynamics.errors import InputError, OutputError, shown

from . import files

NAME = "certificate.json"
#: Folders that hold what is being computed, not what came out.
_LEFT_OUT = ("stores",)
_MOST = 10_000


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
        raise OutputError(
            f"cannot certify {folder}: no outputs are there; run figures --all --output {folder} first"
        )
    document = {"made": dict(made), "seeds": dict(seeds), "outputs": []}
    link = _hash(json.dumps([document["made"], document["seeds"]], sort_keys=True).encode())
    for name in names:
        content = _hash((folder / name).read_bytes())
        link = _hash(f"{link} {name} {content}".encode())
        document["outputs"].append({"file": name, "sha256": content, "chain": link})  # type: ignore[attr-defined]
    path = folder / NAME
    files.write_text(path, json.dumps(document, indent=1) + "\n")
    return path


def check(path: Path) -> list[str]:
    """What is wrong with a certificate, or with the files beside it; nothing if all is as it was.

    Parameters
    ----------
    path : Path
        The certificate, or the folder that holds it.

    Raises
    ------
    InputError
        There is no certificate, or the file is none.
    """
    path = path / NAME if path.is_dir() else path
    try:
        if path.stat().st_size > 50_000_000:
            raise InputError(f"{path} is no certificate: it has more than 50 MB")
        document = json.loads(path.read_text(encoding="utf-8"))
        made, seeds, outputs = document["made"], document["seeds"], document["outputs"]
        rows = [(str(one["file"]), str(one["sha256"]), str(one["chain"])) for one in outputs]
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError(
            f"{path} is no certificate; `tcpdynamics figures --certificate` writes one"
        ) from None
    if len(rows) > _MOST:
        raise InputError(f"{path} is no certificate: it lists more than {_MOST:,} files")
    wrong, link = [], _hash(json.dumps([made, seeds], sort_keys=True).encode())
    for name, content, chained in rows:
        link = _hash(f"{link} {name} {content}".encode())
        if link != chained:
            wrong.append(f"{shown(name)}: the chain is broken here; the certificate was edited")
            link = chained
        file = path.parent / name
        if Path(name).is_absolute() or ".." in Path(name).parts:
            wrong.append(f"{shown(name)}: lies outside the folder")
        elif not file.is_file():
            wrong.append(f"{shown(name)}: is missing")
        elif _hash(file.read_bytes()) != content:
            wrong.append(f"{shown(name)}: has other content than when it was certified")
    listed = {name for name, _, _ in rows}
    wrong += [
        f"{shown(name)}: is not in the certificate" for name in _outputs(path.parent) if name not in listed
    ]
    return wrong


def _outputs(folder: Path) -> list[str]:
    every = (p for p in sorted(folder.rglob("*")) if p.is_file())
    names = [p.relative_to(folder) for p in every]
    return [n.as_posix() for n in names if n.parts[0] not in _LEFT_OUT and n.as_posix() != NAME]


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
