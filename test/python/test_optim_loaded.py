"""Loaded state that makes no sense is refused before anything is written."""

import collections
import copy
import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))
import optim_support as support  # noqa: E402

torch = support.torch_or_skip()

import heddle  # noqa: E402
import heddle.optim  # noqa: E402
from heddle.optim._table import SPECS  # noqa: E402

DEVICES = pytest.mark.parametrize("device", support.devices())


def stepped(make, params, **options):
    optimizer = make(params, **options)
    support.set_gradients([param for group in optimizer.param_groups for param in group["params"]])
    optimizer.step()
    return optimizer


def check_refused(optimizer, loaded, message):
    """A load fails, and changes neither the groups nor the state."""
    before = copy.deepcopy(optimizer.state_dict())
    tensors = [value for state in optimizer.state.values() for value in state.values()]
    with pytest.raises(heddle.BadInput, match=message):
        optimizer.load_state_dict(loaded)
    after = optimizer.state_dict()
    assert after["param_groups"] == before["param_groups"] and after["state"].keys() == before["state"].keys()
    assert all(a is b for a, b in zip(tensors, (each for state in optimizer.state.values() for each in state.values())))
    for place, state in before["state"].items():
        assert all(torch.equal(value, after["state"][place][key]) for key, value in state.items())


def with_entry(optimizer, place, key, value):
    loaded = copy.deepcopy(optimizer.state_dict())
    loaded["state"][place][key] = value
    return loaded


@DEVICES
@pytest.mark.parametrize("dtype, wrong", [
    *((torch.float32, wrong) for wrong in (torch.int32, torch.int64, torch.uint8, torch.bool, torch.complex64)),
    (torch.bfloat16, torch.int16), (torch.float64, torch.complex128), (torch.complex64, torch.float32),
    (torch.complex64, torch.int64),
], ids=str)
def test_state_of_another_kind_of_numbers(dtype, wrong, device):
    params = support.parameters(device, dtype, [(3, 4), (), (2,)])
    optimizer = stepped(heddle.optim.AdamW, [{"params": params[:1]}, {"params": params[1:]}])
    for place, name in ((0, "0 of group 0"), (1, "0 of group 1"), (2, "1 of group 1")):
        value = torch.ones(params[place].shape, device=device).to(wrong)
        check_refused(
            optimizer, with_entry(optimizer, place, "exp_avg", value),
            f"^state 'exp_avg' of parameter {name}: expected dtype {dtype}, or another width of it, found {wrong}; convert",
        )


def test_a_name_of_a_parameter():
    optimizer = stepped(heddle.optim.AdamW, [("first", torch.nn.Parameter(torch.ones(2))),
                                             ("second", torch.nn.Parameter(torch.ones(3)))])
    check_refused(optimizer, with_entry(optimizer, 1, "exp_avg_sq", torch.ones(3, dtype=torch.int32)),
                  "^state 'exp_avg_sq' of parameter 'second': expected dtype torch.float32")
    check_refused(optimizer, with_entry(optimizer, 0, "step", torch.tensor(-1.0)), "^state 'step' of parameter 'first': ")


@DEVICES
@pytest.mark.parametrize("key, dtype", [("exp_avg", each) for each in (
    torch.float16, torch.bfloat16, torch.float64, torch.float8_e4m3fn)] + [("mask", torch.bool), ("mask", torch.complex64)],
    ids=str)
def test_what_pytorch_converts_is_accepted(key, dtype, device):
    """Other floating types, and entries of the caller of any type."""
    params = support.parameters(device, torch.float32, [(3, 4), ()])
    ours = stepped(heddle.optim.AdamW, params)
    theirs = torch.optim.AdamW(support.copies(params))
    loaded = with_entry(ours, 0, key, torch.ones(3, 4).to(dtype))
    for optimizer in (ours, theirs):
        optimizer.load_state_dict(copy.deepcopy(loaded))
    found, expected = (each.state_dict()["state"][0][key] for each in (ours, theirs))
    assert found.dtype == expected.dtype and torch.equal(found, expected)
    ours.step()


