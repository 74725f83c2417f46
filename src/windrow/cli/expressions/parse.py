"""Spark SQL expressions from text to tree, by recursive descent along Spark's grammar.

What is read means the same in Spark. What is not read may still be right: it is refused as known to Spark
alone, with the word at which the reading stopped. Only open quotes and parentheses are surely wrong."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from typing import NoReturn

import pyarrow as pa

from windrow.cli.expressions.errors import ExpressionError, only_spark
from windrow.cli.expressions.tokens import Token, tokens_of
from windrow.cli.expressions.tree import (
    Between,
    Binary,
    Call,
    Case,
    Cast,
    Column,
    Constant,
    In,
    Is,
    Like,
    Node,
    Unary,
    children,
)

__all__ = ["parse"]

#: words that cannot be the name of a column unless they stand in backticks
_RESERVED = (
    "and or not in between like ilike rlike regexp is null true false case when then else end cast try_cast "
    "distinct from as div escape interval exists select any all some over filter array map struct"
)
_WORDS = frozenset(_RESERVED.split())
#: operators by how they are written, level by level
_OR, _AND = {"or": "or"}, {"and": "and"}
_COMPARISONS = {sign: sign for sign in ("=", "<>", "<=>", "<", "<=", ">", ">=")} | {"==": "=", "!=": "<>"}
_SUMS = {sign: sign for sign in ("+", "-", "||")}
_PRODUCTS = {sign: sign for sign in ("*", "/", "%", "div")}
_DEEPEST = 30
_LONGEST_CHAIN = 100
_KINDS = {"l": "bigint", "s": "smallint", "y": "tinyint", "d": "double", "f": "float"}
_WIDTHS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_LARGEST = {"double": Decimal("1.7976931348623157e308"), "float": Decimal("3.4028234663852886e38")}
_LONGEST_EXPONENT = 9


@lru_cache(maxsize=1_000)
def parse(text: str) -> Node:
    """
    >>> parse("len > 3 and not region in ('north', 'east')").sql()
    "((`len` > 3) and (not (`region` in ('north', 'east'))))"
    >>> parse("(len + 1")
    Traceback (most recent call last):
    windrow.cli.expressions.errors.ExpressionError: the parenthesis at character 1 is not closed
    """
    tokens = tokens_of(text)
    if len(tokens) == 1:
        raise ExpressionError("this is empty: give an expression, as in len > 3")
    _check_parentheses(tokens)
    found = _Parser(tokens).whole()
    _check_depth(found)
    return found


def _check_depth(tree: Node) -> None:
    """A chain such as a + b + c is as deep as it is long."""
    level, depth = [tree], 0
    while level:
        depth += 1
        if depth > _LONGEST_CHAIN:
            raise only_spark(
                f"a chain of more than {_LONGEST_CHAIN} operators", "split it into several columns"
            )
        level = [child for node in level for child in children(node)]


def _check_parentheses(tokens: list[Token]) -> None:
    opened: list[Token] = []
    for token in tokens:
        if token.kind != "sign":
            continue
        if token.value == "(":
            opened.append(token)
        elif token.value == ")":
            if not opened:
                raise ExpressionError(f"the parenthesis at character {token.at + 1} closes nothing")
            opened.pop()
    if opened:
        raise ExpressionError(f"the parenthesis at character {opened[-1].at + 1} is not closed")


class _Parser:
    """One method for each level of precedence, the loosest first."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.at = 0
        self.depth = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def whole(self) -> Node:
        found = self._either()
        if self.token.kind != "end":
            self._refuse()
        return found

    # -- truth -----------------------------------------------------------------------------------------------

    def _either(self) -> Node:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise only_spark(f"more than {_DEEPEST} levels of parentheses", "split this into several columns")
        found = self._chain(_OR, lambda: self._chain(_AND, self._negated))
        self.depth -= 1
        return found

    def _chain(self, signs: dict[str, str], below: Callable[[], Node]) -> Node:
        """Operators of one level, from the left."""
        found = below()
        while self.token.kind in ("sign", "word") and self.token.value in signs:
            found = Binary(signs[self._next().value], found, below())
        return found

    def _negated(self) -> Node:
        signs = 0
        while self._word("not") or self._sign("!"):
            signs += 1
        found = self._predicate()
        for _ in range(signs):
            found = Unary("not", found)
        return found

    def _predicate(self) -> Node:
        operand = self._value()
        if self._word("is"):
            return self._is(operand)
        negated = self._word("not")
        found = self._tested(operand)
        if found is None:
            return self._refuse() if negated else operand
        return Unary("not", found) if negated else found

    def _is(self, operand: Node) -> Node:
        negated = self._word("not")
        for what in ("null", "true", "false", "unknown"):
            if self._word(what):
                return Is(operand, "null" if what == "unknown" else what, negated)
        if self._word("distinct"):
            self._expect_word("from")
            same = Binary("<=>", operand, self._value())
            return same if negated else Unary("not", same)
        return self._refuse()

    def _tested(self, operand: Node) -> Node | None:
        if self._word("between"):
            low = self._value()
            self._expect_word("and")
            return Between(operand, low, self._value())
        if self._word("in"):
            self._expect_sign("(")
            return In(operand, self._listed())
        if self._word("like"):
            pattern = self._value()
            escape = self._text() if self._word("escape") else "\\"
            return Like(operand, pattern, escape)
        return None

    # -- values ----------------------------------------------------------------------------------------------

    def _value(self) -> Node:
        return self._chain(_COMPARISONS, self._sum)

    def _sum(self) -> Node:
        return self._chain(_SUMS, lambda: self._chain(_PRODUCTS, self._signed))

    def _signed(self) -> Node:
        signs = []
        while self.token.kind == "sign" and self.token.value in ("+", "-"):
            signs.append(self._next().value)
        if signs and signs[-1] == "-" and self.token.kind == "number":
            signs.pop()
            found = self._number("-")
        else:
            found = self._primary()
        for sign in reversed(signs):
            found = Unary(sign, found)
        return found

    def _primary(self) -> Node:
        token = self.token
        if token.kind == "number":
            return self._number("")
        if token.kind == "text":
            return self._joined_text()
        if self._sign("("):
            found = self._either()
            self._expect_sign(")")
            return found
        if token.kind == "word" and self.tokens[self.at + 1].kind == "text" and token.value not in _WORDS:
            return self._typed_text()
        if token.kind in ("word", "name"):
            return self._named()
        return self._refuse()

    def _named(self) -> Node:
        for word, value, kind in (
            ("null", None, "void"),
            ("true", True, "boolean"),
            ("false", False, "boolean"),
        ):
            if self._word(word):
                return Constant(value, kind)
        if self._word("case"):
            return self._case()
        followed = self.tokens[self.at + 1]
        if self.token.kind == "word" and (followed.kind, followed.value) == ("sign", "("):
            return self._call()
        if self.token.kind == "word" and self.token.value in _WORDS:
            return self._refuse("put it in backticks if it is a column")
        return self._column()

    def _column(self) -> Node:
        path = [self._name()]
        while self._sign("."):
            path.append(self._name())
        if self.token.kind == "sign" and self.token.value == "(":
            self._refuse()
        return Column(tuple(path))

    def _name(self) -> str:
        token = self.token
        if token.kind == "name" or (token.kind == "word" and token.value not in _WORDS):
            return self._next().text if token.kind == "word" else self._next().value
        return self._refuse()

    def _call(self) -> Node:
        token = self._next()
        self._expect_sign("(")
        if token.value == "cast":
            return self._cast()
        if token.value in _WORDS:
            raise only_spark(f"{token.text}(...)")
        return Call(token.value, () if self._sign(")") else self._listed())

    def _listed(self) -> tuple[Node, ...]:
        """Expressions up to the closing parenthesis."""
        found = [self._either()]
        while self._sign(","):
            found.append(self._either())
        self._expect_sign(")")
        return tuple(found)

    def _cast(self) -> Node:
        operand = self._either()
        self._expect_word("as")
        words, depth = [], 0
        while depth or (self.token.kind, self.token.value) != ("sign", ")"):
            if self.token.kind == "end":
                self._refuse()
            depth += {"(": 1, ")": -1}.get(self.token.value, 0)
            words.append(self._next().value)
        self._expect_sign(")")
        return Cast(operand, "".join(words))

    def _case(self) -> Node:
        subject = None if self._is_word("when") else self._either()
        branches = []
        while self._word("when"):
            condition = self._either()
            self._expect_word("then")
            branches.append((condition, self._either()))
        otherwise = self._either() if self._word("else") else None
        self._expect_word("end")
        return Case(tuple(branches), otherwise, subject) if branches else self._refuse()

    # -- literals --------------------------------------------------------------------------------------------

    def _number(self, sign: str) -> Node:
        token = self._next()
        text = token.text.lower()
        ending = "bd" if text.endswith("bd") else text[-1] if text[-1] in _KINDS else ""
        digits = sign + text.removesuffix(ending)
        if ending in _KINDS:
            kind = _KINDS[ending]
        elif ending or ("." in digits and "e" not in digits):
            kind = "decimal"
        elif "e" in digits:
            kind = "double"
        else:
            kind = next((kind for kind in ("int", "bigint") if _fits(int(digits), kind)), "decimal")
        return _number(digits, kind, token.text)

    def _joined_text(self) -> Node:
        found = Constant(self._text(), "string")
        return found if self.token.kind != "text" else self._refuse()

    def _text(self) -> str:
        return self._next().value if self.token.kind == "text" else self._refuse()

    def _typed_text(self) -> Node:
        kind = self._next()
        if kind.value not in ("timestamp", "date", "timestamp_ntz", "timestamp_ltz"):
            raise only_spark(f"the literal {kind.text} {self.token.text}")
        return Cast(Constant(self._text(), "string"), kind.value)

    # -- words -----------------------------------------------------------------------------------------------

    def _next(self) -> Token:
        self.at += 1
        return self.tokens[self.at - 1]

    def _is_word(self, word: str) -> bool:
        return self.token.kind == "word" and self.token.value == word

    def _word(self, word: str) -> bool:
        found = self._is_word(word)
        self.at += found
        return found

    def _sign(self, sign: str) -> bool:
        found = self.token.kind == "sign" and self.token.value == sign
        self.at += found
        return found

    def _expect_word(self, word: str) -> None:
        if not self._word(word):
            self._refuse()

    def _expect_sign(self, sign: str) -> None:
        if not self._sign(sign):
            self._refuse()

    def _refuse(self, remedy: str = "") -> NoReturn:
        token = self.token
        if token.kind == "end":
            raise ExpressionError("this ends too early: something is missing after the last word")
        raise only_spark(f"{token.text} at character {token.at + 1}", remedy)


def _number(text: str, kind: str, written: str) -> Node:
    """A literal in the range of its type, as Spark checks it."""
    exponent = text.partition("e")[2].lstrip("+-0")
    is_whole = kind in _WIDTHS
    if len(exponent) > _LONGEST_EXPONENT or (is_whole and not text.lstrip("-").isdigit()):
        raise ExpressionError(f"the number {written} is not a {kind}")
    if is_whole:
        if not _fits(int(text), kind):
            raise ExpressionError(f"the number {written} does not fit into {kind}")
        return Constant(int(text), kind)
    value = Decimal(text)
    if kind == "decimal":
        _, digits, scale = value.as_tuple()
        if max(len(digits), -int(scale)) > 38:
            raise ExpressionError(f"the number {written} has more than 38 digits: write it as a double")
        return Constant(value, kind)
    if abs(value) > _LARGEST[kind]:
        raise ExpressionError(f"the number {written} does not fit into {kind}")
    # a float is rounded once, from its digits
    return Constant(float(text) if kind == "double" else pa.scalar(text).cast(pa.float32()).as_py(), kind)


def _fits(value: int, kind: str) -> bool:
    return -(2 ** (_WIDTHS[kind] - 1)) <= value < 2 ** (_WIDTHS[kind] - 1)
