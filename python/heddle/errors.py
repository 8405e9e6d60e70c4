"""The exceptions of heddle. Their text is the message of the library, which names the argument and a remedy.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations


class Error(Exception):
    """The base class of all errors of heddle."""


class Failed(Error):
    """An operation failed: a compilation, an allocation, a call of the CUDA driver."""


class BadInput(Error, ValueError):
    """A mistake in an argument. Nothing has been written."""


class Unavailable(Error):
    """This machine lacks a part: a GPU, a driver, NVRTC, the compiler, or the library of heddle itself."""


class MissingPackage(Unavailable, ImportError):
    """A Python package is missing that a module of heddle imports. An `import` statement raises an ImportError."""


class MissingAttribute(Unavailable, AttributeError):
    """The same for ``heddle.optim`` in an expression: `hasattr`, `help` and `inspect` expect an AttributeError."""


#: The exception of each status of the C interface (heddle_status in heddle.h).
STATUSES: dict[int, type[Error]] = {1: Failed, 2: BadInput, 3: Unavailable}