@DEVICES
@pytest.mark.parametrize("name", ["AdamW", "NAdam"])
@pytest.mark.parametrize("value, found", [
    (-1, "-1"), (2.5, "2.5"), (float("nan"), "nan"), (float("inf"), "inf"), (-float("inf"), "-inf"),
])
@pytest.mark.parametrize("form", ["number", "float", "double", "bfloat16", "integer", "vector"])
def test_a_counter_that_counts_no_steps(name, value, found, form, device):
    forms = {"float": torch.float32, "double": torch.float64, "bfloat16": torch.bfloat16, "integer": torch.int64}
    if form == "integer" and value != -1:
        pytest.skip("no integer")
    if form != "number":
        value = torch.tensor([value] if form == "vector" else value, device=device).to(forms.get(form, torch.float32))
    optimizer = stepped(support.heddle_class(name), support.parameters(device, torch.float32, [(3, 4), (2,)]))
    check_refused(optimizer, with_entry(optimizer, 1, "step", value),
                  f"^state 'step' of parameter 1 of group 0: expected a whole number of at least 0, the steps so far, found {found}$")


@pytest.mark.parametrize("value", [0, 3, 3.0, torch.tensor(3), torch.tensor(3.0), torch.tensor([3.0]), torch.tensor(3.0).double()])
def test_counters_that_are_accepted(value):
    optimizer = stepped(heddle.optim.AdamW, support.parameters(shapes=[(3, 4)]))
    expected = float(value) + 1
    optimizer.load_state_dict(with_entry(optimizer, 0, "step", value))
    optimizer.step()
    assert float(optimizer.state_dict()["state"][0]["step"]) == expected


@pytest.mark.parametrize("key", ["step", "mu_product"])
@pytest.mark.parametrize("value", [True, torch.tensor(True), torch.tensor(1j), "3", 1j], ids=str)
def test_single_values_that_are_no_numbers(key, value):
    optimizer = stepped(heddle.optim.NAdam, support.parameters(shapes=[(3, 4)]))
    check_refused(optimizer, with_entry(optimizer, 0, key, value),
                  f"^state '{key}' of parameter 0 of group 0: expected a (real )?number, found ")


@heddle.rule
def ruled(p, g, m, size=heddle.per_tensor(0.1), *, lr=0.1):
    return p - lr * size * g / heddle.step(), g, size


def test_rules_and_chains():
    optimizer = stepped(ruled, support.parameters(shapes=[(3, 4)]))
    check_refused(optimizer, with_entry(optimizer, 0, "m", torch.ones(3, 4, dtype=torch.int8)), "^state 'm' of .*found torch.int8")
    check_refused(optimizer, with_entry(optimizer, 0, "size", torch.tensor(True)), "^state 'size' of .*found dtype torch.bool")
    check_refused(optimizer, with_entry(optimizer, 0, "step", 0.5), "^state 'step' of .*found 0.5")
    chained = heddle.optim.chain(ema=0.9, optimizer=heddle.optim.AdamW(support.parameters(shapes=[(3, 4)])))
    stepped(lambda _: chained, None)
    check_refused(chained, with_entry(chained, 0, "ema", torch.ones(3, 4).to(torch.int8)), "^state 'ema' of .*found torch.int8")


@pytest.mark.parametrize("loaded, message", [
    (None, r"^state_dict: expected a dictionary with 'state' and 'param_groups', as state_dict\(\) returns it, found None$"),
    ([], r"^state_dict: expected a dictionary .*, found \[\]$"),
    ({}, "^state_dict: expected the entries 'state' and 'param_groups', found none$"),
    ({"state": {}}, "^state_dict: expected the entries 'state' and 'param_groups', found 'state'$"),
    ({"param_groups": []}, "^state_dict: expected the entries 'state' and 'param_groups', found 'param_groups'$"),
    ({"epoch": 1, "optimizer": {"state": {}, "param_groups": []}}, "found 'epoch', 'optimizer'; load its entry 'optimizer'$"),
    ({"state": 1, "param_groups": []}, r"^state_dict\['state'\]: expected a dictionary, found 1$"),
    ({"state": {}, "param_groups": 1}, r"^state_dict\['param_groups'\]: expected a list of dictionaries, found 1$"),
    ({"state": {}, "param_groups": [1]}, r"^state_dict\['param_groups'\]\[0\]: expected a dictionary, found 1$"),
    ({"state": {}, "param_groups": [{"lr": 1}]},
     r"^state_dict\['param_groups'\]\[0\]: expected an entry 'params' with a list, found none beside 'lr'$"),
    ({"state": {}, "param_groups": [{"params": 3}]}, r"\[0\]: expected an entry 'params' with a list, found 3$"),
    ({"state": {}, "param_groups": [{"params": [0, [1]]}]},
     r"^state_dict\['param_groups'\]\[0\]\['params'\]\[1\]: expected a key of the state, such as a number, found \[1\]$"),
    ({"state": {}, "param_groups": [{"params": []}, {"params": [{}]}]},
     r"^state_dict\['param_groups'\]\[1\]\['params'\]\[0\]: expected a key of the state, such as a number, found {}$"),
    ({"state": {}, "param_groups": [{"params": [0], "param_names": 3}]},
     r"^state_dict\['param_groups'\]\[0\]\['param_names'\]: expected a list of names, found 3$"),
    ({"state": {}, "param_groups": [{"params": [0], "param_names": None}]}, r"\['param_names'\]: expected a list of names, found None$"),
    ({"state": {}, "param_groups": [{"params": [0], "param_names": "weight"}]}, r"\['param_names'\]: expected a list of names, found 'weight'$"),
], ids=str)
@pytest.mark.parametrize("by_hook", [False, True])
def test_what_is_no_state_dictionary(loaded, message, by_hook):
    optimizer = stepped(heddle.optim.AdamW, support.parameters(shapes=[(3, 4)]))
    if by_hook and loaded is not None:
        optimizer.register_load_state_dict_pre_hook(lambda self, given: loaded)
    check_refused(optimizer, optimizer.state_dict() if by_hook and loaded is not None else loaded, message)


