"""The table of a picture with lines: a name, x and y, as in its CSV."""

from __future__ import annotations

#: How the code of a plane ends: `lines` has the x and y of each, by name.
PLANE = """
table = pd.concat([pd.DataFrame({{"line": name, {x!r}: x, {y!r}: y}}) for name, (x, y) in lines.items()])
print(table)
"""
