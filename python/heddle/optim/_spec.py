"""The description of an optimizer, from which its class is made: `Spec`.

A standard program of the library has one line in `_table.py`. A traced rule (`heddle.rule`) makes a `Spec` of its own.
Either way the class comes from

    optim.optimizer_class(spec)         # a subclass of torch.optim.Optimizer, with the signature of spec.defaults

What a `Spec` has to provide:

``program(families, groups, options)``
    returns a program for `heddle.compile`: the text of a module, or a standard program with options. It is called once
    for each set of arguments, and only when a step needs it.

    `families` has a `Family` of element types for each type of the parameters, in the order of their first use. The
    program has these lists for each family; their names end in ``_`` and the type of the parameters (``_f32``) if there
    are several families, and have no such suffix if there is one (`suffixes`):

    ========================  =======================================================================================
    ``param``                 the parameters, donated: lists of ``tensor<?xTYPE>``, family.param
    ``grad``                  the gradients, not donated: family.grad
    ``master_param``          only if the entry `master` is "f32", of families of 16 bits: the parameters, donated:
                              lists of ``tensor<?xf32>``; ``param`` is then only written
    ``param_low``             only if `master` is "split", of families of bf16: the lower halves of the parameters,
                              donated: lists of ``tensor<?xi16>``
    ``first_block``           only if elements of the family are rounded at random: ``tensor<i64>``, one value per
                              member, not donated; then there is also a scalar ``seed`` of ``tensor<i64>``
    a list for each state     donated, named by the key in the state of torch's optimizer (``exp_avg``): either
                              ``tensor<?xTYPE>`` of family.state, as large as the parameter, or one value per member
                              (``tensor<f32>``), such as the step counter ``step``. ``foreach.initial`` gives the
                              initial value, 0 if there is none
    a list for each           only if `groups`: ``tensor<f64>``, one value per member, not donated
    hyperparameter
    ========================  =======================================================================================

    Without `groups`, hyperparameters are scalars ``tensor<f64>``, shared by all families, without suffix. Hyperparameters
    that are not arguments of the program are not passed to it, so a program may leave some out.

    Results are those that replace donated arguments, in any order. The program may not write anything else.

    `options` has the value of each entry that `options` of the `Spec` names, for each that `optional` names, whether it
    is not zero in some group, and True for each that `low` names and that is at most 0.5 in some group.

``defaults``
    the entries of a group in ``param_groups`` with their defaults, in the order of the class's signature.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import dataclasses
import functools
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any


#: The texts that a description keeps, and the descriptions with a tail, for later optimizers.
KEPT = 64


class Family(NamedTuple):
    """The element types, by heddle's names, of the lists of one family."""

    #: The parameters.
    param: str
    #: The gradients.
    grad: str
    #: The state that is as large as the parameters.
    state: str


def suffixes(families: Sequence[Family]) -> list[str]:
    """What the names of the lists of each family end in."""
    return [""] if len(families) == 1 else [f"_{family.param}" for family in families]


