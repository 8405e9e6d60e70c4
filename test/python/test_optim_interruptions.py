"""An exception that a signal handler raises during a step reaches the caller (test_interruptions.py)."""

import pytest

torch = pytest.importorskip("torch")

import heddle.optim  # noqa: E402
from heddle import _fast  # noqa: E402
from test_interruptions import Timeout, check  # noqa: E402


@pytest.fixture
def grad_mode():
    """An exception at the line that enables gradients again leaves them disabled, as in torch.no_grad()."""
    yield
    torch.set_grad_enabled(True)


@pytest.mark.parametrize("kind", ["dense", "strided", "first"])
def test_steps(kind, grad_mode):
    params = [torch.nn.Parameter(torch.ones(50)), torch.nn.Parameter(torch.ones(3, 2))]
    if kind == "strided":
        params.append(torch.nn.Parameter(torch.ones(40)[::2]))
    optimizer = heddle.optim.AdamW(params)

    def before():
        for param in params:
            param.grad = torch.ones(param.shape)
        if kind == "first":
            optimizer.state.clear()

    def after():
        assert torch.is_grad_enabled()

    check(optimizer.step, before, after)


class Slow(torch.Tensor):
    """A tensor whose functions take too long."""

    late = False

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if cls.late:
            raise Timeout
        return super().__torch_function__(function, types, args, kwargs or {})


def test_the_extension():
    """Functions of subclasses are functions of Python: what they raise is no misfit."""
    tensor = torch.ones(3).as_subclass(Slow)
    api = _fast.exchange_api(torch.Tensor)
    layouts, out = _fast.layouts([tensor], api), bytearray(8)
    Slow.late = True
    try:
        with pytest.raises(Timeout):
            _fast.addresses([tensor], api, out, layouts)
        with pytest.raises(Timeout):
            _fast.layouts([tensor], api)
    finally:
        Slow.late = False


def test_the_mode_of_gradients(monkeypatch):
    """A handler may raise right after a function returns."""
    param = torch.nn.Parameter(torch.ones(3))
    param.grad = torch.ones(3)
    optimizer = heddle.optim.SGD([param])
    set_grad_enabled = torch._C._set_grad_enabled

    def late(mode):
        set_grad_enabled(mode)
        if not mode:
            raise Timeout

    with monkeypatch.context() as patched:
        patched.setattr(torch._C, "_set_grad_enabled", late)
        with pytest.raises(Timeout):
            optimizer.step()
    is_enabled = torch.is_grad_enabled()
    torch.set_grad_enabled(True)
    assert is_enabled
