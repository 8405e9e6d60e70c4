"""The order in which rows are summed, against the one that docs/lowering.md documents, computed here with NumPy."""

import os

import numpy
import pytest

import heddle

PROGRAM = os.path.join(os.path.dirname(__file__), "..", "bench", "programs", "row_sums.mlir")
#: A thread has so many columns at most before a row gets more threads; a block has so many threads.
ITEMS, THREADS, ADJACENT = 8, 256, 4
#: The columns of a part are a multiple of the first number, at least the second, and rows have parts for the third.
MULTIPLE, SHORTEST, WIDEST = 64, 4096, 1 << 20
#: The most columns of a row of one part: a column needs one word, or two in f64.
WHOLE = {"f32": 16384, "f16": 16384, "f64": 8192}
DTYPES = {"f32": "f4", "f16": "f2", "f64": "f8"}
WIDTHS = [
    0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 31, 32, 33, 64, 100, 255, 256, 257, 260, 511, 512, 513, 1000, 1023, 1024, 2000, 2047, 2048,
    2049, 2052, 4095, 4096, 4097, 5001, 8191, 8192, 8193, 8196, 12345, 16383, 16384, 16385, 16388, 20000, 50257, 100000,
    131072, 131073, 300001, WIDEST - 1, WIDEST, WIDEST + 1, WIDEST + 4, 1100001,
]  # fmt: skip


def pairwise(states):
    """The states of threads, as a warp combines them in a butterfly, then the warps in ascending order."""
    padded = numpy.zeros(-(-max(len(states), 1) // 32) * 32, states.dtype)
    padded[: len(states)] = states
    lanes = padded.reshape(-1, 32)
    for distance in (16, 8, 4, 2, 1):
        lanes = lanes + lanes[:, numpy.arange(32) ^ distance]
    total = lanes[0, 0]
    for warp in lanes[1:, 0]:
        total = total + warp
    return total


def sum_of_part(part, lanes, adjacent):
    """Each thread adds up its columns in ascending order."""
    rounds = -(-len(part) // (lanes * adjacent))
    padded = numpy.zeros((rounds, lanes, adjacent), part.dtype)
    padded.reshape(-1)[: len(part)] = part
    states = numpy.zeros(lanes, part.dtype)
    for turn in padded:
        for k in range(adjacent):
            states = states + turn[:, k]
    return pairwise(states)


def sum_of_row(row, whole):
    columns = len(row)
    adjacent = ADJACENT if columns % ADJACENT == 0 else 1
    lanes = 1
    while lanes < THREADS and lanes * ITEMS < columns:
        lanes *= 2
    if columns <= whole:
        return sum_of_part(row, lanes, adjacent)
    most = max(SHORTEST, whole // 2)
    count = min(WIDEST // most, -(-columns // most))
    length = -(-(-(-columns // count)) // MULTIPLE) * MULTIPLE
    parts = [row[part * length : (part + 1) * length] for part in range(count)]
    return pairwise(numpy.array([sum_of_part(part, THREADS, adjacent) for part in parts]))


@pytest.mark.parametrize("element", WHOLE)
def test_row_sums(element):
    with open(PROGRAM) as file:
        text = file.read()
    real = "f64" if element == "f64" else "f32"
    text = text.replace("!element = f32", f"!element = {element}").replace("!real    = f32", f"!real    = {real}")
    assert f"!element = {element}" in text and f"!real    = {real}" in text
    random = numpy.random.default_rng(7)
    members = [random.standard_normal((2, columns)).astype(DTYPES[element]) for columns in WIDTHS]
    graph = heddle.compile(text, target="cpu").graph()
    graph.bind_list("x", members)
    graph.replay()
    for rows, found in zip(members, graph.result("sum")):
        summed = [sum_of_row(row.astype(DTYPES[real]), WHOLE[element]) for row in rows]
        assert numpy.asarray(found).tobytes() == numpy.array(summed).tobytes(), rows.shape