def test_state_of_a_parameter_that_is_no_dictionary():
    optimizer = stepped(heddle.optim.AdamW, support.parameters(shapes=[(3, 4)]))
    loaded = optimizer.state_dict()
    loaded["state"][0] = 5
    check_refused(optimizer, loaded, "^state of parameter 0 of group 0: expected a dictionary, found 5$")


def test_numbers_of_groups_that_differ_are_pytorchs_error():
    optimizer = stepped(heddle.optim.AdamW, support.parameters(shapes=[(3, 4), (2,)]))
    loaded = optimizer.state_dict()
    with pytest.raises(ValueError, match="different number of parameter groups"):
        optimizer.load_state_dict({**loaded, "param_groups": loaded["param_groups"] * 2})
    with pytest.raises(ValueError, match="doesn't match the size"):
        optimizer.load_state_dict({**loaded, "param_groups": [{**loaded["param_groups"][0], "params": [0]}]})


def test_other_dictionaries_are_accepted():
    optimizer = stepped(heddle.optim.AdamW, support.parameters(shapes=[(3, 4)]))
    loaded = collections.UserDict(copy.deepcopy(optimizer.state_dict()))
    loaded["param_groups"] = tuple(loaded["param_groups"])
    optimizer.load_state_dict(loaded)
    optimizer.step()


#: Values that do not fit an entry of the state of a parameter of shape (3, 4), and what is found.
_UNFIT = [
    ("exp_avg", torch.zeros(9), r"expected a tensor of shape \(3, 4\), found shape \(9,\); load the state of an optimizer"),
    ("exp_avg", torch.zeros(()), r"expected a tensor of shape \(3, 4\), found shape \(\); "),
    ("exp_avg", "x", r"expected a tensor of shape \(3, 4\), found 'x'"),
    ("exp_avg", [1.0], r"expected a tensor of shape \(3, 4\), found \[1.0\]"),
    ("exp_avg", 0.5, r"expected a tensor of shape \(3, 4\), found 0.5"),
    ("exp_avg", torch.zeros(3, 4).to_sparse(), "expected a dense tensor, found layout torch.sparse_coo"),
    ("exp_avg", torch.zeros(3, 4, device="meta"), "expected a tensor with data, found one on the device meta"),
    ("exp_avg", torch.zeros(4).expand(3, 4), r"expected elements with memory of their own, .* with strides \(0, 1\)"),
    ("exp_avg", torch.zeros((), dtype=torch.float64).expand(3, 4), "expected elements with memory of their own"),
    ("exp_avg", None, "expected a tensor as large as its parameter, found none beside 'exp_avg_sq', 'mu_product', 'step'"),
    ("step", None, "expected one value, found none beside 'exp_avg', 'exp_avg_sq', 'mu_product'"),
    ("step", torch.zeros(2), r"expected one value, found shape \(2,\)"),
    ("step", torch.zeros((), device="meta"), "expected a tensor with data"),
    ("mu_product", torch.ones(3, 4), r"expected one value, found shape \(3, 4\)"),
    ("mine", torch.ones(2, device="meta"), "expected a tensor with data"),
]


