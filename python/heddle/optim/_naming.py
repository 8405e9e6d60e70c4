"""Which optimizer of a chain a message is about: every message about one of several starts with its place and class.

Groups are numbered within their optimizer, as the caller has given them to it.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import contextlib

from ..errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

#: The classes of the errors of a step. Those of a subclass are the caller's.
_NAMED = (BadInput, NotImplementedError, RuntimeError, TypeError)


def place_name(optimizer: Any, place: int) -> str:
    """``optimizers[1] (AdamW)``: one of the optimizers of a chain."""
    return f"optimizers[{place}] ({type(optimizer._owners[place]).__name__})"


def prefix(optimizer: Any, place: int) -> str:
    """What messages about one of the optimizers of a chain start with. Those of an optimizer alone have no prefix."""
    return f"{place_name(optimizer, place)}: " if optimizer._joins else ""


def named_owners(optimizer: Any) -> list[tuple[Any, str]]:
    """The optimizers of a chain, or one of heddle or PyTorch itself, each with its `prefix`."""
    owners = getattr(optimizer, "_owners", (optimizer,))
    return [(each, prefix(optimizer, place) if each is not optimizer else "") for place, each in enumerate(owners)]


@contextlib.contextmanager
def naming(start: str) -> Iterator[None]:
    """Gives the errors of a block, which is about one of the optimizers of a chain, its `prefix`."""
    try:
        yield
    except _NAMED as error:
        if type(error) not in _NAMED or str(error).startswith(start):  # that of a parameter has it
            raise
        raise type(error)(f"{start}{error}") from error.__cause__
