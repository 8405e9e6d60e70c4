"""The decorator `heddle.rule` and the class `Rule`.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import functools
import inspect
from typing import overload

from .. import inspection
from .._values import boolean, has_axes, short
from ..dtypes import dtype_name
from ..errors import BadInput
from ..executable import Executable, compile
from . import tracing
from .nodes import calls_checked
from .program import Family, print_program
from .signature import Option, read_number, read_signature, scalars_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Literal

    from ..optim import Optimizer
    from .nodes import Trace

_FLOATS = ("f64", "f32", "f16", "bf16")


class Rule:
    """An update rule, from `rule`: an optimizer for PyTorch, and a program for the core of heddle.

    Called with parameters, a rule makes an optimizer, as a class of ``torch.optim`` does: ``lion(model.parameters(),
    lr=3e-4)``; ``isinstance(optimizer, lion)`` holds, and ``class Mine(lion)`` makes a subclass. A function that expects a
    class takes ``lion.optimizer_class``, and so does a type checker (docs/rule.md). Without PyTorch, `compile` makes an
    executable.

    The keyword arguments of all methods are:

    * ``dtype``: the element type of parameters and gradients, ``"f32"``, ``"f64"``, ``"f16"`` or ``"bf16"``, or several
      as in ``"f32/bf16"``: each has its own lists (a family).
    * ``state``: the element type of the state; ``"param"`` is that of the parameters.
    * ``groups``: True gives every hyperparameter one value for each tensor, for parameter groups.
    * the options of the rule, and its hyperparameters, whose values become the defaults of the program.

    The program has the lists ``param``, ``grad``, those of the state by the names in the rule, and ``step`` if the rule
    calls `heddle.step`; then the hyperparameters.

    Attributes:
        function: the Python function.
        name: its name, which is that of the program.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self._signature = read_signature(function)
        self.name = self._signature.name
        self._traces: dict[object, Trace] = {}
        functools.update_wrapper(self, function)
        #: The arguments of a call, which are not those of the function.
        self.__signature__ = self._signature.of_optimizer()

    # --- programs -----------------------------------------------------------------------------------------------------

    def mlir(self, *, dtype: str = "f32", state: str = "param", groups: bool = False, **settings: Any) -> str:
        """The program as foreach IR, the text of a module, which `heddle.compile` takes.

        Raises:
            BadInput: a mistake in the rule, at the line that the message names; or in an argument.
        """
        groups = boolean(groups, "groups")
        families = _families(dtype, state)
        options, defaults = self._split(settings)
        return self._program(families, groups, options, defaults)

    def compile(
        self,
        *,
        target: str | None = None,
        arch: str | None = None,
        dtype: str = "f32",
        state: str = "param",
        groups: bool = False,
        **settings: Any,
    ) -> Executable:
        """Compiles the rule; `target` and `arch` are those of `heddle.compile`.

        Raises:
            BadInput, Unavailable, Failed: as for `mlir` and `heddle.compile`.
        """
        return compile(self.mlir(dtype=dtype, state=state, groups=groups, **settings), target=target, arch=arch)

    @overload
    def emit(
        self, stage: Literal["cubin"], *, target: str | None = None, arch: str | None = None, **settings: Any
    ) -> bytes: ...
    @overload
    def emit(
        self,
        stage: Literal["foreach", "fused", "cuda", "plan", "ptx"] = "cuda",
        *,
        target: str | None = None,
        arch: str | None = None,
        **settings: Any,
    ) -> str: ...
    def emit(
        self, stage: str = "cuda", *, target: str | None = None, arch: str | None = None, **settings: Any
    ) -> str | bytes:
        """The program at a stage of its compilation; `stage`, `target` and `arch` are those of `heddle.emit`."""
        return inspection.emit(self.mlir(**settings), stage, target=target, arch=arch)

    @overload
    def explain(
        self,
        *,
        shapes: Sequence[Sequence[int]] | None = None,
        json: Literal[False] = False,
        target: str | None = None,
        arch: str | None = None,
        **settings: Any,
    ) -> str: ...
    @overload
    def explain(
        self,
        *,
        shapes: Sequence[Sequence[int]] | None = None,
        json: Literal[True],
        target: str | None = None,
        arch: str | None = None,
        **settings: Any,
    ) -> dict[str, Any]: ...
    def explain(
        self,
        *,
        shapes: Sequence[Sequence[int]] | None = None,
        json: bool = False,
        target: str | None = None,
        arch: str | None = None,
        **settings: Any,
    ) -> str | dict[str, Any]:
        """Kernels, launches, traffic and the floor; the other arguments are those of `heddle.explain`."""
        program = self.mlir(**settings)
        if json:
            return inspection.explain(program, shapes=shapes, json=True, target=target, arch=arch)
        return inspection.explain(program, shapes=shapes, target=target, arch=arch)

    def _split(self, settings: Mapping[str, Any]) -> tuple[dict[str, Option], dict[str, float]]:
        """Keyword arguments as options, and as defaults of hyperparameters."""
        options, hypers = dict(self._signature.options), dict(self._signature.hypers)
        for name, value in settings.items():
            if name in options:
                options[name] = self._option(name, value)
            elif name in hypers:
                hypers[name] = self._hyper(name, value)
            else:
                known = ", ".join(("dtype", "state", "groups", *self._signature.keywords))
                raise BadInput(f"{self.name}: there is no argument '{name}'. The arguments are {known}")
        return options, scalars_of(hypers)

    def _option(self, name: str, value: object) -> Option:
        """The value of an option, a plain one of Python."""
        value = _plain(value)
        if not isinstance(value, (bool, str, int, float, type(None))) or value != value:
            raise BadInput(
                f"{self.name}: expected a bool, a string, a number or None for the option '{name}', found "
                + ("nan" if isinstance(value, float) else f"an object of type {type(value).__name__}")
            )
        return value

    def _hyper(self, name: str, value: object) -> float | tuple[float, ...]:
        """The value of a hyperparameter, of the form of its default."""
        default, found = self._signature.hypers[name], read_number(value)
        size = len(default) if isinstance(default, tuple) else 0
        if found is None or (len(found) if isinstance(found, tuple) else 0) != size:
            expected = f"a tuple of {size} finite numbers" if size else "a finite number"
            raise BadInput(f"{self.name}: expected {expected} for the hyperparameter '{name}', found {short(value)}")
        allowed = self._signature.ranges.get(name)
        if allowed and not all(map(allowed.has, found if isinstance(found, tuple) else (found,))):
            raise BadInput(f"{self.name}: expected {name} of {allowed}, found {short(value)}")
        return found

    def _program(
        self, families: Sequence[Family], groups: bool, options: Mapping[str, Option], defaults: Mapping[str, float]
    ) -> str:
        return print_program(self._trace(options), families, groups, defaults)

    def _trace(self, options: Mapping[str, Option]) -> Trace:
        key = tuple((name, type(value), value) for name, value in options.items())
        trace = self._traces.get(key)
        if trace is None:
            trace = self._traces[key] = tracing.record(self.function, self._signature, options)
        return trace

    # --- optimizers ---------------------------------------------------------------------------------------------------

    def __call__(self, /, *args: Any, **settings: Any) -> Optimizer:
        """rule(params, **settings): makes an optimizer of this rule.

        Args:
            params: parameters, named parameters or groups, as for every class of ``torch.optim``.
            settings: hyperparameters and options by name; groups may have values of their own. `lr` may be given by
                position if it is the first hyperparameter, as in PyTorch.

        Returns:
            A ``torch.optim.Optimizer``, an instance of `optimizer_class`.

        Raises:
            BadInput: a mistake in an argument.
            Unavailable: PyTorch is not installed.
        """
        return self.optimizer_class(*args, **settings)

    @functools.cached_property
    def optimizer_class(self) -> type[Optimizer]:
        """The class of the rule's optimizers, a subclass of ``torch.optim.Optimizer``.

        Raises:
            Unavailable: PyTorch is not installed.
        """
        from .optimizer import make_class

        made: type[Optimizer] = make_class(self)
        return made

    # A rule is no class, because it is a program without PyTorch, too. These make it one where Python asks.

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[Any, ...]:
        """`optimizer_class` is the base of a class that names the rule as one."""
        return (self.optimizer_class,)

    def __instancecheck__(self, instance: object) -> bool:
        return self.__subclasscheck__(type(instance))

    def __subclasscheck__(self, subclass: type) -> bool:
        made = self.__dict__.get("optimizer_class")
        return made is not None and issubclass(subclass, made)

    def __repr__(self) -> str:
        return f"<heddle.Rule {self.name}>"

    def __reduce__(self) -> str:
        """Pickled by its name, as a function is."""
        return self.function.__qualname__


