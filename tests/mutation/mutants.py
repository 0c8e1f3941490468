"""
Deliberate small changes of a module's text, each of which a test should notice.

Operators: a comparison gets or loses its bound, or is turned round; a constant changes; min and max, ceil and floor,
any and all, and and or change places; a clause is dropped; a condition is negated; a statement is deleted. Texts,
annotations, imports, decorators and what is inside f-strings are left alone: they change no result. So are assertions,
and `strict=True` of a zip, which is one.

A mutant replaces the text of one node, so that the rest of the file, and its lines, stay as they are.
"""

import ast
import difflib
import hashlib
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from itertools import accumulate

OTHER_COMPARISON: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}

EQUALITIES = (ast.Eq, ast.NotEq, ast.In, ast.NotIn, ast.Is, ast.IsNot)

OTHER_FUNCTION = {
    name: other
    for pair in (("min", "max"), ("minimum", "maximum"), ("ceil", "floor"), ("any", "all"), ("argmin", "argmax"))
    for name, other in (pair, pair[::-1])
}


@dataclass(frozen=True)
class Mutant:
    """One changed node of one file."""

    file: str
    """Path from the root of the tree."""
    operator: str
    first_line: int
    last_line: int
    """Lines of the node that changes."""
    begin: int
    end: int
    """Offsets of its text."""
    text: str
    """What takes its place."""
    is_import_time: bool
    """It is outside every function, so it was carried out when the module was imported."""

    @property
    def id(self) -> str:
        """A name that stays while the file does."""
        words = (self.file, self.operator, self.begin, self.end, self.text)
        return hashlib.sha256(repr(words).encode()).hexdigest()[:12]

    def applied_to(self, source: str) -> str:
        """Returns the file's text with the change."""
        return source[: self.begin] + self.text + source[self.end :]

    def is_python(self, source: str) -> bool:
        """Tells whether the file can still be read."""
        try:
            ast.parse(self.applied_to(source))
        except SyntaxError:
            return False
        return True

    def diff(self, source: str) -> str:
        """Returns the change as a patch that `git apply` takes."""
        before, after = (text.splitlines(keepends=True) for text in (source, self.applied_to(source)))
        return "".join(difflib.unified_diff(before, after, f"a/{self.file}", f"b/{self.file}", n=2))


def mutants_of(source: str, file: str) -> list[Mutant]:
    """Returns every mutant of a file, in the order of its text."""
    tree = ast.parse(source)
    offsets = list(accumulate((len(line) for line in source.splitlines(keepends=True)), initial=0))
    lines = source.splitlines(keepends=True)

    def offset(line: int, column: int) -> int:
        # The columns of a syntax tree count bytes.
        return offsets[line - 1] + len(lines[line - 1].encode()[:column].decode())

    found: dict[tuple[int, int, str], Mutant] = {}
    for node, inside in _nodes(tree, inside=False):
        for operator, at, text in _changes(node):
            begin, end = offset(at.lineno, at.col_offset), offset(at.end_lineno, at.end_col_offset)
            mutant = Mutant(file, operator, at.lineno, at.end_lineno, begin, end, text, not inside)
            found.setdefault((begin, end, text), mutant)
    return sorted(found.values(), key=lambda one: (one.begin, one.end, one.operator, one.text))


def _nodes(node: ast.AST, inside: bool) -> Iterator[tuple[ast.AST, bool]]:
    """Yields the nodes that may change, and whether each is inside a function."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "pattern", "type_params"):
            continue
        deeper = inside or (name == "body" and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda))
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_left_alone(child):
                yield child, deeper
                yield from _nodes(child, deeper)


def _is_left_alone(node: ast.AST) -> bool:
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return True
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    is_strict = isinstance(node, ast.keyword) and node.arg == "strict" and ast.unparse(node.value) == "True"
    return is_text or is_strict or isinstance(node, ast.Import | ast.ImportFrom | ast.JoinedStr | ast.Assert)


def _changes(node: ast.AST) -> Iterator[tuple[str, ast.expr | ast.stmt, str]]:
    """Yields the changes of a node: operator, the node that changes, and what takes its place."""
    for operator in (_comparisons, _constants, _functions, _clauses, _conditions, _statements):
        yield from operator(node)


def _comparisons(node: ast.AST) -> Iterator[tuple[str, ast.expr, str]]:
    if isinstance(node, ast.Compare):
        for i, op in enumerate(node.ops):
            other = deepcopy(node)
            other.ops[i] = OTHER_COMPARISON[type(op)]()
            yield "comparison", node, ast.unparse(other)


def _constants(node: ast.AST) -> Iterator[tuple[str, ast.expr, str]]:
    if not isinstance(node, ast.Constant):
        return
    match node.value:
        case bool(value):
            yield "constant", node, str(not value)
        case int(value):
            yield "constant", node, str(value + 1)
        case float(value):
            yield "constant", node, repr(value * 10 if 0 < value < 0.1 else value * 1.1 if value else 1.0)


def _functions(node: ast.AST) -> Iterator[tuple[str, ast.expr, str]]:
    if isinstance(node, ast.Call):
        function = node.func
        if isinstance(function, ast.Name) and function.id in OTHER_FUNCTION:
            yield "function", function, OTHER_FUNCTION[function.id]
        elif isinstance(function, ast.Attribute) and function.attr in OTHER_FUNCTION:
            yield "function", function, f"{ast.unparse(function.value)}.{OTHER_FUNCTION[function.attr]}"


def _clauses(node: ast.AST) -> Iterator[tuple[str, ast.expr, str]]:
    if isinstance(node, ast.BoolOp):
        other = deepcopy(node)
        other.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "and/or", node, f"({ast.unparse(other)})"
        for i in range(len(node.values)):
            left = [value for j, value in enumerate(node.values) if j != i]
            text = ast.unparse(left[0] if len(left) == 1 else ast.BoolOp(node.op, left))
            yield "clause dropped", node, f"({text})"
    if isinstance(node, ast.comprehension):
        for condition in node.ifs:
            yield "clause dropped", condition, "True"


def _conditions(node: ast.AST) -> Iterator[tuple[str, ast.expr, str]]:
    conditions: list[ast.expr] = []
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        conditions = [node.test]
    elif isinstance(node, ast.comprehension):
        conditions = node.ifs
    for condition in conditions:
        # Of an equality another operator makes the contrary already.
        if not (isinstance(condition, ast.Compare) and isinstance(condition.ops[0], EQUALITIES)):
            yield "condition negated", condition, f"not ({ast.unparse(condition)})"


def _statements(node: ast.AST) -> Iterator[tuple[str, ast.stmt, str]]:
    is_store = isinstance(node, ast.Assign) and any(
        isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets
    )
    if is_store or isinstance(node, ast.Expr | ast.AugAssign | ast.Raise | ast.Continue | ast.Break | ast.Delete):
        yield "statement deleted", node, "pass"
    for block in (getattr(node, "body", []), getattr(node, "orelse", [])):
        # A return at the end of a function is its result; one in a block is a case that it decides early.
        early = block if isinstance(block, list) and isinstance(node, ast.If | ast.For | ast.While | ast.With) else []
        yield from (("statement deleted", one, "pass") for one in early if isinstance(one, ast.Return))
