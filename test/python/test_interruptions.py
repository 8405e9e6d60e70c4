"""An exception that a signal handler raises while heddle works reaches the caller.

Python runs a handler between two bytecodes. A trace function that raises at a line does the same, but at a line that the
test chooses. Each test raises at every line of a call in turn.
"""

import inspect
import linecache
import os
import sys

import numpy
import pytest

import heddle
import heddle.ot

PACKAGE = os.path.dirname(heddle.__file__) + os.sep
#: Python prints their exceptions and goes on.
FINALIZERS = ("__del__", "_free", "is_held")


class Timeout(Exception):
    pass


def is_atomic(file, line):
    """Whether Python runs the trace function, but no handler of signals, before a line that enters or leaves a block."""
    text, before = linecache.getline(file, line), linecache.getline(file, line - 1)
    return text.lstrip().startswith(("with ", "try:")) or before.strip().startswith("finally:")


class Refusal(RuntimeError):
    """An exception of a class with which objects refuse to be read."""


def lines_in(call):
    """The number of lines of heddle that a call runs."""
    return interrupted(call, None)[0]


def interrupted(call, line, exception=Timeout):
    """The number of lines and ends of functions that ran, and the exception of a call that is interrupted at one of them."""

    def handler():
        raise exception

    return interrupted_by(handler, call, line)


def interrupted_by(handler, call, line):
    """As `interrupted`, by any handler. It may run before each line, and at the end of each function."""
    count = 0

    def at_line(frame, event, argument):
        nonlocal count
        # Python also closes a generator that nobody needs, and prints an exception of it.
        is_end = event == "return" and not frame.f_code.co_flags & inspect.CO_GENERATOR
        if is_end or (event == "line" and not is_atomic(frame.f_code.co_filename, frame.f_lineno)):
            count += 1
            if count == line:
                handler()
        return at_line

    def at_call(frame, event, argument):
        code = frame.f_code
        return at_line if code.co_filename.startswith(PACKAGE) and code.co_name not in FINALIZERS else None

    sys.settrace(at_call)
    try:
        call()
    except Exception as error:
        return count, error
    finally:
        sys.settrace(None)
    return count, None


def check(call, before=lambda: None, after=lambda: None):
    """Every exception must arrive as it was raised."""
    for _ in range(3):
        before()
        call()
    before()
    lines, wrong = lines_in(call), {}
    assert lines > 10
    for line in range(1, lines + 1):
        before()
        _, error = interrupted(call, line)
        if type(error) is not Timeout:
            wrong[line] = repr(error)
        after()
        before()
        call()
    assert not wrong


def test_solves():
    M = numpy.random.default_rng(0).random((5, 6))

    def call():
        result = heddle.ot.solve(M, reg=0.1)
        return result.value, result.n_iter

    check(call)


@pytest.mark.parametrize("options", [{}, {"unbalanced": 1.0}, {"outputs": ("plan",)}], ids=repr)
def test_solves_with_an_exception_that_may_be_a_refusal(options):
    """It arrives, or is the cause of the error that does. heddle does not go on."""
    M, a = numpy.random.default_rng(0).random((4, 5)), numpy.full(4, 0.25)

    def call():
        return heddle.ot.solve(M, a, reg=0.1, **options).value

    for _ in range(3):
        call()
    wrong = {}
    for line in range(1, interrupted(call, None)[0] + 1):
        _, error = interrupted(call, line, Refusal)
        known = error
        while known is not None and not isinstance(known, Refusal):
            known = known.__cause__
        if known is None:
            wrong[line] = repr(error)
    assert not wrong


def test_objects_of_other_libraries():
    """An exception that is no refusal of an object is not made one."""

    class Slow:
        def __float__(self):
            raise Timeout

        __index__ = __len__ = __iter__ = __dlpack_device__ = __bool__ = __float__
        shape = property(__float__)

    graph = heddle.compile("sgd", target="cpu").graph()
    M = numpy.ones((2, 2))
    for call in (
        lambda: graph.set_scalar("lr", Slow()),
        lambda: graph.bind_list("param", Slow()),
        lambda: graph.set_inactive("param", [Slow()]),
        lambda: graph.list_binding("param", [[Slow()]]),
        lambda: graph.list_binding("param", [[1]]).bind([Slow()]),
        lambda: heddle.arrays.view(type("Array", (Slow,), {"__dlpack__": None})()),
        lambda: heddle.ot.sinkhorn(M, eps=Slow()),
        lambda: heddle.ot.sinkhorn(M, [Slow(), 1]),
        lambda: heddle.ot.solve(M, reg=1, unbalanced=Slow()),
        lambda: heddle.explain("sgd", shapes=[[Slow()]]),
    ):
        with pytest.raises(Timeout):
            call()


def test_causes():
    """A refusal of an object is the cause of the error."""

    class Refusing:
        def __float__(self):
            raise RuntimeError("not today")

    with pytest.raises(heddle.BadInput) as caught:
        heddle.ot.sinkhorn(numpy.ones((2, 2)), eps=Refusing())
    assert "not today" in str(caught.value.__cause__)
    with pytest.raises(heddle.BadInput) as caught:
        heddle.ot.solve(numpy.ones((2, 2)), reg=Refusing())
    assert "not today" in str(caught.value.__cause__)
