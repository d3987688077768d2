"""Changes a module's code in small ways, one at a time, and counts how many of these mutants its own tests notice.

    python -m scripts.mutants                                       # the modules of `MODULES`, fourteen mutants each
    python -m scripts.mutants core/market/labels.py --count 40 --seed 1

A mutant turns one operator, comparison, number or truth value into its neighbour. Each runs in a process of its own, forked from
one that has the libraries already. Prints for each module the share killed, and every survivor: a test is missing there, or the
change makes no difference.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib.abc
import importlib.util
import os
import random
import resource
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
MARKET, ANSWERS = "tests/core/market", "tests/core/market/answers"
MODULES: Final[dict[str, tuple[str, ...]]] = {
    **{f"core/market/{name}.py": (f"{MARKET}/test_{name}.py",) for name in ("labels", "grid", "calibration")},
    "core/market/answers/table.py": (f"{ANSWERS}/test_table.py", f"{ANSWERS}/test_confidence_sequence.py"),
    "core/market/answers/scoreboard.py": tuple(f"{ANSWERS}/test_{name}.py" for name in ("scoreboard", "running_value")),
    "core/market/answers/recalibration.py": (f"{ANSWERS}/test_adaptive.py",),
    "core/market/answers/value.py": tuple(f"{ANSWERS}/test_{name}.py" for name in ("value", "running_value")),
    **{f"core/nn/{name}.py": (f"tests/core/nn/test_{name}.py",) for name in ("attention", "encoder", "feed_forward", "masks")},
    **{f"core/nn/{name}.py": (f"tests/core/nn/test_{name}.py",) for name in ("norms", "positions")},
    **{
        f"core/lecture/{name}.py": (f"tests/core/lecture/test_{name}.py",)
        for name in (
            *("activations", "attention_steps", "cost", "gradients", "moved", "norms", "optimisers"),
            *("permutation", "positions", "predictions"),
        )
    },
    "core/lecture/recurrence.py": ("tests/core/lecture/test_recurrence.py",),
}
"""Module -> its own tests."""
LIBRARIES: Final = (
    "torch",
    "pandas",
    "pyarrow.parquet",
    "scipy.stats",
    "sklearn.metrics",
    "hypothesis",
    "torch.utils.flop_counter",
)
TIMEOUT_S: Final = 180

SWAPS: Final[dict[type[ast.AST], type[ast.AST]]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.MatMult: ast.Mult, ast.Pow: ast.Mult, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.And: ast.Or, ast.Or: ast.And, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip


class Mutator(ast.NodeTransformer):
    """Counts the places that can be changed, and changes the one whose number it is given."""

    def __init__(self, wanted: int = -1) -> None:
        self.wanted, self.seen, self.changed = wanted, 0, ""

    def _here(self, node: ast.AST) -> bool:
        self.seen += 1
        if hit := self.seen - 1 == self.wanted:
            self.changed = f"line {getattr(node, 'lineno', '?')}: {ast.unparse(node)}"
        return hit

    def visit(self, node: ast.AST) -> ast.AST:
        """Change a node where it is the one, else go on below; annotations and what only mypy or a reader sees stay."""
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                node.body = [self.visit(one) for one in node.body]  # type: ignore[misc]
                node.args.defaults = [self.visit(one) for one in node.args.defaults]  # type: ignore[misc]
                return node
            case ast.ClassDef():  # not what decorates it
                node.body = [self.visit(one) for one in node.body]  # type: ignore[misc]
                return node
            case ast.AnnAssign():
                node.value = self.visit(node.value) if node.value else None  # type: ignore[assignment]
                return node
            case ast.Expr(value=ast.Constant()) | ast.Raise() | ast.If(test=ast.Name(id="TYPE_CHECKING")):
                return node
            case ast.Call(func=ast.Name(id="compose" | "N_" | "TypeVar" | "cast")):
                return node
            case ast.BinOp() | ast.AugAssign() | ast.BoolOp() if type(node.op) in SWAPS:
                if self._here(node):
                    node.op = SWAPS[type(node.op)]()  # type: ignore[assignment]
            case ast.Compare() if type(node.ops[0]) in SWAPS:
                if self._here(node):
                    node.ops[0] = SWAPS[type(node.ops[0])]()  # type: ignore[call-overload]
            case ast.UnaryOp(op=ast.USub() | ast.Not() | ast.Invert()):
                if self._here(node):
                    return node.operand
            case ast.Constant(value=bool() | int() | float()):
                if self._here(node):
                    node.value = not node.value if isinstance(node.value, bool) else node.value + 1  # type: ignore[operator]
        return self.generic_visit(node)


class Loader(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives one module's changed code to whoever imports it."""

    def __init__(self, path: Path, tree: ast.Module) -> None:
        self.path, self.tree = path, tree
        self.name = ".".join(path.relative_to(ROOT).with_suffix("").parts)

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`."""
        return importlib.util.spec_from_file_location(fullname, self.path, loader=self) if fullname == self.name else None

    def exec_module(self, module: ModuleType) -> None:
        """See `importlib.abc.Loader`."""
        exec(compile(self.tree, str(self.path), "exec"), module.__dict__)


def mutant(path: Path, number: int = -1) -> tuple[ast.Module, Mutator]:
    """A module's tree with its change of this number, and what was changed; none for -1."""
    mutator = Mutator(number)
    tree = ast.fix_missing_locations(mutator.visit(ast.parse(path.read_text(encoding="utf-8"))))
    assert isinstance(tree, ast.Module)
    return tree, mutator


def survives(path: Path, tree: ast.Module, tests: Sequence[str]) -> bool:
    """Tells whether the tests pass with this code; one that does not come to an end counts as noticed."""
    child = os.fork()
    if child == 0:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30))
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        sys.meta_path.insert(0, Loader(path, tree))
        code = 1
        with contextlib.suppress(BaseException):
            import pytest

            code = int(pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]))
        os._exit(code)
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def tried(path: Path, tests: Sequence[str], count: int, seed: int) -> Iterator[tuple[str, bool]]:
    """Each mutant of a sample: what was changed, and whether it survived.

    Raises:
        RuntimeError: where the tests fail on the code as it is.
    """
    tree, whole = mutant(path)
    if not survives(path, tree, tests):
        raise RuntimeError(f"the tests of {path} fail without a change")
    for number in sorted(random.Random(seed).sample(range(whole.seen), min(count, whole.seen))):
        tree, changed = mutant(path, number)
        yield changed.changed, survives(path, tree, tests)


def main() -> None:
    """Try and print."""
    p = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    p.add_argument("modules", nargs="*", default=list(MODULES), help=f"some of: {', '.join(MODULES)}; all where left out")
    p.add_argument("--count", type=int, default=14, help="mutants of a module")
    p.add_argument("--seed", type=int, default=0, help="of the sample")
    p.add_argument("--tests", nargs="+", help="in place of the modules' own")
    o = p.parse_args()
    os.chdir(ROOT)
    for name in LIBRARIES:
        importlib.import_module(name)
    killed = total = 0
    for module in o.modules:
        results = list(tried(ROOT / module, o.tests or MODULES[module], o.count, o.seed))
        dead = sum(not survived for _, survived in results)
        killed, total = killed + dead, total + len(results)
        print(
            f"{module}: {dead} of {len(results)}",
            *(f"    {what}" for what, survived in results if survived),
            sep="\n",
            flush=True,
        )
    print(f"killed: {killed} of {total}, {killed / max(1, total):.0%}")


if __name__ == "__main__":
    main()
