"""The exceptions that mean a refusal are the same in Python, in the source of the extension, and in what it does."""

import builtins
import pathlib
import re

import pytest

from heddle import _fast, _fast_fallback
from heddle._refusals import REFUSALS

ROOT = pathlib.Path(__file__).resolve().parents[2]


def made(kind):
    """An exception of a builtin type."""
    if issubclass(kind, UnicodeDecodeError):
        return kind("utf-8", b"", 0, 0, "")
    if issubclass(kind, UnicodeEncodeError):
        return kind("utf-8", "", 0, 0, "")
    if issubclass(kind, UnicodeTranslateError):
        return kind("", 0, 0, "")
    return kind("", [ValueError()]) if issubclass(kind, getattr(builtins, "BaseExceptionGroup", ())) else kind()


EXCEPTIONS = [
    made(each) for each in vars(builtins).values() if isinstance(each, type) and issubclass(each, BaseException)
]


def test_the_list_of_the_extension():
    text = (ROOT / "python" / "native" / "refusals.h").read_text()
    listed = re.search(r"PyObject \*const kinds\[\] = \{(.*?)\};", text, re.S)
    assert re.findall(r"PyExc_(\w+)", listed[1]) == [each.__name__ for each in REFUSALS]
    assert all(getattr(builtins, each.__name__) is each for each in REFUSALS)


class Refusing:
    """An object that has no address."""

    def __init__(self, error):
        self.error = error

    def data_ptr(self):
        raise self.error

    __dlpack_device__ = data_ptr


@pytest.mark.parametrize("module", [_fast, _fast_fallback], ids=["fast", "fallback"])
@pytest.mark.parametrize("error", EXCEPTIONS, ids=lambda error: type(error).__name__)
def test_what_reading_does(module, error):
    """A refusal is an object that does not fit. Anything else reaches the caller."""
    expected, out = (-1).to_bytes(8, "little", signed=True), bytearray(8)  # the layout of None
    if isinstance(error, REFUSALS):
        assert module.addresses([Refusing(error)], 0, out, expected) == -1
    else:
        with pytest.raises(type(error)):
            module.addresses([Refusing(error)], 0, out, expected)
