"""How a group of options reaches a verb as one object.

Typer learns a verb's options from its signature. ``fills`` shows it a signature in which a group of options stands in
the place of one parameter; when Typer calls, it makes one object of their values and calls the verb with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any

Options = dict[str, object]
"""Options by the fields of the object that they fill, in the order of the help."""
Verb = Callable[..., None]
Make = Callable[[dict[str, Any], dict[str, Any]], object]
"""Makes the object of the values of its options, and sees what else the verb was given."""


def fills(
    kind: type, options: Options, make: Make, defaults: Mapping[str, Any] | None = None
) -> Callable[[Verb], Verb]:
    """Returns a decorator for a verb whose one parameter of this type is filled by these options.

    The default of an option is the one that is given for it, or that of the field which it fills.
    """

    def decorate(verb: Verb) -> Verb:
        own = signature(verb, eval_str=True)
        (place,) = (name for name, parameter in own.parameters.items() if parameter.annotation is kind)

        @wraps(verb)
        def called_by_typer(**given: object) -> None:
            values: dict[str, Any] = {field: given.pop(_option_name(field)) for field in options}
            verb(**given, **{place: make(values, given)})

        called_by_typer.__signature__ = _shown(own, place, options, _defaults(kind) | dict(defaults or {}))  # type: ignore[attr-defined]
        return called_by_typer

    return decorate


def _option_name(field: str) -> str:
    """Returns the name of a field's option, which does not say the unit: ``max_wait`` for ``max_wait_s``."""
    return field.removesuffix("_s")


def _defaults(kind: type) -> dict[str, Any]:
    return {name: one.default for name, one in signature(kind).parameters.items()}


def _shown(own: Signature, place: str, options: Options, defaults: Mapping[str, Any]) -> Signature:
    """Returns what Typer sees: first what is required, then the cluster, then the others as they stand."""
    shown: list[Parameter] = []
    for parameter in own.parameters.values():
        if parameter.name == place:
            shown += [
                Parameter(_option_name(name), Parameter.KEYWORD_ONLY, default=defaults[name], annotation=options[name])
                for name in options
            ]
        else:
            shown.append(parameter)
    shown.sort(key=lambda one: (one.default is not Parameter.empty, one.name != "cluster"))
    return own.replace(parameters=[one.replace(kind=Parameter.KEYWORD_ONLY) for one in shown])
