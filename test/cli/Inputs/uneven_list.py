"""Compares the members and elements of the lists in a report with those that test/bench/sizes.py gives them."""

import json
import sys

sys.path.insert(0, f"{sys.argv[1]}/test/bench")
from sizes import shapes_of  # noqa: E402

with open(sys.argv[2]) as file:
    rows = json.load(file)["rows"]
for row in rows:
    shapes = shapes_of(row["input"])
    assert (len(shapes), sum(rows * columns for rows, columns in shapes)) == (row["members"], row["elements"]), row
    if row["input"].startswith("90x17..401"):
        assert len({rows for rows, _ in shapes}) > 30 and {columns for _, columns in shapes} == {1, 2, 3, 7}, shapes
