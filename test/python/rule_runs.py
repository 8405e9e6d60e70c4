"""Runs executables of rules on the cpu target, for test_rule_*.py."""

import numpy

from heddle import dtypes

SHAPES = ((7, 5), (1,), (300,), (0,), (4, 3, 2), (1025,))


def arrays(seed, dtype="f32", shapes=SHAPES, scale=1.0):
    generator = numpy.random.default_rng(seed)
    return [(scale * generator.standard_normal(shape)).astype(dtypes.numpy_dtype(dtype)) for shape in shapes]


def bind(executable, params, values=None):
    """A graph bound to copies of `params`, initial state and `values`; returns the graph and its lists by name."""
    initial = executable.initial_values()
    graph, lists = executable.graph(), {}
    for info in executable.arguments.values():
        if not info.is_list:
            continue
        dtype = dtypes.numpy_dtype(info.dtype)
        if values and info.name in values:
            lists[info.name] = values[info.name]
        elif info.name.startswith("param"):
            lists[info.name] = [param.copy() for param in params[info.name]]
        elif info.rank == 0:
            lists[info.name] = [numpy.full((), initial[info.name], dtype) for _ in first(params, info.name)]
        elif info.name in initial:
            lists[info.name] = [numpy.full(param.shape, initial[info.name], dtype)
                                for param in first(params, info.name)]
        else:
            lists[info.name] = [numpy.zeros(param.shape, dtype) for param in first(params, info.name)]
        graph.bind_list(info.name, lists[info.name])
    return graph, lists


def first(params, name):
    """The parameters of the family of a list."""
    return next((params[key] for key in params if name.endswith(key.removeprefix("param"))), None) or params["param"]


def run(executable, params, gradients, scalars=None, values=None):
    """Steps with each entry of `gradients`, a dictionary of lists; returns the lists by name.

    `params` is a dictionary of lists: ``param``, or one for each family, such as ``param_bf16``.
    """
    graph, lists = bind(executable, params, values)
    for name, value in (scalars or {}).items():
        graph.set_scalar(name, value)
    for step in gradients:
        for name, members in step.items():
            graph.bind_list(name, members)
        graph.replay()
    graph.synchronize()
    graph.close()
    return lists
