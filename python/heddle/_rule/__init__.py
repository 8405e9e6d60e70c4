"""Rules: optimizers written as Python functions of one element, and the functions that they may call.

    @heddle.rule
    def sign_descent(p, g, *, lr=1e-3):
        return p - lr * heddle.sign(g)

All names are those of `heddle` itself: `heddle.rule`, `heddle.sign`. docs/rule.md is the guide.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

# rule.py has the decorator and the class `Rule`; functions.py, integers.py and reductions.py the functions that a rule
# may call, and values.py the values that it computes with. signature.py reads the parameters, tracing.py runs the function
# once and records a graph of nodes (nodes.py, ops.py). From such a trace, places.py decides which map computes a node, and
# program.py and body.py print the program. optimizer.py makes the optimizer for PyTorch.
