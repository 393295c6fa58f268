"""A command whose options a policy may settle: what is typed wins, what is not known is an error."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, TypeVar

import click

from rageval.cli._options import Command
from rageval.errors import InputError, UsageError
from rageval.policy import EFFECTS, Policy, find_policy, policy_in
from rageval.text import visible

_Value = TypeVar("_Value")
_ALSO = {"measures": "measure"}  # what may be said several times is called so in a list


class PolicyCommand(Command):
    """Reads what is not typed out of the section [gate] of the policy."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Parse what was typed, with the policy for what was not."""
        if extra.get("resilient_parsing") or {"-h", "--help"} & set(args):
            return super().make_context(info_name, args, parent, **extra)
        typed = _typed_policy(args)
        policy = find_policy() if typed is None else policy_in(typed)
        settled = self._settled(policy, info_name or "", args)
        try:
            context = super().make_context(info_name, args, parent, default_map=settled, **extra)
        except click.BadParameter as error:
            if error.param is None or error.param.name not in settled or _is_typed(error.param, args):
                raise
            title = f"{visible(policy.path)}: {policy.title(info_name or '')}"
            raise InputError(f"{title}: {error.param.name}: {error.message}") from None
        context.meta["policy"] = policy
        return context

    def _settled(self, policy: Policy, name: str, args: list[str]) -> dict[str, Any]:
        """Return the values of parameters, by their names."""
        options = {
            key: param for param in self.params if isinstance(param, click.Option) for key in _keys(param)
        }
        found: dict[str, Any] = {}
        for key, value in policy.gate_settings(options.keys() - EFFECTS.keys()).items():
            param = options[key]
            place = f"{visible(policy.path)}: {policy.title(name)}: {visible(key)}"
            if str(param.name) in found:
                raise InputError(f"{place}: stands there by its other name, too; expected one")
            found[str(param.name)] = self._value(param, value, place)
        return found

    def _value(self, param: click.Option, value: Any, place: str) -> Any:
        several = value if isinstance(value, list) and param.multiple else [value]
        for each in several:
            if not isinstance(each, str | int | float | bool) or isinstance(each, bool) != param.is_flag:
                what = "true or false" if param.is_flag else "text or a number"
                raise InputError(
                    f"{place}: expected {what}{' (or a list)' * param.multiple}, found {each!r:.80}"
                )
        return several if param.multiple else several[0]


def _keys(param: click.Option) -> Iterator[str]:
    for option in param.opts:
        if option.startswith("--"):
            yield option[2:]
            yield from (other for other, name in _ALSO.items() if name == option[2:])


def _typed_policy(args: list[str]) -> str | None:
    """Return the file after --policy, which is needed before anything is parsed."""
    for number, arg in enumerate(args):
        if arg == "--policy" and number + 1 < len(args):
            return args[number + 1]
        if arg.startswith("--policy="):
            return arg.partition("=")[2]
    return None


def _is_typed(param: click.Parameter, args: list[str]) -> bool:
    return any(arg.partition("=")[0] in param.opts for arg in args)


def said_of_policy(ctx: click.Context) -> Iterator[str]:
    """Yield what counts, and from where."""
    policy: Policy = ctx.meta["policy"]
    yield f"policy: {visible(policy.path) or 'none found'}"
    for param in ctx.command.params:
        source = ctx.get_parameter_source(str(param.name))
        if not isinstance(param, click.Option) or source is None or param.name == "show_policy":
            continue
        value = ctx.params.get(str(param.name))
        if source.name == "DEFAULT" and value in (None, (), False):
            continue
        where = {"COMMANDLINE": "typed", "DEFAULT_MAP": os.path.basename(policy.path)}
        yield f"{max(param.opts, key=len)[2:]} = {_shown(value)}  ({where.get(source.name, 'default')})"


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_shown, value))
    return visible(str(value))


def required(value: _Value | None, name: str, way: str) -> _Value:
    """Return the value; refuse a command that neither the command line nor the policy tells it."""
    if value is None:
        raise UsageError(f"expected --{name} ({way}), typed or in rageval.toml")
    return value