@pytest.mark.parametrize("key, value, message", _UNFIT, ids=str)
@pytest.mark.parametrize("how", ["alone", "chain"])
def test_state_that_does_not_fit(key, value, message, how):
    """The error has the place in the dictionary. Nothing is written, also to the other optimizers of a chain."""
    params = support.parameters(shapes=[(2,), (3, 4)])
    if how == "alone":
        optimizer, prefix = stepped(heddle.optim.NAdam, params), ""
    else:
        first, second = heddle.optim.SGD(params[:1], momentum=0.9), heddle.optim.NAdam(params[1:])
        optimizer, prefix = heddle.optim.chain(optimizer=[first, second]), r"optimizers\[1\] \(NAdam\): "
        stepped(lambda _: optimizer, None)
    loaded = with_entry(optimizer, 1, key, value)
    loaded["param_groups"][0]["lr"] = 123.0
    check_refused(optimizer, loaded, rf"^{prefix}state_dict\['state'\]\[1\]\['{key}'\]: {message}")
    if value is None:
        del loaded["state"][1][key]
        check_refused(optimizer, loaded, rf"^{prefix}state_dict\['state'\]\[1\]\['{key}'\]: {message}")
    support.set_gradients(params)
    optimizer.step()


def test_state_without_any_entry_is_accepted():
    params = support.parameters(shapes=[(3, 4), (2,)])
    optimizer = stepped(heddle.optim.AdamW, params)
    loaded = copy.deepcopy(optimizer.state_dict())
    loaded["state"][0] = dict.fromkeys(loaded["state"][0])
    loaded["state"][1] = {}
    optimizer.load_state_dict(loaded)
    optimizer.step()
    assert all(optimizer.state[param]["step"] == 1 for param in params)


@pytest.mark.parametrize("key, value, message", [
    ("lr", "x", r"\['lr'\]: expected a number, found 'x'"), ("lr", None, r"\['lr'\]: expected a number, found NoneType"),
    ("lr", torch.ones(2), r"\['lr'\]: expected a number or a tensor of one element, found shape \(2,\)"),
    ("betas", None, r"\['betas'\]: expected 2 numbers, found None"),
    ("betas", (0.9, "x"), r"\['betas'\]\[1\]: expected a number, found 'x'"),
    ("betas", (0.9,), r"\['betas'\]: expected 2 numbers, found \(0.9,\)"),
    ("eps", None, r"\['eps'\]: expected a number, found NoneType"),
    ("weight_decay", 1j, r"\['weight_decay'\]: expected a number, found 1j"),
], ids=str)
def test_groups_whose_entries_are_no_numbers(key, value, message):
    params = support.parameters(shapes=[(3, 4), (2,)])
    optimizer = stepped(heddle.optim.AdamW, [{"params": [param]} for param in params])
    loaded = copy.deepcopy(optimizer.state_dict())
    loaded["param_groups"][1][key] = value
    check_refused(optimizer, loaded, rf"^state_dict\['param_groups'\]\[1\]{message}")


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("changes", [{"lr": True}, {"lr": torch.tensor(0.25)}, {"lr": 2}, {"weight_decay": -1.0}], ids=str)
def test_numbers_of_any_kind_and_range_are_loaded(name, changes):
    needed = {"momentum": 0.9} if name in ("SGD", "RMSprop", "LARS") else {}
    optimizer = stepped(support.heddle_class(name), support.parameters(shapes=[(3, 4)]), **needed)
    loaded = copy.deepcopy(optimizer.state_dict())
    if not changes.keys() <= loaded["param_groups"][0].keys():
        pytest.skip("no such entry")
    loaded["param_groups"][0].update(changes)
    optimizer.load_state_dict(loaded)
    assert all(optimizer.param_groups[0][key] == value for key, value in changes.items())


@pytest.mark.parametrize("name", SPECS)
def test_every_class_loads_its_own_state(name):
    """Also without the entries of its options, and with entries of the caller that have the names of another class."""
    needed = {"momentum": 0.9} if name in ("SGD", "RMSprop", "LARS") else {}
    optimizer = stepped(support.heddle_class(name), support.parameters(shapes=[(3, 4), ()]), **needed)
    loaded = copy.deepcopy(optimizer.state_dict())
    for state in loaded["state"].values():
        state["exp_inf" if name != "Adamax" else "prev"] = torch.ones(5)
    optimizer.load_state_dict(loaded)
    optimizer.step()


@pytest.mark.parametrize("name", SPECS)
def test_the_table_has_the_state_of_every_class(name):
    """With each of its options."""
    spec = SPECS[name]
    needed = {"momentum": 0.9} if "momentum" in spec.defaults else {}
    flags = [key for key in spec.options if spec.defaults.get(key) is False]
    large, single = set(), set()
    for flag in (None, *flags):
        param = torch.nn.Parameter(torch.ones(3, 2))
        optimizer = stepped(support.heddle_class(name), [param], **needed, **({flag: True} if flag else {}))
        for key, value in optimizer.state[param].items():
            (large if value.ndim else single).add(key)
    assert large == set(spec.large) and single - {"step"} == set(spec.single)
