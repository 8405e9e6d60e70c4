"""The states of several optimizers as one dictionary.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from collections.abc import MutableMapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from ._optimizer import Optimizer


class MergedStates(MutableMapping):  # type: ignore[type-arg]
    """The states of all parameters of several optimizers. Each entry is that of the optimizer with the parameter."""

    def __init__(self, optimizers: Sequence[Optimizer]) -> None:
        self._optimizers = optimizers

    def of(self, param: Any) -> Any:
        """The states of the optimizer that has a parameter.

        Raises:
            KeyError: no optimizer has it.
        """
        for each in self._optimizers:
            if param in each.state:
                return each.state
        for each in self._optimizers:
            if any(param is other for group in each.param_groups for other in group["params"]):
                return each.state
        raise KeyError(param)

    def __getitem__(self, param: Any) -> Any:
        return self.of(param)[param]

    def __setitem__(self, param: Any, state: Any) -> None:
        self.of(param)[param] = state

    def __delitem__(self, param: Any) -> None:
        del self.of(param)[param]

    def __contains__(self, param: object) -> bool:
        return any(param in each.state for each in self._optimizers)

    def __iter__(self) -> Iterator[Any]:
        for each in self._optimizers:
            yield from each.state

    def __len__(self) -> int:
        return sum(len(each.state) for each in self._optimizers)

    def get(self, param: Any, default: Any = None) -> Any:
        """The state of a parameter, or `default`: unlike ``[]``, it creates none."""
        return self[param] if param in self else default

    def __repr__(self) -> str:
        return repr(dict(self))
