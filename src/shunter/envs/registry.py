"""Functions of the user's own, by name."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, TypeVar

from shunter.errors import InputError

Function = TypeVar("Function", bound=Callable[..., Any])


class Registry(dict[str, Function]):
    """What has been registered so far, of one kind."""

    def __init__(self, kind: str, taken: Collection[str]) -> None:
        """Begins empty.

        Args:
            kind: ``feature`` for what ``register_feature`` registers.
            taken: The names of Shunter's own.
        """
        super().__init__()
        self._kind = kind
        self._taken = taken

    def decorator(self, name: str) -> Callable[[Function], Function]:
        """Returns a decorator that registers a function by this name; it replaces one of the same name.

        Raises:
            InputError: It is no name, or one of Shunter's own has it.
        """
        what = f"register_{self._kind}"
        # Without brackets, as in @register_feature, the function itself arrives in the place of the name.
        if not isinstance(name, str) or not name:
            raise InputError(f'{what}: {name!r} is no name; expected one in brackets, as in @{what}("mine")')
        # Figures are told by these names: one that silently meant something else could not be compared.
        if name in self._taken:
            raise InputError(f"{what}({name!r}): one of Shunter's own {self._kind}s has this name; choose another")

        def register(function: Function) -> Function:
            if not callable(function):
                raise InputError(f"{what}({name!r}): {function!r} cannot be called; expected a function of the view")
            self[name] = function
            return function

        return register
