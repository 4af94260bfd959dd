"""Expressions as canonical text: blanks round operators, parentheses only where the tree needs them.

In comes an expression of `nodes.py`; out goes text that parses to an equal one. Used by `printer.py`, and by
messages that quote an expression of which no text is at hand.
"""

from __future__ import annotations

from collections.abc import Iterable

from serq_lab.syntax import nodes
from serq_lab.syntax.nodes import Expression

# How tightly a form binds, loosest first; an operand that binds less than its place asks for needs them.
CONDITIONAL, OR, AND, COMPARISON, SUM, PRODUCT, SIGN, POWER, NOT, ATOM = range(10)
LEVELS = {"||": OR, "&&": AND, "+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT}


def print_expression(expression: Expression) -> str:
    """The canonical text of an expression.

    Parameters
    ----------
    expression : Expression
        Its spans are not looked at; numbers appear as they were written.
    """
    return _print(expression)[0]


def print_arguments(arguments: Iterable[Expression]) -> str:
    return f"({', '.join(map(print_expression, arguments))})"


def _within(expression: Expression, least: int) -> str:
    """An operand's text, where only what binds at least so tightly can stand bare."""
    text, level = _print(expression)
    return text if level >= least else f"({text})"


def _print(expression: Expression) -> tuple[str, int]:
    """The text of an expression and how tightly it binds."""
    match expression:
        case nodes.Number(text=text):
            return text, ATOM
        case nodes.Name(name=name):
            return name, ATOM
        case nodes.Member(name=name, index=index):
            return f"{name}[{print_expression(index)}]", ATOM
        case nodes.Call(callee=callee, arguments=arguments):
            return callee.name + print_arguments(arguments), ATOM
        case nodes.Draw(distribution=distribution, arguments=arguments):
            return f"~{distribution.name}{print_arguments(arguments)}", ATOM
        case nodes.Aggregate():
            return _aggregate(expression), ATOM
        case nodes.Unary():
            return _unary(expression)
        case nodes.Power(base=base, exponent=exponent):
            return f"{_within(base, NOT)}^{_within(exponent, SIGN)}", POWER
        case nodes.Chain() | nodes.Logical():
            return _operands_in_a_row(expression)
        case nodes.Comparison(operator=operator, left=left, right=right):
            return f"{_within(left, SUM)} {operator} {_within(right, SUM)}", COMPARISON
        case nodes.Conditional(condition=condition, if_true=if_true, if_false=if_false):
            branches = f"{print_expression(if_true)} : {print_expression(if_false)}"
            return f"{_within(condition, OR)} ? {branches}", CONDITIONAL


def _unary(expression: nodes.Unary) -> tuple[str, int]:
    if expression.operator == "-":
        return "-" + _within(expression.operand, SIGN), SIGN
    text, level = _print(expression.operand)
    if level == SIGN:
        return "!" + text, SIGN  # `!-a`: what follows the sign belongs to it as far as it goes
    return "!" + (text if level >= NOT else f"({text})"), NOT


def _operands_in_a_row(expression: nodes.Chain | nodes.Logical) -> tuple[str, int]:
    if isinstance(expression, nodes.Chain):
        operators = expression.operators
    else:
        operators = (expression.operator,) * (len(expression.operands) - 1)
    level = LEVELS[operators[0]]
    first, *others = (_within(operand, level + 1) for operand in expression.operands)
    return first + "".join(f" {sign} {other}" for sign, other in zip(operators, others, strict=True)), level


def _aggregate(expression: nodes.Aggregate) -> str:
    count = print_expression(expression.count)
    if not isinstance(expression.count, (nodes.Number, nodes.Name)):
        count = f"({count})"
    return f"{expression.function} {expression.variable.name} in {count} ({print_expression(expression.body)})"
