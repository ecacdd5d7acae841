"""Files from strangers as text: only ordinary ones, of bounded size, in UTF-8."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tcpdynamics.errors import ScenarioError

#: Largest file [byte].
MAX_BYTES = 8_000_000


def text_of(path: str | Path, advice: str, follow: bool = True) -> str:
    """What stands in an ordinary file of at most MAX_BYTES; anything else is refused before it is read.

    `advice`: what to do about a larger one. Without `follow`, a link to another file is refused.
    """
    if not follow and os.path.islink(path):
        raise ScenarioError("it is a link to another file; put the file itself there")
    stay = 0 if follow else getattr(os, "O_NOFOLLOW", 0)
    try:
        # Without waiting: a pipe that nobody writes to would block even this.
        handle = os.open(path, os.O_RDONLY | stay | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except ValueError as error:
        raise ScenarioError(f"this is no file name: {error}") from None
    try:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode):
            raise ScenarioError("this is no ordinary file but a folder, a device or a pipe")
        size = about.st_size
        if size <= MAX_BYTES:
            with os.fdopen(handle, "rb", closefd=False) as file:
                content = file.read(MAX_BYTES + 1)  # it may have grown since
            size = len(content)
    finally:
        os.close(handle)
    if size > MAX_BYTES:
        raise ScenarioError(f"the file has {size:,} bytes, at most {MAX_BYTES:,} are read; {advice}")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise ScenarioError("it is not UTF-8 text; save it as UTF-8") from None
    if text.startswith("\ufeff"):
        raise ScenarioError("it begins with a byte-order mark; save it as plain UTF-8")
    return text