@dataclasses.dataclass(frozen=True, eq=False)
class Spec:
    """An optimizer; see the module for the contract of `program`."""

    #: The name of the class.
    name: str
    #: The entries of a parameter group and their defaults, in the order of the signature.
    defaults: Mapping[str, Any]
    #: Families, groups and options to a program.
    program: Callable[[Sequence[Family], bool, Mapping[str, Any]], str]
    #: The entries from this one on can be given by keyword only; None: all can be given by position.
    keyword_only: str | None = None
    #: Entries that choose a program, such as ``amsgrad``. Groups whose options differ are stepped in separate launches.
    options: Sequence[str] = ()
    #: Hyperparameters that the program leaves out if they are zero in every group, such as ``weight_decay``. The first
    #: value other than zero compiles another program. None counts as zero if it is the default.
    optional: Sequence[str] = ()
    #: Hyperparameters whose program computes otherwise if some group has at most 0.5, as torch's ``lerp`` does:
    #: ``beta1``. That program holds for all values.
    low: Sequence[str] = ()
    #: Hyperparameters for which zero is an option as well, because the state depends on it, such as ``momentum``.
    switches: Sequence[str] = ()
    #: Whether a switch is off, too, if its value is negative, as after a change of the group.
    switches_need_positive: bool = False
    #: {"dampening": "momentum"}: the first is left out of the program of a group whose second, a switch, is zero.
    needs: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: Entries of every parameter group that are not in the signature.
    fixed: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    #: Hyperparameters of the program that are parts of an entry: {"beta1": ("betas", 0)}. The others have the name of
    #: their entry.
    parts: Mapping[str, tuple[str, int]] = dataclasses.field(default_factory=dict)
    #: The entries of the state of a parameter that are as large as it, and those of one value beside ``step``, with all
    #: options. Loaded state is checked by them; other entries are the caller's.
    large: Sequence[str] = ()
    single: Sequence[str] = ()
    #: {"step_size": "lr"}: the value of the entry, in the group of a parameter, is the initial value of the state.
    initial: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: Entries of `initial` that hold for all groups as the constructor was given them: those of groups are kept only.
    of_constructor: Sequence[str] = ()
    #: Entries that do nothing else: they are no arguments of the program.
    only_initial: Sequence[str] = ()
    #: Entries that torch's optimizer and the function of `optim.functional` do not have. A parameter group has
    #: them only if some group was given them, so that groups move between heddle and PyTorch.
    added: Sequence[str] = ()
    #: {"step": "momentum_buffer"}: state that torch's optimizer does not have. The first counts the steps that have set the
    #: second, an entry of the state, and is 0 before the first one; see `_begun`.
    hidden: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: Hidden state that is kept with the other state nevertheless.
    shown: Sequence[str] = ()
    #: {"dampening": "nesterov"}: once a step can be skipped, programs have the first, unless the option, the second, is on:
    #: only then they count the steps of a hidden state.
    counted: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: Entries that only torch's optimizer reads. They are kept, for state that moves between the two.
    ignored: Sequence[str] = ("foreach", "capturable", "differentiable", "fused")
    #: Entries that must not be negative, or (for those in `parts`) must be in [0, 1). As in PyTorch, they are checked
    #: when a group is made, and a step takes any number, unless `checked_in_steps` has them: those that PyTorch lacks.
    checked: Sequence[str] = ()
    checked_in_steps: Sequence[str] = ()
    #: ("z", "beta1"): the parameters of evaluation are an average, of which a parameter in training has the share that the
    #: hyperparameter gives; the rest is the state. The class has `train` and `eval`. None: they are the parameters.
    average: tuple[str, str] | None = None
    #: Whether the program takes the options of `_storage`: `state_dtype`, `rounding` and `master`.
    stores: bool = False
    #: A check of the arguments of the constructor, beside those of a group: the text of an error, or None.
    check_arguments: Callable[[Mapping[str, Any]], str | None] | None = None
    #: A further check of the entries of a group when it is made: the text of an error, or None.
    check: Callable[[Mapping[str, Any]], str | None] | None = None
    #: The same also of entries that have changed before a step. It does not read tensors on a device.
    check_step: Callable[[Mapping[str, Any]], str | None] | None = None
    #: A check of all groups together: the text of an error, or None.
    check_groups: Callable[[Sequence[Mapping[str, Any]]], str | None] | None = None
    #: A check of a hyperparameter by its name in the program, also of one that has changed before a step: the text of an
    #: error, or None.
    check_value: Callable[[str, float], str | None] | None = None
    #: The lists of state in the order in which the function of `optim.functional` takes them; None: there is none.
    functional: Sequence[str] | None = None
    #: The arguments that the function takes by position after the lists, in the order of torch's.
    positional: Sequence[str] = ()
    #: Whether the function takes the number of each step as a number, which it only reads, as torch's does.
    takes_counts: bool = False
    #: Gradients are sums of this many; each step divides them by it.
    accumulation: float = 1.0
    #: The largest magnitude of an element of the gradients; None: any.
    clip_value: float | None = None
    #: As `program`, without the average of the parameters that `program` keeps, the list ``ema``; None: it keeps none.
    averages: Callable[[Sequence[Family], bool, Mapping[str, Any]], str] | None = None
    #: Whether the program sets gradients to zero.
    zeroes: bool = False
    #: {"max_exp_avg_sq": "amsgrad"}: there is no state of the first if the second is false or 0, and the function takes an
    #: empty list of it.
    unneeded: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: The meaning of entries that other optimizers do not have, or that have another meaning there.
    meanings: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: The docstring of the class.
    doc: str = ""
    #: The texts of programs by `_programs.Form`, the latest ones. They live no longer than this object: a rule of the
    #: caller may hold much memory. Texts of chains live as long as all their optimizers, or a little longer.
    _texts: dict[Any, str] = dataclasses.field(default_factory=dict, init=False, repr=False)

    @functools.cached_property
    def _extended(self) -> Callable[[Any], Spec]:
        """The optimizer with a `_tail.Tail`. The latest ones are kept, no longer than this object."""
        return functools.lru_cache(KEPT)(lambda tail: tail.extension(self))
