"""Commands that take bundles of options."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, get_type_hints

from calcli.core.language.declaring import Setting
from calcli.work.places import refuse_clashes


def _under(heading: str, option: Any) -> Any:
    """Return an option that help shows below a heading."""
    form = copy.copy(option.__metadata__[0])
    form.rich_help_panel = heading
    return Annotated[option.__origin__, form]


def bundled(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take bundles of options: each field of a bundle becomes an option of its own.

    The declarations of those that are settings are found in the command's `settings`, by parameter.
    """
    parameters: list[inspect.Parameter] = []
    settings: dict[str, Setting] = {}
    bundles: dict[str, type[Any]] = {}
    hints = get_type_hints(command, include_extras=True)
    for name, parameter in inspect.signature(command).parameters.items():
        if not is_dataclass(hints[name]):
            parameters.append(parameter.replace(annotation=hints[name], kind=parameter.KEYWORD_ONLY))
            continue
        bundles[name] = hints[name]
        types = get_type_hints(hints[name], include_extras=True)
        heading = getattr(hints[name], "heading", "")
        settings |= {
            one.name: one.metadata["setting"] for one in fields(hints[name]) if "setting" in one.metadata
        }
        parameters += [
            inspect.Parameter(
                one.name,
                parameter.KEYWORD_ONLY,
                default=one.default,
                annotation=_under(heading, one.metadata.get("option", types[one.name])),
            )
            for one in fields(hints[name])
        ]

    @functools.wraps(command)
    def with_options(**values: Any) -> None:
        refuse_clashes(command.__name__, values)
        gathered = {
            name: bundle(**{one.name: values.pop(one.name) for one in fields(bundle)})
            for name, bundle in bundles.items()
        }
        command(**values, **gathered)

    with_options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    with_options.settings = settings  # type: ignore[attr-defined]
    with_options.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return with_options
