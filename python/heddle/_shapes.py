"""Shapes for the lists of a program: shapes files, and the extents that the tables of a plan imply.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import json
import math
import os

from ._values import counted, listed, short
from .errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Shape = tuple[int, ...]

#: The shapes of a run without a shapes file: sizes at and off the boundaries of tiles.
BUILT_IN: list[Shape] = [
    (64, 3, 7, 7),
    (64,),
    (1,),
    (10007,),
    (33, 65),
    (1000, 1),
    (5, 3),
    (4096,),
    (255,),
    (128, 129),
]


_MOST_ELEMENTS = 1 << 48


def _models(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, whose keys must differ."""
    models = dict(pairs)
    for name in models:
        if sum(other == name for other, _ in pairs) > 1:
            raise ValueError(f"expected each key of an object once, found '{name}' twice")
    return models


def read_shapes(argument: str) -> tuple[str, list[Shape]]:
    """The name and the shapes of a model in a shapes file, ``{"MODEL": [[dim, ...], ...]}``.

    Args:
        argument: ``FILE`` or ``FILE:MODEL``. The name is optional if the file has one model.

    Raises:
        BadInput: the file cannot be read, is no shapes file, or has no such model.
    """
    path, model = argument, None
    if not os.path.exists(argument) and ":" in argument:
        path, model = argument.rsplit(":", 1)
    try:
        with open(path, encoding="utf-8") as file:
            models = json.load(file, object_pairs_hook=_models)
    except OSError as error:
        raise BadInput(f"shapes file '{path}': {error.strerror}") from None
    except ValueError as error:
        raise BadInput(f"shapes file '{path}' is not valid JSON: {error}") from None
    if not isinstance(models, dict):
        raise BadInput(f"shapes file '{path}': expected an object {{\"MODEL\": [[dim, ...], ...], ...}}")
    names = listed(sorted(models))
    if model is None:
        if len(models) != 1:
            raise BadInput(
                f"shapes file '{path}' has {counted(len(models), 'model')}; "
                f"choose one with '{path}:MODEL'\nModels: {names}."
            )
        model = next(iter(models))
    if model not in models:
        raise BadInput(f"shapes file '{path}' has no model '{model}'\nModels: {names}.")
    shapes, where = models[model], f"shapes file '{path}', model '{model}'"
    if not isinstance(shapes, list):
        raise BadInput(f"{where}: expected an array of shapes, [[dim, ...], ...], found {short(shapes)}")
    for member, shape in enumerate(shapes):
        if not isinstance(shape, list) or not all(type(extent) is int and extent >= 0 for extent in shape):
            raise BadInput(
                f"{where}[{member}]: expected a shape, [dim, ...], with dimensions that are integers of at least 0, "
                f"found {short(shape)}"
            )
        if math.prod(max(extent, 1) for extent in shape) > _MOST_ELEMENTS:
            raise BadInput(f"{where}[{member}]: expected a shape of at most 2^48 elements, found {short(shape)}")
    return model, [tuple(shape) for shape in shapes]


class _Classes:
    """Classes of dimensions (buffer, dimension) that have the same extent."""

    def __init__(self) -> None:
        self.parents: dict[tuple[int, int], tuple[int, int]] = {}

    def find(self, one: tuple[int, int]) -> tuple[int, int]:
        while (parent := self.parents.get(one, one)) != one:
            one = parent
        return one

    def join(self, one: Any, other: tuple[int, int]) -> None:
        if one is not None and one[0] >= 0:
            self.parents[self.find((one[0], one[1]))] = self.find(other)


def _equal_dimensions(plan: dict[str, Any]) -> _Classes:
    """The dimensions that are equal. A list indexed by `i`, say, has as many elements as a matrix has rows."""
    classes, buffers = _Classes(), plan["buffers"]
    for number, buffer in enumerate(buffers):
        for dimension, extent in enumerate(buffer.get("extents", [])):
            classes.join(extent, (number, dimension))
    for table in plan["tables"]:
        for segment in table["segments"]:
            count, columns = segment.get("count"), segment.get("columns")
            # In a table of rank 1, `count` is the product of all extents.
            flattened = table["rank"] == 1 and count is not None and buffers[count[0]]["rank"] == 2
            for operand in segment["operands"]:
                number, index = operand["buffer"], operand["index"]
                rank = buffers[number]["rank"]
                if index == "ij" and rank == 2:
                    classes.join(count, (number, 0))
                    classes.join(columns, (number, 1))
                elif index == "j" and rank == 1:
                    classes.join(columns, (number, 0))
                elif index == "i" and rank == 1 and not flattened:
                    classes.join(count, (number, 0))
    _join_copies(plan["nodes"], buffers, classes)
    return classes


def _join_copies(nodes: list[dict[str, Any]], buffers: list[dict[str, Any]], classes: _Classes) -> None:
    for node in nodes:
        if node["kind"] == "copy":
            for dimension in range(buffers[node["to"]]["rank"]):
                classes.join((node["from"], dimension), (node["to"], dimension))
        if "body" in node:
            _join_copies(node["body"]["nodes"], buffers, classes)


def argument_shapes(plan: dict[str, Any], shapes: list[Shape]) -> dict[str, list[Shape]]:
    """The shape of each member of each list argument, if the members of the largest lists have these shapes.

    A shape becomes one member of every list: flattened for lists of rank 1, with its leading dimensions collapsed into
    rows for lists of rank 2, and as one value for lists of rank 0.
    """
    classes = _equal_dimensions(plan)
    lists = [
        (number, buffer)
        for number, buffer in enumerate(plan["buffers"])
        if buffer["kind"] == "list" and buffer["role"] == "argument"
    ]
    result: dict[str, list[Shape]] = {buffer["name"]: [] for _, buffer in lists}
    for shape in shapes:
        columns = shape[-1] if shape else 1
        known: dict[tuple[int, int], int] = {}
        # The first list with an extent of a class sets the class; matrices come first.
        for number, buffer in sorted(lists, key=lambda item: -item[1]["rank"]):
            wanted = {0: (), 1: (math.prod(shape),), 2: (math.prod(shape[:-1]), columns)}[buffer["rank"]]
            result[buffer["name"]].append(
                tuple(known.setdefault(classes.find((number, k)), extent) for k, extent in enumerate(wanted))
            )
    return result
