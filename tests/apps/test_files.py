"""Results reach their file whole or not at all, and nothing else is touched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tcpdynamics.apps.files import write_text
from tcpdynamics.errors import OutputError


def test_a_link_is_followed_and_kept(tmp_path: Path) -> None:
    target, link = tmp_path / "real.txt", tmp_path / "link.txt"
    target.write_text("before")
    link.symlink_to(target)
    write_text(link, "after")
    assert link.is_symlink()
    assert target.read_text() == "after"


def test_devices_and_pipes_are_refused_and_kept(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OutputError, match="device or a pipe"):
        write_text(pipe, "x")
    assert pipe.is_fifo()


@pytest.mark.parametrize("name", ["", "x" * 300 + ".txt", "no/such/folder.txt"])
def test_impossible_names_are_one_sentence(tmp_path: Path, name: str) -> None:
    with pytest.raises(OutputError, match="cannot write"):
        write_text(tmp_path / name, "x")
    assert list(tmp_path.iterdir()) == []
