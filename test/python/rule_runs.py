"""Runs executables of rules, for test_rule_*.py."""

import numpy

import heddle
from heddle import dtypes

SHAPES = ((7, 5), (1,), (300,), (0,), (4, 3, 2), (1025,))


def arrays(seed, dtype="f32", shapes=SHAPES, scale=1.0):
    generator = numpy.random.default_rng(seed)
    return [(scale * generator.standard_normal(shape)).astype(dtypes.numpy_dtype(dtype)) for shape in shapes]


def initial_lists(executable, params, values=None):
    """Copies of `params`, initial state and `values`: all lists of a program by name."""
    initial, lists = executable.initial_values(), {}
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
    return lists


def bind(executable, params, values=None):
    """A graph bound to these lists; returns both."""
    graph, lists = executable.graph(), initial_lists(executable, params, values)
    for name, members in lists.items():
        graph.bind_list(name, members)
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
            lists[name] = members
        graph.replay()
    graph.synchronize()
    graph.close()
    return lists


def run_on_gpu(executable, params, gradients):
    """The same as `run`, on the GPU: arrays are copied to memory of the device and back."""
    graph, lists = executable.graph(), initial_lists(executable, params)
    memory = {}
    for name, members in lists.items():
        memory[name] = [heddle.Memory(executable, max(member.nbytes, 1)) for member in members]
        for member, place in zip(members, memory[name]):
            place.write(member)
        binding = graph.list_binding(name, [member.shape for member in members])
        binding.bind([place.address if member.size else 0 for member, place in zip(members, memory[name])])
    for step in gradients:
        for name, members in step.items():
            for member, place in zip(members, memory[name]):
                place.write(member)
        graph.replay()
        graph.synchronize()
    for name, members in lists.items():
        for member, place in zip(members, memory[name]):
            place.read(member)
    graph.close()
    return lists
