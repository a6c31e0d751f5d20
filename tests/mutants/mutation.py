"""Mutants of a Python module: one small change each, made from its syntax tree and spliced into its text.

Not mutated, because no test should pin them: docstrings, annotations, prose (a text with a space in it), what is
logged, named numbers (limits and times of a module, a field or a parameter), decorators that only cache or declare.
"""

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Add,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list"}
COMMUTATIVE = ("min", "max")
METHODS = {"startswith": "endswith", "endswith": "startswith", "partition": "rpartition", "rpartition": "partition"}
LOGS = ("log", "logger", "LOG", "_log")
DECLARING = ("cache", "lru_cache", "override", "overload", "final", "runtime_checkable", "dataclass", "wraps")
TYPING = ("TypeVar", "NewType", "cast", "ParamSpec", "TypeAliasType")
INSTEAD_OF_EMPTY = "mutant"


@dataclass(frozen=True)
class Mutant:
    """One change: the bytes `start` to `end` of `module` become `after`."""

    module: str
    where: str
    operator: str
    line: int
    start: int
    end: int
    before: str
    after: str
    nth: int = 0
    """Among the same changes of the same text in the same function."""

    @property
    def name(self) -> str:
        """An identifier that stays the same when other lines move."""
        again = f" #{self.nth + 1}" if self.nth else ""
        return f"{self.module} {self.where}: {_short(self.before)} -> {_short(self.after)}{again}"

    def applied(self, source: str) -> str:
        text = source.encode()
        return (text[: self.start] + self.after.encode() + text[self.end :]).decode()


def mutants_of(module: str, source: str) -> list[Mutant]:
    """All of them, in the order of the text."""
    known: dict[str, int] = {}
    found: list[Mutant] = []
    made = _Finder(module, source).of(ast.parse(source))
    for mutant in sorted(made, key=lambda one: (one.start, one.end, one.after)):
        nth = known.setdefault(mutant.name, 0)
        known[mutant.name] += 1
        found.append(replace(mutant, nth=nth))
    return found


