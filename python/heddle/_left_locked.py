"""The locks of objects that another thread was using when the process was forked.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from .errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


class LeftLocked:
    """The lock, in a forked child, of an object that another thread of the parent was using."""

    def __init__(self, message: str) -> None:
        self._message = message

    def __enter__(self) -> NoReturn:
        raise BadInput(self._message)

    def __exit__(self, *_: object) -> None: ...

    def locked(self) -> bool:
        return True