def _plain(value: Any) -> Any:
    """A scalar of NumPy as one of Python; other objects as they are."""
    is_scalar = type(value).__module__ == "numpy" and not has_axes(value) and hasattr(value, "item")
    return value.item() if is_scalar else value


def _families(dtype: str, state: str) -> list[Family]:
    names = [dtype_name(name) for name in dtype.split("/")] if isinstance(dtype, str) else [dtype_name(dtype)]
    if len(set(names)) != len(names) or not set(names) <= set(_FLOATS):
        raise BadInput(f"dtype: expected one or several of {', '.join(_FLOATS)}, joined by '/', found {short(dtype)}")
    if not isinstance(state, str) or state != "param":
        try:
            state = dtype_name(state)
        except BadInput:  # names other types, too
            pass
        if not isinstance(state, str) or state not in _FLOATS:
            raise BadInput(f"state: expected param, {', '.join(_FLOATS)}, found {short(state)}")
    return [Family(name, name, name if state == "param" else state) for name in names]


def rule(function: Callable[..., Any]) -> Rule:
    """Makes an update rule of a Python function of scalars.

        @heddle.rule
        def lion(p, g, m, *, lr=1e-4, b1=0.9, b2=0.99, wd=0.0):
            u = heddle.sign(b1 * m + (1 - b1) * g)
            return p * (1 - lr * wd) - lr * u, b2 * m + (1 - b2) * g

    The function computes one element. Its positional parameters are the parameter, the gradient, and the state, which
    is 0 before the first step, or the default if there is one. Keyword-only parameters with a number as default, or a
    tuple of numbers, are hyperparameters: setting them compiles nothing. Those with a bool, a string or None are
    options: the function runs once for each set of them, so it may test them with ``if``. The function returns the new
    parameter and the new state, in order.

    Arithmetic of hyperparameters, of `step` and of reductions is in double, and is done once, not for every element.
    docs/rule.md describes the functions and types.

    Raises:
        BadInput: the function has parameters of other kinds. Mistakes in its body are found when it is first used.
    """
    return Rule(function)


_WITHOUT_PARENTHESES = ". The decorator stands without parentheses: '@heddle.rule'"
globals()["rule"] = calls_checked("rule", rule, _WITHOUT_PARENTHESES)
