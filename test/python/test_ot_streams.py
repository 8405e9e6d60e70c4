"""A result that is computed on another stream than that of the solve. The streams here only record their waits.

test/bench/python_ot.py --check tests the same on a GPU.
"""

import types

import numpy
import ot_reference as reference
import pytest

import heddle
import heddle.ot
from heddle.ot._cache import Entry
from heddle.ot._libraries import Library

SOLVE, OTHER = (types.SimpleNamespace(ptr=handle) for handle in (0, 7))


@pytest.fixture
def log(monkeypatch):
    """The waits and the runs of programs, after a solve on the stream 0."""
    events = []
    real = Entry.replay

    def replay(self, *arguments):
        events.append("run")
        real(self, *arguments)

    monkeypatch.setattr(Entry, "replay", replay)
    monkeypatch.setattr(Library, "_wait", lambda self, later, earlier: events.append((later.ptr, earlier.ptr)))
    monkeypatch.setattr(Library, "_current_stream", lambda self: OTHER)
    return events


def solved():
    result = heddle.ot.solve(*reference.problem(5, 4), 0.1)
    result._library._stream = SOLVE
    return result


def test_a_result_that_is_computed_later(log):
    result = solved()
    log.clear()
    result.plan
    assert log[:3] == [(0, 7), "run", (7, 0)], "its memory is that of the current stream, its inputs are those of the other"
    log.clear()
    result.product(numpy.ones((4, 2)))
    assert log == [(0, 7), "run", (7, 0)]


@pytest.mark.parametrize("name", ["potential_a", "error", "n_iter", "status", "converged"])
def test_a_result_of_the_solve(log, name):
    result = solved()
    result._host.clear()
    log.clear()
    getattr(result, name)
    assert log and set(log) == {(7, 0)}


def test_the_same_stream_waits_for_nothing(log, monkeypatch):
    result = solved()
    monkeypatch.setattr(Library, "_current_stream", lambda self: SOLVE)
    log.clear()
    result.plan, result.value, result.n_iter
    assert log == ["run", "run"]
