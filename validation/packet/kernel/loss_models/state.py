"""The record of one loss process of a link: a head that all have, and room for what a model remembers."""

from __future__ import annotations

from typing import Any

import numpy as np

#: Bytes of a record, whatever the model: a link has one for data, or for all packets, and at most one more.
SIZE = 128


def state(*fields: tuple[str, Any]) -> np.dtype[Any]:
    """A record with the head and these fields.

    `hook`: address of the model, 0 for losses that are independent with probability `loss` [1]; `key`, `draws`: the
    model's own random stream.
    """
    head = [("hook", np.int64), ("loss", np.float64), ("key", np.uint64), ("draws", np.uint64)]
    names, formats = zip(*head, *fields, strict=True)
    offsets = [8 * i for i in range(len(names))]  # all are words
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": SIZE})


HEAD = state()
