"""Rules: Python functions of scalars, traced into foreach IR (`heddle.rule`).

``rule.py`` has the decorator and the class `Rule`; ``functions.py`` the functions that a rule may call, and
``values.py`` the values that it computes with. ``signature.py`` reads the parameters, ``tracing.py`` runs the function
once and records a graph of nodes (``nodes.py``, ``ops.py``). From such a trace, ``places.py`` decides which map
computes a node, and ``program.py`` and ``body.py`` print the program. ``optimizer.py`` makes the optimizer for PyTorch.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
