"""Calls that interrupt another call of the same thread on the same object: those of signal handlers and of ``__del__``.

They end, and are done or refused. The interrupted call then does what it does otherwise. As in test_interruptions.py, a
trace function takes the place of the handler, at every line in turn.
"""

import os
import threading

import numpy
import pytest

import heddle
import heddle.ot
from heddle import _turns
from heddle.ot import _cache
from test_interruptions import interrupted_by, lines_in

WITHIN = "expected a call after the one before has returned, found one within it"


def held_by_another_thread(lock, check):
    """Runs a check while another thread holds a lock."""
    taken, checked = threading.Event(), threading.Event()

    def use():
        with lock:
            taken.set()
            checked.wait()

    thread = threading.Thread(target=use)
    thread.start()
    taken.wait()
    try:
        check()
    finally:
        checked.set()
        thread.join()


def test_locks():
    lock = threading.RLock()
    assert not _turns.is_held(lock) and not _turns.is_interrupted(lock)
    with lock:
        assert _turns.is_held(lock) and _turns.is_interrupted(lock)

    def check():
        assert _turns.is_held(lock) and not _turns.is_interrupted(lock)

    held_by_another_thread(lock, check)
    assert not _turns.is_held(lock)
    left = _turns.LeftLocked("in use")
    assert _turns.is_held(left) and not _turns.is_interrupted(left)


class Handler:
    """Makes a call, which is done or refused."""

    def __init__(self, call):
        self.call, self.done, self.refused = call, 0, 0

    def __call__(self):
        try:
            self.call()
            self.done += 1
        except heddle.BadInput as error:
            assert WITHIN in str(error)
            self.refused += 1


def at_lines(call, handler, stride=1, after=lambda: None):
    """Interrupts a call at each of its lines, or at some of them."""
    call()
    for line in range(1, lines_in(call) + 1, stride):
        assert interrupted_by(handler, call, line)[1] is None
        after()


@pytest.fixture
def double():
    return heddle.compile(
        """!list = !foreach.list<tensor<?xf32>>
        func.func @double(%x: !list) -> (!list {foreach.name = "y"}) {
          %y = foreach.map (%v = %x : !list) -> !list {
            %s = arith.addf %v, %v : f32
            foreach.yield %s : f32
          }
          return %y : !list
        }""",
        target="cpu",
    ).graph()


def test_binding_within_binding(double):
    """The graph keeps the arrays that the library has."""
    first, second = numpy.ones(4, "f4"), numpy.full(4, 2, "f4")

    def check():
        double.replay()
        bound = double._bound["x"][0][0]
        assert bound is first or bound is second
        assert double.result("y")[0].tolist() == (2 * bound).tolist()

    handler = Handler(lambda: double.bind_list("x", [second]))
    at_lines(lambda: double.bind_list("x", [first]), handler, after=check)
    assert handler.done > 5 and handler.refused > 5


@pytest.mark.parametrize("name", ("replay", "prepare", "close", "synchronize", "bind_list", "result", "measure"))
def test_calls_within_a_replay(name):
    graph, param, grad = heddle.compile("sgd:lr=1", target="cpu").graph(), numpy.zeros(3, "f4"), numpy.ones(3, "f4")
    arguments = {"bind_list": ("param", [param]), "result": ("param",), "measure": (1, 1)}.get(name, ())
    handler = Handler(lambda: getattr(graph, name)(*arguments))

    def begin():
        nonlocal graph
        graph = heddle.compile("sgd:lr=1", target="cpu").graph()
        graph.bind_list("grad", [grad])
        graph.bind_list("param", [param])
        graph.prepare()
        param[:] = 0

    begin()
    lines = lines_in(graph.replay)
    for line in range(1, lines + 1):
        begin()
        done = handler.done
        _, error = interrupted_by(handler, graph.replay, line)
        is_closed = name == "close" and handler.done > done
        assert (str(error) == "the graph is closed") if is_closed and error else error is None
        steps = (error is None) + (name in ("replay", "measure")) * (handler.done - done)
        assert -param.max() == -param.min() >= steps
        if name != "measure":  # which replays several times
            assert -param.max() == steps
    assert handler.refused > 1


def test_a_call_of_a_finalizer(double):
    """An array that is no longer bound is deleted while the graph is in use."""
    refusals = []

    class Array(numpy.ndarray):
        def __del__(self):
            try:
                double.replay()
            except heddle.BadInput as error:
                refusals.append(str(error))

    double.bind_list("x", [numpy.ones(4, "f4").view(Array)])
    double.bind_list("x", [numpy.ones(4, "f4")])
    assert len(refusals) == 1 and refusals[0].startswith("graph: " + WITHIN)
    double.replay()


def test_solves():
    M, other = (numpy.random.default_rng(seed).random((4, 5)) for seed in range(2))
    expected = [heddle.ot.solve(each, reg=0.1).value for each in (M, other)]
    found = []

    def solve():
        assert heddle.ot.solve(other, reg=0.1).value == expected[1]

    def call():
        found.append(heddle.ot.solve(M, reg=0.1).value)

    handler = Handler(solve)
    at_lines(call, handler, stride=11)
    assert set(found) == {expected[0]} and handler.done > 50 and not handler.refused
    with _cache._cache.lock, pytest.raises(heddle.BadInput, match="^clear_cache: " + WITHIN):
        heddle.ot.clear_cache()


def test_a_fork_within_a_call(double):
    """The child of a handler cannot use the graph, because its call never ends there."""
    double.bind_list("x", [numpy.ones(4, "f4")])
    double.replay()
    with double._lock:
        child = os.fork()
        if child == 0:
            try:
                double.replay()
            except heddle.BadInput as error:
                os._exit("when this process was forked" in str(error))
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    double.replay()
