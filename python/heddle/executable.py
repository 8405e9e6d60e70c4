"""Compiled programs.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ctypes
import os
import re
import struct
from typing import NamedTuple

from . import _library
from ._refusals import REFUSALS
from ._values import refusal
from .dtypes import NAMES
from .errors import BadInput
from .graph import Graph

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn


class BufferInfo(NamedTuple):
    """An argument or a result of a program."""

    #: Its name.
    name: str
    #: The element type: f64, f32, f16, bf16, i1, i8, i16, i32 or i64.
    dtype: str
    #: True: one tensor for each member; False: one value, a scalar.
    is_list: bool
    #: The rank of a member. 0: one value; 1: any dense tensor (flattened); 2: rows and columns (leading dimensions are
    #: collapsed into rows).
    rank: int
    #: Whether a result replaces the argument: it is updated in place.
    donated: bool
    #: The default of a scalar argument, or None.
    default: float | None


def program_text(program: str | os.PathLike[str]) -> str:
    """A program as the C interface takes it."""
    refused, cause = "", None
    if isinstance(program, os.PathLike):
        try:
            return os.fspath(program)
        except REFUSALS as error:  # the caller's object may refuse
            refused, cause = f", which raises {refusal(error)}", error
    if not isinstance(program, str):
        remedy = refused
        if hasattr(type(program), "compile") and hasattr(type(program), "mlir"):
            remedy = ": call its method compile"
        elif callable(program) and not isinstance(program, type):
            remedy = ": for a rule, heddle.rule(function).compile()"
        raise BadInput(
            f"program: expected a path, the text of a module, or the name of a standard program, "
            f"found {type(program).__name__}{remedy}"
        ) from cause
    return program


def compile(program: str | os.PathLike[str], *, target: str | None = None, arch: str | None = None) -> Executable:
    """Compiles a program.

    Args:
        program: the path of a ``.mlir`` file, the text of a module, or a standard program with options, as in
            ``"adamw:amsgrad=true"``. ``+`` joins several standard programs: ``"clip_by_global_norm+adamw"``.
        target: ``"cuda"`` or ``"cpu"``. None: cuda if `arch` is given or there is a GPU, else cpu.
        arch: an architecture such as ``"sm_90"``; compiling for it needs no GPU. None: that of the GPU.

    Returns:
        An executable. Kernels that are in the disk cache are not compiled again.

    Raises:
        BadInput: there is no such program, option, target or architecture; or a mistake in the module.
        Unavailable: no GPU, driver or NVRTC.
        Failed: NVRTC refused the source.
    """
    text = program_text(program)
    options = _library.make_options(target, arch)
    encoded = _library.encode(text, "program")
    return Executable(lambda handle: _library.library().heddle_compile(encoded, options, handle), text)


def load_plan(plan: str, *, target: str | None = None, arch: str | None = None) -> Executable:
    """Makes an executable for the cuda target from a plan in JSON, as ``emit(program, "plan")`` returns it.

    Raises:
        BadInput: the text is no valid plan.
        Unavailable: no GPU, driver or NVRTC.
    """
    options = _library.make_options(target, arch)
    encoded = _library.encode(plan, "plan")
    return Executable(lambda handle: _library.library().heddle_load_plan(encoded, options, handle), None)


def _read_initial_values(text: str) -> dict[str, float]:
    """The attributes `foreach.initial` of the arguments of the function in the printed text of a program."""
    signature = re.search(r"func\.func [^\n]*", text)
    values = {}
    for name, attributes in re.findall(r"%(\w+): [^{}%]*\{([^{}]*)\}", signature.group() if signature else ""):
        found = re.search(r"foreach\.initial = ([^\s,]+)(?: : (\w+))?", attributes)
        if found:
            values[name] = _read_number(*found.groups())
    return values


def _read_number(text: str, dtype: str) -> float:
    """A number as MLIR prints it: values without a decimal form are printed as their bits."""
    if text in ("true", "false"):
        return float(text == "true")
    if not text.startswith("0x"):
        return float(text)
    bits = int(text, 16)
    if dtype == "bf16":
        bits, dtype = bits << 16, "f32"
    form, unsigned = {"f64": ("<d", "<Q"), "f32": ("<f", "<I"), "f16": ("<e", "<H")}[dtype]
    value: float = struct.unpack(form, struct.pack(unsigned, bits))[0]
    return value


class Executable:
    """Compiled kernels and their plan, from `compile` or `load_plan`. Immutable.

    Any number of threads may use one executable at once.

    Attributes:
        arguments: the arguments, by name and in order.
        results: the results, by name and in order. A result that replaces a donated argument has its name.
        arch: ``"cpu"``, or an architecture such as ``"sm_90"``.
        program: the program as given to `compile`; None for a plan.
    """

    def __init__(self, create: Callable[[ctypes.c_void_p], int], program: str | None) -> None:
        lib = _library.library()
        self._handle = _library.created(self, lib.heddle_executable_free, create)
        self.program = program
        self.arch: str = lib.heddle_executable_arch(self._handle).decode()
        self.arguments = self._infos(lib.heddle_argument_count, lib.heddle_argument)
        self.results = self._infos(lib.heddle_result_count, lib.heddle_result)

    def _infos(self, count: Any, get: Any) -> dict[str, BufferInfo]:
        infos = {}
        raw = _library.RawBufferInfo()
        for index in range(count(self._handle)):
            _library.check(get(self._handle, index, raw))
            name = raw.name.decode("utf-8", "replace")
            default = raw.default_value if raw.has_default else None
            infos[name] = BufferInfo(
                name, NAMES[raw.dtype], bool(raw.is_list), raw.rank, bool(raw.donated), default
            )
        return infos

    @property
    def target(self) -> str:
        """``"cuda"`` or ``"cpu"``."""
        return "cpu" if self.arch == "cpu" else "cuda"

    @property
    def log(self) -> str:
        """NVRTC's log of the kernels that `compile` compiled; empty if there is none."""
        text: bytes = _library.library().heddle_executable_log(self._handle)
        return text.decode("utf-8", "replace")

    @property
    def plan(self) -> dict[str, Any]:
        """The plan: buffers, tables, kernels and edges, as docs/plan.md describes them."""
        import json  # here, so that importing heddle takes less time

        plan: dict[str, Any] = json.loads(self.plan_text())
        return plan

    def plan_text(self) -> str:
        """The plan in JSON, which `load_plan` reads."""
        text = ctypes.c_void_p()
        _library.check(_library.library().heddle_executable_plan(self._handle, text))
        return _library.take_text(text)

    def initial_values(self) -> dict[str, float]:
        """The initial value of each list argument for which the program names one: the state of an optimizer.

        Raises:
            BadInput: this executable was made from a plan, which has no initial values.
        """
        from .inspection import emit

        text = emit(self._program("initial_values"), "foreach")
        return _read_initial_values(text)

    def emit(self, stage: str) -> str | bytes:
        """The program at a stage of its compilation, for this target; see `heddle.emit`."""
        from .inspection import emit

        return emit(self._program("emit"), stage, target=self.target, arch=self._named_arch())

    def explain(self, *, shapes: Any = None) -> str:
        """Kernels, launches, traffic and the floor, as text; see `heddle.explain`."""
        from .inspection import explain

        return explain(self._program("explain"), shapes=shapes, target="cuda", arch=self._named_arch())

    def graph(self, *, device: int | None = None) -> Graph:
        """Creates a graph: this executable, bound to arrays.

        Args:
            device: the ordinal of the GPU. None: the GPU whose CUDA context is current on this thread (in PyTorch,
                inside ``torch.cuda.device``), or 0.

        Raises:
            BadInput: `device` does not exist, or the target is cpu.
            Unavailable: there is no GPU, or this process is a child of one that had used the GPU.
        """
        return Graph(self, device=device)

    def _program(self, function: str) -> str:
        if self.program is None:
            raise BadInput(f"{function}: expected an executable from heddle.compile, found one from a plan")
        return self.program

    def _named_arch(self) -> str | None:
        return None if self.arch == "cpu" else self.arch

    def __repr__(self) -> str:
        return f"<heddle.Executable of {self._described()} for {self.arch}>"

    def _described(self) -> str:
        """The program in messages: its text if that is short, or the name of the module's function, as of a rule."""
        if self.program is None:
            return "a plan"
        if "\n" not in self.program:
            return repr(self.program)
        found = re.search(r"func\.func\s+(?:public\s+|private\s+)?@([\w$.-]+)", self.program)
        return repr(found[1]) if found else "a module"

    def __reduce__(self) -> NoReturn:
        raise TypeError("an Executable cannot be copied or pickled: compile the program again; its kernels are cached")
