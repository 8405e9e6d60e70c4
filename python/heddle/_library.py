"""Finds and loads ``libheddle.so``, and declares the functions of heddle.h.

The library is loaded at the first call, so that ``import heddle`` is fast. ctypes releases the global interpreter lock
during every call.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
import threading
import weakref
from ctypes import POINTER, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint64, c_void_p

from .errors import STATUSES, BadInput, Error, Failed, Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_CHECKOUT = os.path.dirname(os.path.dirname(_PACKAGE))
_NAME = "libheddle.so"


class Options(ctypes.Structure):
    """heddle_options."""

    _fields_ = [("struct_size", c_size_t), ("target", c_char_p), ("arch", c_char_p)]


class RawBufferInfo(ctypes.Structure):
    """heddle_buffer_info."""

    _fields_ = [
        ("name", c_char_p),
        ("dtype", c_int),
        ("is_list", c_int),
        ("rank", c_int),
        ("donated", c_int),
        ("has_default", c_int),
        ("default_value", c_double),
    ]


# A handle, an address, or an array in C: an integer, bytes, or a ctypes array.
_pointer = c_void_p
_status = c_int

#: The functions of heddle.h: their results, and their arguments in order. test/python/test_core_library.py compares
#: this table with the header.
SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "heddle_version": (c_char_p, ()),
    "heddle_last_error": (c_char_p, ()),
    "heddle_free": (None, (_pointer,)),
    "heddle_compile": (_status, (c_char_p, POINTER(Options), POINTER(c_void_p))),
    "heddle_load_plan": (_status, (c_char_p, POINTER(Options), POINTER(c_void_p))),
    "heddle_executable_free": (None, (_pointer,)),
    "heddle_executable_arch": (c_char_p, (_pointer,)),
    "heddle_executable_log": (c_char_p, (_pointer,)),
    "heddle_executable_plan": (_status, (_pointer, POINTER(c_void_p))),
    "heddle_argument_count": (c_size_t, (_pointer,)),
    "heddle_argument": (_status, (_pointer, c_size_t, POINTER(RawBufferInfo))),
    "heddle_result_count": (c_size_t, (_pointer,)),
    "heddle_result": (_status, (_pointer, c_size_t, POINTER(RawBufferInfo))),
    "heddle_graph_create": (_status, (_pointer, POINTER(c_void_p))),
    "heddle_graph_free": (None, (_pointer,)),
    "heddle_bind_list": (_status, (_pointer, c_char_p, c_int, c_size_t, _pointer, _pointer, _pointer)),
    "heddle_bind_list_strided": (
        _status,
        (_pointer, c_char_p, c_int, c_size_t, _pointer, _pointer, _pointer, _pointer),
    ),
    "heddle_bind_scalar": (_status, (_pointer, c_char_p, c_int, _pointer)),
    "heddle_set_scalar": (_status, (_pointer, c_char_p, c_double, _pointer)),
    "heddle_bind_result": (_status, (_pointer, c_char_p, c_int, c_size_t, _pointer, _pointer, _pointer)),
    "heddle_bind_result_strided": (
        _status,
        (_pointer, c_char_p, c_int, c_size_t, _pointer, _pointer, _pointer, _pointer),
    ),
    "heddle_set_inactive": (_status, (_pointer, c_char_p, c_size_t, _pointer)),
    "heddle_prepare": (_status, (_pointer, _pointer)),
    "heddle_replay": (_status, (_pointer, _pointer)),
    "heddle_synchronize": (_status, (_pointer, _pointer)),
    "heddle_result_members": (_status, (_pointer, c_char_p, POINTER(c_size_t))),
    "heddle_result_member": (
        _status,
        (_pointer, c_char_p, c_size_t, POINTER(c_void_p), POINTER(c_int), POINTER(c_int64), POINTER(c_int64)),
    ),
    "heddle_read_scalar": (_status, (_pointer, c_char_p, POINTER(c_double), _pointer)),
    "heddle_measure": (_status, (_pointer, c_int, c_int, POINTER(c_double))),
    "heddle_memory_create": (_status, (_pointer, c_size_t, POINTER(c_void_p))),
    "heddle_memory_free": (None, (_pointer,)),
    "heddle_memory_address": (c_void_p, (_pointer,)),
    "heddle_memory_write": (_status, (_pointer, c_size_t, _pointer, c_size_t)),
    "heddle_memory_read": (_status, (_pointer, c_size_t, _pointer, c_size_t)),
    "heddle_emit": (_status, (c_char_p, c_char_p, POINTER(Options), POINTER(c_void_p), POINTER(c_size_t))),
    "heddle_explain": (_status, (c_char_p, c_char_p, c_int, POINTER(Options), POINTER(c_void_p))),
    "heddle_doctor": (_status, (POINTER(c_void_p),)),
    "heddle_statistic_name": (c_char_p, (c_size_t,)),
    "heddle_statistic": (_status, (c_char_p, POINTER(c_uint64))),
}

# ----------------------------------------------------------------------------------------------------------------------
# Finding and loading
# ----------------------------------------------------------------------------------------------------------------------

_loaded: ctypes.CDLL | None = None
_loading = threading.RLock()  # a signal handler may load it, too


def _unlock() -> None:
    # Another thread of the parent may hold the lock.
    global _loading
    _loading = threading.RLock()


os.register_at_fork(after_in_child=_unlock)


def in_checkout() -> bool:
    """Whether this package lies in a checkout of heddle, and not in an installed wheel."""
    return os.path.isfile(os.path.join(_CHECKOUT, "runtime", "heddle.h"))


def library_path() -> str:
    """The path of ``libheddle.so``: HEDDLE_LIBRARY, else the file of the wheel, else the build folder of a checkout.

    Raises:
        Unavailable: there is none.
    """
    named = os.environ.get("HEDDLE_LIBRARY", "")
    if named:
        path = os.path.join(named, _NAME) if os.path.isdir(named) else named
        if not os.path.isfile(path):
            raise Unavailable(f"HEDDLE_LIBRARY: expected {_NAME} or a folder that holds it, found '{named}'")
        return path
    places = [os.path.join(_PACKAGE, _NAME)]
    if in_checkout():
        places.append(os.path.join(_CHECKOUT, "build", "lib", _NAME))
    for path in places:
        if os.path.isfile(path):
            return path
    remedy = "run tools/dev build" if in_checkout() else "reinstall the wheel of heddle"
    raise Unavailable(f"no {_NAME}: searched {' and '.join(places)}; {remedy}, or set HEDDLE_LIBRARY")


def expected_version() -> str:
    """The version of this package, which the library must have, too: the one in CMakeLists.txt.

    The build writes it into the wheel.
    """
    try:
        from ._version import version  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        pass
    else:
        return str(version)
    try:
        with open(os.path.join(_CHECKOUT, "CMakeLists.txt"), encoding="utf-8") as file:
            found = re.search(r"^project\(heddle VERSION ([0-9.]+)", file.read(), re.M)
    except OSError:
        found = None
    return found.group(1) if found else "unknown"


def library() -> ctypes.CDLL:
    """The loaded library, with the signatures of `SIGNATURES`.

    Raises:
        Unavailable: the library is missing, does not load, or has another version than this package.
    """
    return _loaded or _load()


def _load() -> ctypes.CDLL:
    global _loaded
    with _loading:
        if _loaded is not None:
            return _loaded
        path = library_path()
        use_nvrtc_of_environment()
        try:
            opened = ctypes.CDLL(path)
        except OSError as error:
            raise Unavailable(f"{path} does not load: {error}") from None
        try:
            opened.heddle_version.restype = c_char_p
            found = opened.heddle_version().decode()
        except AttributeError:
            raise Unavailable(f"{path} is not the library of heddle: it has no function heddle_version") from None
        if expected_version() == "unknown":
            raise Unavailable(
                f"the package in {_PACKAGE} has no _version.py, so it cannot tell whether {path}, version {found}, belongs "
                "to it: it is a copy of the sources alone. Install the wheel of heddle, import the package from its "
                "checkout, or copy the folder of an installed package with all its files"
            )
        if found != expected_version():
            raise Unavailable(
                f"{path} has version {found}, but the Python package has version {expected_version()}: "
                "install both from one build, or unset HEDDLE_LIBRARY"
            )
        for name, (result, arguments) in SIGNATURES.items():
            try:
                function = getattr(opened, name)
            except AttributeError:
                raise Unavailable(f"{path} has no function {name}: it is older than the Python package") from None
            function.restype, function.argtypes = result, arguments
        _loaded = opened
        return opened


def version() -> str:
    """The version of heddle."""
    return str(library().heddle_version().decode())


# Where NVIDIA's wheels have NVRTC, with the major version of CUDA. torch's wheels for CUDA require these wheels.
_NVRTC_PLACES = (
    (13, "nvidia/cu13/lib/libnvrtc.so.13"),
    (12, "nvidia/cuda_nvrtc/lib/libnvrtc.so.12"),
)


def use_nvrtc_of_environment() -> None:
    """Names the NVRTC of this Python environment to the library: a wheel of NVIDIA.

    The library searches CUDA toolkits and the usual folders of Python packages, but it does not know ``sys.path``.
    HEDDLE_NVRTC, CUDA_HOME and CUDA_PATH have priority. If there are wheels of several versions of CUDA, it takes the
    latest that the driver supports.
    """
    if any(os.environ.get(name) for name in ("HEDDLE_NVRTC", "CUDA_HOME", "CUDA_PATH")):
        return
    found: dict[int, str] = {}
    for entry in [*sys.path, os.path.dirname(_PACKAGE)]:
        for major, place in _NVRTC_PLACES:
            path = os.path.abspath(os.path.join(entry or os.curdir, place))
            if major not in found and os.path.isfile(path):
                found[major] = path
    if found:
        driver = _driver_major() if len(found) > 1 else None
        usable = [major for major in found if driver is None or major <= driver]
        os.environ["HEDDLE_NVRTC"] = found[max(usable or found)]


def _driver_major() -> int | None:
    """The major version of CUDA that the driver supports; None without a driver."""
    version = c_int()
    try:
        driver = ctypes.CDLL(os.environ.get("HEDDLE_CUDA_DRIVER") or "libcuda.so.1")
        failed = driver.cuDriverGetVersion(ctypes.byref(version))
    except (OSError, AttributeError):
        return None
    return None if failed else version.value // 1000


# ----------------------------------------------------------------------------------------------------------------------
# Calls
# ----------------------------------------------------------------------------------------------------------------------


def error_of(status: int) -> Error:
    """The exception for a status other than 0, with the message of the last failure on this thread."""
    text = (library().heddle_last_error() or b"").decode("utf-8", "replace")
    return STATUSES.get(status, Failed)(text or f"unknown status {status}")


def check(status: int) -> None:
    """Raises the exception of a status that is not 0."""
    if status:
        raise error_of(status)


def created(owner: object, free: Any, create: Callable[[c_void_p], int]) -> int:
    """The handle that a function of the library creates. It is freed with `owner`.

    An exception of a signal handler may come when the handle has been created. So what frees it is registered before.
    """
    handle = c_void_p()
    # Other threads may use it while the interpreter ends. The end of the process frees it, too.
    weakref.finalize(owner, _free_created, free, handle).atexit = False
    check(create(handle))
    value = handle.value
    assert value is not None
    return value


def _free_created(free: Any, handle: c_void_p) -> None:
    if handle.value:
        free(handle)


def encode(text: str, name: str) -> bytes:
    """Text for the library. `name` is the name of the argument, for the message.

    Raises:
        BadInput: `text` is not a string, or has a null character or half of a surrogate pair.
    """
    if not isinstance(text, str):
        raise BadInput(f"{name}: expected a string, found {type(text).__name__}")
    try:
        encoded = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise BadInput(
            f"{name}: expected text that UTF-8 can hold, found U+{ord(text[error.start]):04X} at position {error.start}"
        ) from None
    if b"\0" in encoded:
        raise BadInput(f"{name}: expected text without null characters, found one at position {encoded.index(0)}")
    return encoded


def make_options(target: str | None, arch: str | None) -> Options:
    """heddle_options for a target and an architecture."""
    return Options(
        ctypes.sizeof(Options),
        None if target is None else encode(target, "target"),
        None if arch is None else encode(arch, "arch"),
    )


def take_bytes(text: c_void_p, size: int | None = None) -> bytes:
    """The bytes that a function returned through a ``char **``, which are then freed."""
    try:
        if size is not None:
            return ctypes.string_at(text.value or 0, size)
        return ctypes.string_at(text.value or 0)
    finally:
        library().heddle_free(text)


def take_text(text: c_void_p) -> str:
    """As `take_bytes`, decoded."""
    return take_bytes(text).decode("utf-8", "replace")
