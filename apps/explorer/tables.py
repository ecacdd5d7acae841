"""The numbers of a picture: what its code gives, as a table with the columns of its CSV, and as a Dataset."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

#: How the code of a plane ends: `lines` has the x and y of each, by name.
PLANE = """
table = pd.concat([pd.DataFrame({{"line": name, {x!r}: x, {y!r}: y}}) for name, (x, y) in lines.items()])
print(table)
"""


def table_of(code: str) -> Any:
    """What the lines of a picture's code give, as a pandas.DataFrame.

    Notes
    -----
    The lines are those that the page shows. They hold the page's values, which were read: numbers, written by `repr`,
    and words of its choices.
    """
    names: dict[str, Any] = {"print": lambda *shown: None}
    exec(code, names)
    return names["table"].reset_index(drop=True)


def dataset_of(code: str, title: str) -> xr.Dataset:
    """The table as a Dataset over `row`: a variable for each column, with the column's name and unit.

    Examples
    --------
    >>> text = "import pandas as pd\\ntable = pd.DataFrame({'time [s]': [0, 1], 'flow 1': [2.0, 3.0]})"
    >>> dataset_of(text, "Rates").time.attrs
    {'long_name': 'time', 'units': 's'}
    """
    import xarray as xr

    variables: dict[str, Any] = {}
    for header, column in table_of(code).items():
        long_name, _, unit = str(header).partition(" [")
        name = re.sub(r"\W+", "_", long_name).strip("_")
        values = column.to_numpy()
        if values.dtype == object:  # words, or words between numbers
            values = np.array([str(x) for x in values])
        variables[name] = ("row", values, {"long_name": long_name, "units": unit.rstrip("]") or "1"})
    return xr.Dataset(variables, attrs={"title": title})
