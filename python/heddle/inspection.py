"""Texts about programs and about this machine: stages of a compilation, explanations, the doctor, counters.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ctypes
import operator
import os
from typing import overload

from . import _library
from ._refusals import REFUSALS
from ._values import short
from .errors import BadInput
from .executable import program_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Literal

STAGES = ("foreach", "fused", "cuda", "plan", "ptx", "cubin")


@overload
def emit(
    program: str | os.PathLike[str], stage: Literal["cubin"], *, target: str | None = None, arch: str | None = None
) -> bytes: ...
@overload
def emit(
    program: str | os.PathLike[str],
    stage: Literal["foreach", "fused", "cuda", "plan", "ptx"] = "cuda",
    *,
    target: str | None = None,
    arch: str | None = None,
) -> str: ...
@overload
def emit(
    program: str | os.PathLike[str], stage: str, *, target: str | None = None, arch: str | None = None
) -> str | bytes: ...


def emit(
    program: str | os.PathLike[str], stage: str = "cuda", *, target: str | None = None, arch: str | None = None
) -> str | bytes:
    """Compiles a program up to a stage. No stage needs a GPU.

    Args:
        program: as for `heddle.compile`.
        stage: ``"foreach"`` (the program as foreach IR), ``"fused"`` (sweeps and schedules), ``"cuda"`` (the CUDA C++
            source), ``"plan"`` (JSON), ``"ptx"`` or ``"cubin"`` (both need NVRTC).
        target, arch: as for `heddle.compile`; without a GPU, `arch` defaults to sm_90.

    Returns:
        Text; bytes for ``"cubin"``.

    Raises:
        BadInput: there is no such stage, or a mistake in the program.
        Unavailable: the stage needs NVRTC, which is missing.
    """
    text, size = ctypes.c_void_p(), ctypes.c_size_t()
    _library.check(
        _library.library().heddle_emit(
            _library.encode(program_text(program), "program"),
            _library.encode(stage, "stage"),
            _library.make_options(target, arch),
            text,
            size,
        )
    )
    emitted = _library.take_bytes(text, size.value)
    return emitted if stage == "cubin" else emitted.decode("utf-8", "replace")


@overload
def explain(
    program: str | os.PathLike[str],
    *,
    shapes: Sequence[Sequence[int]] | None = None,
    json: Literal[False] = False,
    target: str | None = None,
    arch: str | None = None,
) -> str: ...
@overload
def explain(
    program: str | os.PathLike[str],
    *,
    shapes: Sequence[Sequence[int]] | None = None,
    json: Literal[True],
    target: str | None = None,
    arch: str | None = None,
) -> dict[str, Any]: ...


def explain(
    program: str | os.PathLike[str],
    *,
    shapes: Sequence[Sequence[int]] | None = None,
    json: bool = False,
    target: str | None = None,
    arch: str | None = None,
) -> str | dict[str, Any]:
    """Explains a program: kernels, launches, bytes per element before and after fusion, the floor, and the reasons.

    Args:
        program: as for `heddle.compile`.
        shapes: the shape of each member of the lists. None: one tensor of 1000 x 1000.
        json: True returns a dictionary.
        target, arch: as for `heddle.compile`.

    Returns:
        Text, or the dictionary that docs/cli.md describes: times in microseconds, sizes in bytes.

    Raises:
        BadInput: a mistake in the program or the shapes.
    """
    import json as _json  # here, so that importing heddle takes less time

    listed = None
    if shapes is not None:
        try:
            listed = _json.dumps([[operator.index(extent) for extent in shape] for shape in shapes]).encode()
        except REFUSALS as error:  # the caller's objects may refuse
            raise BadInput(
                f"shapes: expected a sequence of integers for each member, found {short(shapes)}"
            ) from error
    text = ctypes.c_void_p()
    _library.check(
        _library.library().heddle_explain(
            _library.encode(program_text(program), "program"),
            listed,
            int(json),
            _library.make_options(target, arch),
            text,
        )
    )
    explained = _library.take_text(text)
    if not json:
        return explained
    values: dict[str, Any] = _json.loads(explained)
    return values


def doctor() -> dict[str, Any]:
    """A report on this machine.

    Returns:
        The parts ``library``, ``driver``, ``devices``, ``nvrtc``, ``cache``, ``compiler`` and ``environment``. A part
        with ``"ok": False`` has a ``"problem"``, which says how to get what is missing. ``environment_errors`` has a
        message for each variable with a wrong value. Sizes are in bytes.

    Raises:
        Unavailable: the library of heddle does not load.
    """
    import json

    text = ctypes.c_void_p()
    _library.check(_library.library().heddle_doctor(text))
    report: dict[str, Any] = json.loads(_library.take_text(text))
    report["library"] = {"ok": True, "path": _library.library_path()}
    return report


def statistics() -> dict[str, int]:
    """The counters of this process, such as ``compilations``, ``cache_hits`` and ``replays`` (docs/runtime.md)."""
    lib = _library.library()
    counters: dict[str, int] = {}
    value = ctypes.c_uint64()
    while name := lib.heddle_statistic_name(len(counters)):
        _library.check(lib.heddle_statistic(name, value))
        counters[name.decode()] = value.value
    return counters
