"""What an expression says: a small tree, which can be written as SQL again.

Of two ways to say the same only one is kept, such as a cast of a text for a typed literal. Each operand is
one node, however often it is compared: ``between`` and ``case x when`` have nodes of their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

__all__ = [
    "Between",
    "Binary",
    "Call",
    "Case",
    "Cast",
    "Column",
    "Constant",
    "In",
    "Is",
    "Like",
    "Node",
    "Unary",
    "children",
    "walk",
]


@dataclass(frozen=True)
class Constant:
    """A literal. ``kind`` is the type that Spark gives it: whole numbers are int or bigint, 1.5 is a
    decimal, 1.5D and 15e-1 are doubles."""

    value: bool | int | float | Decimal | str | None
    kind: str

    def sql(self) -> str:
        if self.value is None:
            return "null"
        if isinstance(self.value, str):
            quoted = self.value.replace("\\", "\\\\").replace("\\\\%", "\\%").replace("\\\\_", "\\_")
            return "'" + quoted.replace("'", "''") + "'"
        if isinstance(self.value, bool):
            return str(self.value).lower()
        if isinstance(self.value, Decimal):
            return f"{self.value:f}BD"
        return f"{self.value!r}{_SUFFIXES.get(self.kind, '')}"


_SUFFIXES = {"bigint": "L", "smallint": "S", "tinyint": "Y", "double": "D", "float": "F"}


@dataclass(frozen=True)
class Column:
    """A column, or a field in one: ``payload.len``."""

    path: tuple[str, ...]

    def sql(self) -> str:
        return ".".join(f"`{name.replace('`', '``')}`" for name in self.path)


@dataclass(frozen=True)
class Unary:
    sign: str
    operand: Node

    def sql(self) -> str:
        return f"({self.sign} {self.operand.sql()})"


@dataclass(frozen=True)
class Binary:
    sign: str
    left: Node
    right: Node

    def sql(self) -> str:
        return f"({self.left.sql()} {self.sign} {self.right.sql()})"


@dataclass(frozen=True)
class Between:
    operand: Node
    low: Node
    high: Node

    def sql(self) -> str:
        return f"({self.operand.sql()} between {self.low.sql()} and {self.high.sql()})"


@dataclass(frozen=True)
class Is:
    """``is null``, ``is not true``..."""

    operand: Node
    what: str
    negated: bool = False

    def sql(self) -> str:
        return f"({self.operand.sql()} is {'not ' * self.negated}{self.what})"


@dataclass(frozen=True)
class In:
    operand: Node
    items: tuple[Node, ...]

    def sql(self) -> str:
        return f"({self.operand.sql()} in ({', '.join(item.sql() for item in self.items)}))"


@dataclass(frozen=True)
class Like:
    operand: Node
    pattern: Node
    escape: str = "\\"

    def sql(self) -> str:
        escape = "" if self.escape == "\\" else f" escape {Constant(self.escape, 'string').sql()}"
        return f"({self.operand.sql()} like {self.pattern.sql()}{escape})"


@dataclass(frozen=True)
class Case:
    """``case when``, or ``case subject when``: its conditions are values to compare the subject with."""

    branches: tuple[tuple[Node, Node], ...]
    otherwise: Node | None = None
    subject: Node | None = None

    def sql(self) -> str:
        parts = [] if self.subject is None else [self.subject.sql()]
        parts += [f"when {condition.sql()} then {value.sql()}" for condition, value in self.branches]
        parts += [f"else {self.otherwise.sql()}"] if self.otherwise is not None else []
        return f"(case {' '.join(parts)} end)"


@dataclass(frozen=True)
class Cast:
    operand: Node
    kind: str

    def sql(self) -> str:
        return f"cast({self.operand.sql()} as {self.kind})"


@dataclass(frozen=True)
class Call:
    name: str
    arguments: tuple[Node, ...]

    def sql(self) -> str:
        return f"{self.name}({', '.join(argument.sql() for argument in self.arguments)})"


Node = Constant | Column | Unary | Binary | Between | Is | In | Like | Case | Cast | Call


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it."""
    yield node
    for child in children(node):
        yield from walk(child)


def children(node: Node) -> tuple[Node, ...]:
    """The nodes right below."""
    match node:
        case Unary(_, operand) | Is(operand) | Cast(operand):
            return (operand,)
        case Binary(_, left, right) | Like(left, right):
            return (left, right)
        case Between(operand, low, high):
            return (operand, low, high)
        case In(operand, items):
            return (operand, *items)
        case Case(branches, otherwise, subject):
            parts = (subject, *(part for branch in branches for part in branch), otherwise)
            return tuple(part for part in parts if part is not None)
        case Call(_, arguments):
            return arguments
    return ()
