"""The exceptions with which objects of the caller refuse to be read.

A signal handler may raise any other exception, such as one of its own or TimeoutError, at every bytecode, also while
heddle reads an object. So nothing of heddle catches `Exception`: what is not listed here reaches the caller.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

#: The extension has the same list (python/native/refusals.h).
REFUSALS: tuple[type[Exception], ...] = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    BufferError,
    ImportError,
    LookupError,
    NameError,
    RuntimeError,
    TypeError,
    ValueError,
    Warning,  # that is turned into an error
)
