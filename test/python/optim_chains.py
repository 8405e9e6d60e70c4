"""Chains of optimizers for the tests of `heddle.optim.chain`, beside PyTorch's optimizers."""

import copy

import optim_support as support

torch = support.torch_or_skip()

import heddle.optim  # noqa: E402

optim = heddle.optim
STEPS = 8


class Pair:
    """A chain of heddle's optimizers, and PyTorch's of the same names over copies of the parameters.

    Args:
        members: for each optimizer its name, its options and the shapes of its parameters.
        extra: options of heddle's classes only.
        added: the arguments of `chain`.
    """

    def __init__(self, *members, device="cpu", dtype=torch.float64, **added):
        self.params, self.others, self.theirs, ours = [], [], [], []
        for place, (name, options, shapes) in enumerate(members):
            params = support.parameters(device, dtype, shapes, seed=place)
            others = support.copies(params)
            ours.append(getattr(optim, name)(params, **options))
            self.theirs.append(getattr(torch.optim, name)(others, foreach=False, **copy.deepcopy(options)))
            self.params += params
            self.others += others
        self.members, self.added = ours, added
        self.chain = optim.chain(optimizer=ours, **added)

    def run(self, steps=STEPS, first=0, skip=()):
        limit = self.added.get("clip_grad_norm")
        for step in range(first, first + steps):
            support.set_gradients(self.params, self.others, step, skip)
            norm = self.chain.step()
            if limit is not None:
                wanted = torch.nn.utils.clip_grad_norm_([p for p in self.others if p.grad is not None], limit)
                torch.testing.assert_close(norm.to(wanted.dtype), wanted)
            for each in self.theirs:
                each.step()

    def compare(self, steps=STEPS):
        dtype = max((p.dtype for p in self.params), key=lambda each: torch.finfo(each).eps)
        support.assert_same_params(self.params, self.others, **support.tolerance(dtype, steps))
        for ours, theirs in zip(self.members, self.theirs):
            support.assert_same_state(ours, theirs, **support.tolerance(dtype, steps))


def parts(optimizer):
    return [part for each in optimizer._parts.values() for part in each]


SHAPES = ((3, 4), (7,), (), (0,), (1500,))
MEMBERS = {
    "sgd-adamw": (("SGD", dict(lr=0.1, momentum=0.9), SHAPES), ("AdamW", dict(lr=0.01), SHAPES[::-1])),
    "adamw-adamw": (("AdamW", dict(lr=0.1, amsgrad=True), SHAPES),
                    ("AdamW", dict(lr=0.01, betas=(0.5, 0.9), maximize=True, weight_decay=0.0), SHAPES)),
    "three": (("Adagrad", dict(lr=0.1), SHAPES), ("RMSprop", dict(lr=0.01, momentum=0.5, centered=True), SHAPES[:2]),
              ("SGD", dict(lr=0.1, momentum=0.9, dampening=0.5, weight_decay=0.1), SHAPES[1:])),
    "rates": (("Rprop", {}, SHAPES), ("ASGD", {}, SHAPES), ("NAdam", {}, SHAPES), ("RAdam", {}, SHAPES)),
}


def made(lists, **added):
    added = {"clip_grad_norm": 0.5, **added}
    return optim.chain(optimizer=[optim.SGD(lists[0], lr=0.1, momentum=0.9), optim.AdamW(lists[1], lr=0.1)], **added)


def stepped(lists, chained, steps, first=0):
    for step in range(first, first + steps):
        support.set_gradients([*lists[0], *lists[1]], step=step)
        chained.step()


def lists_of(chained):
    return [[param for group in each.param_groups for param in group["params"]] for each in chained.optimizers]


def assert_same_bytes(left, right):
    for first, second in zip(lists_of(left), lists_of(right)):
        for a, b in zip(first, second, strict=True):
            assert torch.equal(a, b)
            assert left.state[a].keys() == right.state[b].keys()
            assert all(torch.equal(value, right.state[b][key]) for key, value in left.state[a].items())
