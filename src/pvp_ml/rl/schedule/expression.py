"""Arithmetic that a preset may contain: checked and limited here, then evaluated over numbers or arrays.

An expression can read the names it is given and call the functions listed below; nothing else. Everything is computed
in float64 and element by element, so that the same expression serves one number and an array of many matches.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from pvp_ml.errors import UserError

MAX_LENGTH = 500
"""Characters of one expression."""

MAX_NODES = 100
"""Names, numbers, operators and calls of one expression."""

MAX_DEPTH = 30
"""Nesting of one expression."""

Value = float | npt.NDArray[np.float64]


class ExpressionError(UserError, ValueError):
    """An expression that is not allowed, or whose value is no number."""


_BINARY: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_UNARY: dict[type[ast.AST], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: np.logical_not,
}
_SHAPES = (
    ast.Expression,
    ast.BinOp,
    ast.UnaryOp,
    ast.BoolOp,
    ast.Compare,
    ast.IfExp,
    ast.Call,
    ast.Name,
    ast.Constant,
    ast.Load,
    ast.And,
    ast.Or,
    *_BINARY,
    *_UNARY,
)

_DIGITS = 308
"""A float has no digits beyond these."""

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": lambda *values: reduce(np.minimum, values),
    "max": lambda *values: reduce(np.maximum, values),
    "round": lambda value, digits=0.0: np.round(value, int(np.clip(np.nan_to_num(digits), -_DIGITS, _DIGITS))),
    "abs": np.abs,
    "sin": np.sin,
    "cos": np.cos,
    "exp": np.exp,
    "sqrt": np.sqrt,
    "floor": np.floor,
    "ceil": np.ceil,
    "clip": np.clip,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
}
_ARGUMENTS = {"min": (1, 20), "max": (1, 20), "round": (1, 2), "clip": (3, 3), "random": (0, 0), "normal": (0, 2)}
_DRAWS = frozenset({"random", "normal"})
FUNCTIONS = frozenset(_FUNCTIONS) | _DRAWS
"""Everything that an expression may call; `random()` and `normal(mean, deviation)` draw from a given generator."""


@dataclass(frozen=True)
class Expression:
    """A checked expression. Two are equal when their text is."""

    text: str

    def __post_init__(self) -> None:
        """Refuse what is too long, too deep, or reaches for more than arithmetic."""
        _check(self.text)

    @cached_property
    def _tree(self) -> ast.expr:
        return ast.parse(self.text.strip(), mode="eval").body

    @cached_property
    def names(self) -> frozenset[str]:
        """The names it reads, functions excluded."""
        called = {id(node.func) for node in ast.walk(self._tree) if isinstance(node, ast.Call)}
        return frozenset(n.id for n in ast.walk(self._tree) if isinstance(n, ast.Name) and id(n) not in called)

    @cached_property
    def draws(self) -> bool:
        """Whether it needs a random generator."""
        calls = (node.func for node in ast.walk(self._tree) if isinstance(node, ast.Call))
        return any(isinstance(f, ast.Name) and f.id in _DRAWS for f in calls)

    def evaluate(self, names: Mapping[str, Value], rng: np.random.Generator | None = None) -> Value:
        """Its value with these names: a float, or an array when a name is an array. May be infinite or NaN."""
        if missing := sorted(self.names - set(names)):
            raise ExpressionError(
                f"expression '{self.text}' reads '{missing[0]}', which has no value here",
                f"known names: {', '.join(sorted(names)) or 'none'}",
            )
        if self.draws and rng is None:
            raise ExpressionError(f"expression '{self.text}' draws random numbers, which are not available here")
        with np.errstate(all="ignore"):
            value = _value(self._tree, {name: np.float64(names[name]) for name in self.names}, _functions(rng))
        return np.asarray(value, np.float64) if np.ndim(value) else float(value)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """In a config an expression is written as its text."""
        return core_schema.no_info_plain_validator_function(
            _from_config, serialization=core_schema.plain_serializer_function_ser_schema(lambda e: e.text)
        )


def _from_config(value: object) -> Expression:
    if isinstance(value, Expression):
        return value
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ExpressionError(f"an expression must be text, got {type(value).__name__}")
    return Expression(str(value))


def _functions(rng: np.random.Generator | None) -> Mapping[str, Callable[..., Any]]:
    if rng is None:
        return _FUNCTIONS
    draws = {"random": lambda: np.float64(rng.random()), "normal": lambda *a: np.float64(rng.normal(*a))}
    return _FUNCTIONS | draws


def _value(node: ast.AST, names: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]]) -> Any:
    """The value of a checked tree, element by element."""

    def walk(part: ast.AST) -> Any:
        return _value(part, names, functions)

    match node:
        case ast.Name():
            return names[node.id]
        case ast.Constant():
            return np.float64(node.value)  # type: ignore[arg-type]  # checked to be a number
        case ast.UnaryOp():
            return _UNARY[type(node.op)](walk(node.operand))
        case ast.BinOp():
            return _BINARY[type(node.op)](walk(node.left), walk(node.right))
        case ast.Call(func=ast.Name() as function):
            return functions[function.id](*[walk(argument) for argument in node.args])
        case ast.BoolOp():
            join = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
            return reduce(join, [walk(value) for value in node.values])
        case ast.Compare():
            values = [walk(value) for value in (node.left, *node.comparators)]
            pairs = zip(node.ops, values, values[1:], strict=False)
            return reduce(np.logical_and, [_BINARY[type(op)](left, right) for op, left, right in pairs])
        case ast.IfExp():
            return np.where(walk(node.test), walk(node.body), walk(node.orelse))[()]
        case _:
            raise AssertionError(f"{type(node).__name__} passed the check")


def _check(text: str) -> None:
    shown = "".join(c if c.isprintable() else " " for c in (text if len(text) <= 60 else f"{text[:57]}…"))
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"expression '{shown}' has {len(text)} characters, the limit is {MAX_LENGTH}")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else "it cannot be read"
        raise ExpressionError(f"expression '{shown}' is not arithmetic: {reason}") from None
    _check_size(tree, shown)
    for node in ast.walk(tree):
        if not isinstance(node, _SHAPES):
            raise ExpressionError(f"expression '{shown}' uses {type(node).__name__}", "only arithmetic is allowed")
        if isinstance(node, ast.Constant):
            _check_number(node.value, shown)
        if isinstance(node, ast.Call):
            _check_call(node, shown)


def _check_size(tree: ast.AST, shown: str) -> None:
    layer, nodes, depth = [tree], 0, 0
    while layer:
        nodes += sum(not isinstance(node, ast.Load) for node in layer)
        depth += 1
        if nodes > MAX_NODES + 1 or depth > MAX_DEPTH:
            raise ExpressionError(f"expression '{shown}' has over {MAX_NODES} parts or is nested over {MAX_DEPTH} deep")
        layer = [child for node in layer for child in ast.iter_child_nodes(node)]


def _check_number(value: object, shown: str) -> None:
    if not isinstance(value, int | float):
        raise ExpressionError(f"expression '{shown}' contains {value!r}", "only numbers are allowed")
    try:
        float(value)
    except OverflowError:
        raise ExpressionError(f"expression '{shown}' contains a number beyond 1e308") from None


def _check_call(node: ast.Call, shown: str) -> None:
    name = node.func.id if isinstance(node.func, ast.Name) else "?"
    if name not in FUNCTIONS:
        raise ExpressionError(
            f"expression '{shown}' calls '{name}'", f"known functions: {', '.join(sorted(FUNCTIONS))}"
        )
    low, high = _ARGUMENTS.get(name, (1, 1))
    if node.keywords or not low <= len(node.args) <= high:
        wants = str(low) if low == high else f"{low} to {high}"
        raise ExpressionError(f"expression '{shown}': {name}() takes {wants} plain values, got {len(node.args)}")
