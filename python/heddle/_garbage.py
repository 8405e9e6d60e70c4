"""Python's collection of garbage, which runs functions of any object: ``__del__``, and callbacks of weak references.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import contextlib
import gc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Python collects no garbage inside of the ``with`` block, except where a function of the caller asks for it."""
    is_enabled = gc.isenabled()
    try:
        gc.disable()
        yield
    finally:
        if is_enabled:
            gc.enable()