class _Finder:
    """Walks a tree, and keeps track of the function around each node."""

    def __init__(self, module: str, source: str) -> None:
        self._module, self._text = module, source.encode()
        lengths = [len(line) for line in self._text.splitlines(keepends=True)]
        self._line_starts = [sum(lengths[:number]) for number in range(len(lengths) + 1)]
        self._where: list[str] = []

    def of(self, tree: ast.Module) -> Iterator[Mutant]:
        for statement in tree.body:
            yield from self._statement(statement)

    def _made(self, node: ast.AST, operator: str, after: ast.expr | str) -> Iterator[Mutant]:
        start, end = self._span(node)
        text = after if isinstance(after, str) else f"({ast.unparse(ast.fix_missing_locations(after))})"
        line, where = node.lineno, ".".join(self._where) or "<module>"  # type: ignore[attr-defined]
        yield Mutant(self._module, where, operator, line, start, end, self._text[start:end].decode(), text)

    def _span(self, node: ast.AST) -> tuple[int, int]:
        first, last = node.lineno, node.end_lineno  # type: ignore[attr-defined]
        return (
            self._line_starts[first - 1] + node.col_offset,  # type: ignore[attr-defined]
            self._line_starts[last - 1] + node.end_col_offset,  # type: ignore[attr-defined]
        )

    def _statement(self, node: ast.AST) -> Iterator[Mutant]:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield from self._definition(node)
                return
            case ast.Import() | ast.ImportFrom() | ast.Assert() | ast.Global() | ast.Nonlocal() | ast.Pass():
                return
            case ast.Expr(ast.Constant()):  # a docstring, or `...`
                return
            case ast.If(ast.Name("TYPE_CHECKING")):
                return
            case ast.Expr(ast.Call() as call) if _is_log(call):
                return
            case ast.Assign([ast.Name("__all__")]):
                return
            case ast.Assign(value=value) | ast.AnnAssign(value=value) if self._is_setting(value):
                return
        yield from self._changed_statement(node)
        yield from self._negated(node)
        yield from self._children(node)

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> Iterator[Mutant]:
        if isinstance(node, ast.ClassDef) and any("Protocol" in ast.unparse(base) for base in node.bases):
            return
        self._where.append(node.name)
        for decorator in node.decorator_list:
            if not any(word in ast.unparse(decorator).partition("(")[0].split(".") for word in DECLARING):
                start, end = self._span(decorator)
                yield replace(
                    next(self._made(decorator, "decorator", "")),
                    start=self._text.rindex(b"@", 0, start),
                    end=end,
                    before=f"@{self._text[start:end].decode()}",
                )
        if not isinstance(node, ast.ClassDef):
            for default in (*node.args.defaults, *node.args.kw_defaults):
                if default is not None and not _is_number(default):
                    yield from self._expression(default)
        for statement in node.body:
            yield from self._statement(statement)
        self._where.pop()

    def _is_setting(self, value: ast.expr | None) -> bool:
        """A number with a name, outside functions."""
        in_function = bool(self._where) and not self._where[-1].lstrip("_")[:1].isupper()
        return not in_function and value is not None and _is_number(value)

    def _changed_statement(self, node: ast.AST) -> Iterator[Mutant]:
        match node:
            case ast.Expr(ast.Call() | ast.Await()):
                yield from self._made(node, "removed call", "pass")
            case ast.Assign([ast.Attribute() | ast.Subscript()]) | ast.AugAssign() | ast.Delete():
                yield from self._made(node, "removed statement", "pass")
            case ast.Raise() if self._where:
                yield from self._made(node, "removed raise", "pass")
            case ast.Break() | ast.Continue():
                yield from self._made(node, "removed jump", "pass")
            case ast.Return(value) if value is not None and not _is_none(value):
                yield from self._made(node, "return value", "return None")
            case ast.Try(_, handlers, _, finalbody):
                for handler in handlers:
                    if not isinstance(handler.body[0], ast.Raise):
                        yield from self._block(handler.body, "exception not handled", "raise")
                if finalbody:
                    yield from self._block(finalbody, "removed finally", "pass")

    def _block(self, body: list[ast.stmt], operator: str, after: str) -> Iterator[Mutant]:
        start, end = self._span(body[0])[0], self._span(body[-1])[1]
        made = next(self._made(body[0], operator, after))
        yield replace(made, start=start, end=end, before=self._text[start:end].decode())

    def _children(self, node: ast.AST) -> Iterator[Mutant]:
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "type_params"):
                continue
            for child in value if isinstance(value, list) else [value]:
                match child:
                    case ast.stmt():
                        yield from self._statement(child)
                    case ast.expr():
                        yield from self._expression(child)
                    case ast.AST():
                        yield from self._children(child)

    def _expression(self, node: ast.expr) -> Iterator[Mutant]:
        match node:
            case ast.JoinedStr():  # positions inside are not those of the text before Python 3.12
                return
            case ast.Call(ast.Name(name)) if name in TYPING:
                return
        yield from self._changed_expression(node)
        yield from self._negated(node)
        yield from self._children(node)

    def _changed_expression(self, node: ast.expr) -> Iterator[Mutant]:
        match node:
            case ast.Compare(ops=ops):
                for place, op in enumerate(ops):
                    for other in COMPARISONS[type(op)]:
                        changed = copy.deepcopy(node)
                        changed.ops[place] = other()
                        yield from self._made(node, "comparison", changed)
            case ast.BoolOp(op, values):
                other_op = ast.Or() if isinstance(op, ast.And) else ast.And()
                yield from self._made(node, "and/or", ast.BoolOp(other_op, values))
                for place in range(len(values)):
                    rest = [value for at, value in enumerate(values) if at != place]
                    yield from self._made(
                        node, "dropped condition", rest[0] if len(rest) == 1 else ast.BoolOp(op, rest)
                    )
            case ast.UnaryOp(ast.Not(), operand):
                yield from self._made(node, "negation", operand)
            case ast.BinOp(left, op, right) if type(op) in ARITHMETIC and not (_is_text(left) or _is_no_sum(node)):
                yield from self._made(node, "arithmetic", ast.BinOp(left, ARITHMETIC[type(op)](), right))
            case ast.Constant(value):
                yield from self._constant(node, value)
            case ast.Call():
                yield from self._call(node)
            case ast.Slice(lower, upper):
                for bound in (lower, upper):
                    if bound is not None and not isinstance(bound, ast.Constant):
                        yield from self._made(bound, "slice", ast.BinOp(bound, ast.Add(), ast.Constant(1)))

    def _negated(self, node: ast.AST) -> Iterator[Mutant]:
        """Conditions that are a plain name, call or attribute; those with an operator are changed at the operator."""
        tests: list[ast.expr] = []
        match node:
            case ast.If(test) | ast.While(test) | ast.IfExp(test):
                tests = [test]
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                tests = [test for generator in node.generators for test in generator.ifs]
        for test in tests:
            if isinstance(test, ast.Name | ast.Call | ast.Attribute | ast.NamedExpr | ast.Subscript | ast.Await):
                yield from self._made(test, "negation", ast.UnaryOp(ast.Not(), test))

    def _constant(self, node: ast.Constant, value: object) -> Iterator[Mutant]:
        match value:
            case bool():
                yield from self._made(node, "constant", str(not value))
            case int() | float():
                yield from self._made(node, "constant", f"({value + 1})")
                yield from self._made(node, "constant", f"({value - 1})")
            case str() | bytes():
                space = " " if isinstance(value, str) else b" "
                empty = "" if isinstance(value, str) else b""
                if not value:
                    instead = INSTEAD_OF_EMPTY if isinstance(value, str) else INSTEAD_OF_EMPTY.encode()
                    yield from self._made(node, "constant", repr(instead))
                elif space not in value.strip():  # type: ignore[operator]
                    yield from self._made(node, "constant", repr(empty))

    def _call(self, node: ast.Call) -> Iterator[Mutant]:
        match node.func:
            case ast.Name(name) if name in NAMES:
                yield from self._made(node.func, "other function", NAMES[name])
            case ast.Attribute(value, name) if name in METHODS:
                yield from self._made(node.func, "other function", ast.Attribute(value, METHODS[name]))
        args = node.args
        if isinstance(node.func, ast.Name) and node.func.id in COMMUTATIVE:
            return
        if len(args) > 1 and not any(isinstance(arg, ast.Starred) for arg in args[:2]):
            if ast.dump(args[0]) != ast.dump(args[1]):
                changed = copy.deepcopy(node)
                changed.args[0], changed.args[1] = changed.args[1], changed.args[0]
                yield from self._made(node, "swapped arguments", changed)


def _is_log(call: ast.Call) -> bool:
    return ast.unparse(call.func).split(".")[0] in LOGS


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def _is_no_sum(node: ast.expr) -> bool:
    """Types joined with `|`, as in an alias; and a text added on the right."""
    if isinstance(node, ast.BinOp):
        return _is_text(node.right) or (
            isinstance(node.op, ast.BitOr) and _is_no_sum(node.left) and _is_no_sum(node.right)
        )
    name = ast.unparse(node).rpartition(".")[2]
    return _is_none(node) or (isinstance(node, ast.Name | ast.Attribute) and name[:1].isupper() and not name.isupper())


def _is_number(node: ast.expr) -> bool:
    """A number, several, or a calculation of numbers such as 64 * 1024."""
    match node:
        case ast.Constant(value):
            return isinstance(value, int | float) and not isinstance(value, bool)
        case ast.BinOp(left, _, right):
            return _is_number(left) and _is_number(right)
        case ast.UnaryOp(_, operand):
            return _is_number(operand)
        case ast.Tuple(elements):
            return all(map(_is_number, elements))
    return False


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 100 else f"{flat[:60]}...{flat[-37:]}"
