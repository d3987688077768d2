"""Mutation checks as a lesson: one line of the code is broken, the page is computed with it, and a named test fails.

The real functions stay as they are. `Rebound` copies those that reach the broken one, for one view of one reader, so that nobody
else meets a broken number. Fragments and their replacements stand in `BREAKS`: nothing that a reader types is ever run.
"""

from __future__ import annotations
import __future__

import copy
import functools
import importlib
import inspect
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any, Final

from torch import nn

from core.lecture.sources import Line, function, line_of
from core.messages import Message, compose

OURS: Final = ("core.lecture", "core.nn", "core.models", "tests.", "__main__")
"""Modules whose functions are copied where they reach a broken one; a page's own is `__main__`."""


@dataclass(frozen=True)
class Break:
    """One broken line.

    Attributes:
        code: in the link. url: of the lesson. parts: those that compute with the line. title: what is wrong.
        place: "module:function" or "module:Class.method". old: a fragment that the function has once. new: in its place.
        test: "file::function" that fails with it. shows: dials at which it shows, where it does not as the page opens.
    """

    code: str
    url: str
    parts: tuple[str, ...]
    title: Message
    place: str
    old: str
    new: str
    test: str
    shows: Mapping[str, str] = field(default_factory=dict)

    @property
    def line(self) -> Line:
        """The line as it is."""
        return line_of(self.place, self.old)

    @property
    def broken(self) -> str:
        """The line as it runs here."""
        return self.line.text.replace(self.old, self.new)


def broken_function(one: Break) -> FunctionType:
    """The function with the fragment replaced.

    Raises:
        ValueError: where the function does not have the fragment exactly once.
    """
    original = function(one.place)
    source = textwrap.dedent(inspect.getsource(original))
    if source.count(one.old) != 1:
        raise ValueError(f"{one.place} has {one.old!r} {source.count(one.old)} times: a break names what it has once")
    flags = __future__.annotations.compiler_flag
    names = dict(original.__globals__)
    exec(compile(source.replace(one.old, one.new), f"<{one.code}>", "exec", flags=flags, dont_inherit=True), names)
    made = names[original.__name__]
    assert isinstance(made, FunctionType)
    return made


class Rebound:
    """Functions, methods, tables and modules as they are with one line broken; what does not reach it is itself."""

    def __init__(self, one: Break) -> None:
        module, _, path = one.place.partition(":")
        self._original: Any = getattr(importlib.import_module(module), path.partition(".")[0])
        made: Any = broken_function(one)
        if isinstance(self._original, type):
            made = type(self._original.__name__, (self._original,), {made.__name__: made})
        self._known: dict[int, Any] = {id(self._original): made}

    def of(self, thing: Any) -> Any:
        """This with the line broken."""
        if id(thing) in self._known:
            return self._known[id(thing)]
        if isinstance(thing, ModuleType):
            return _Module(thing, self) if _ours(thing.__name__) else thing
        if isinstance(thing, partial):
            return partial(self.of(thing.func), *map(self.of, thing.args), **{k: self.of(v) for k, v in thing.keywords.items()})
        if isinstance(thing, dict):
            return {key: self.of(value) for key, value in thing.items()} if any(map(callable, thing.values())) else thing
        if not _ours(getattr(thing, "__module__", None) or ""):
            return thing
        if isinstance(thing, type):
            return self._class(thing)
        if isinstance(thing, FunctionType):
            return self._function(thing)
        return self._fresh(self.of(thing.__wrapped__)) if callable(thing) and hasattr(thing, "__wrapped__") else thing

    def network(self, network: nn.Module) -> nn.Module:
        """A copy that computes with the line broken."""
        made = copy.deepcopy(network)
        for layer in made.modules():
            layer.__class__ = self.of(type(layer))
        return made

    def _fresh(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A cached function without its cache; the networks of what it makes are rebound."""

        @functools.wraps(function)
        def made(*given: Any, **named: Any) -> Any:
            thing = function(*given, **named)
            for name, value in vars(thing).items() if hasattr(thing, "__dict__") else ():
                if isinstance(value, nn.Module):
                    setattr(thing, name, self.network(value))
            return thing

        return made

    def _function(self, thing: FunctionType) -> FunctionType:
        names, cells = dict(thing.__globals__), tuple(CellType() for _ in thing.__closure__ or ())
        made = FunctionType(thing.__code__, names, thing.__name__, thing.__defaults__, cells)
        made.__kwdefaults__, made.__module__, made.__dict__ = thing.__kwdefaults__, thing.__module__, dict(thing.__dict__)
        self._known[id(thing)] = made
        for name in _mentioned(thing.__code__) & names.keys():
            names[name] = self.of(names[name])
        for mine, cell in zip(cells, thing.__closure__ or (), strict=True):
            mine.cell_contents = self.of(cell.cell_contents)
        return made

    def _class(self, thing: type) -> type:
        """A subclass whose methods are rebound: of a page's own class, and of one that names what is broken."""
        self._known[id(thing)] = thing
        methods = {name: made for name, member in vars(thing).items() if (made := self._member(member)) is not None}
        if not methods or not (thing.__module__ == "__main__" or any(map(self._names_it, vars(thing).values()))):
            return thing
        made = type(thing.__name__, (thing,), methods)
        self._known[id(thing)] = made
        return made

    def _member(self, member: Any) -> Any:
        if isinstance(member, property):
            return property(self.of(member.fget))
        if isinstance(member, cached_property):
            return cached_property(self.of(member.func))
        return self.of(member) if isinstance(member, FunctionType) and not member.__name__.startswith("__") else None

    def _names_it(self, member: Any) -> bool:
        if not isinstance(member, FunctionType):
            return False
        names = _mentioned(member.__code__)
        known = [member.__globals__.get(name) for name in names]
        known += [
            getattr(one, name, None) for one in known if isinstance(one, ModuleType) and _ours(one.__name__) for name in names
        ]
        return any(one is self._original for one in known)


class _Module:
    """A module whose functions are rebound where they are asked for."""

    def __init__(self, module: ModuleType, rebound: Rebound) -> None:
        self._module, self._rebound = module, rebound

    def __getattr__(self, name: str) -> Any:
        return self._rebound.of(getattr(self._module, name))


def _ours(module: str) -> bool:
    return module.startswith(OURS)


@functools.lru_cache(maxsize=4096)
def _mentioned(code: CodeType) -> frozenset[str]:
    """Names that a function looks up, those of the functions inside it included."""
    inner = (_mentioned(one) for one in code.co_consts if isinstance(one, CodeType))
    return frozenset(code.co_names).union(*inner)


_ATTENTION: Final = "core.nn.attention:scaled_dot_product_attention"
_STEPS: Final = "tests/core/lecture/test_attention_steps.py::test_every_step_follows_from_the_one_before"
_LOWER: Final = ("softmax", "sum", "heads")
_PERMUTATION: Final = "tests/core/lecture/test_permutation.py::"
_NORMS: Final = "tests/core/lecture/test_norms.py::"
_GRADIENTS: Final = "tests/core/lecture/test_gradients.py::"
_TRANSFORMER: Final = "tests/core/models/test_transformer.py::"
_DATES: Final = "tests/core/lecture/test_dates.py::"
_OPTIMISERS: Final = "tests/core/lecture/test_optimisers.py::"

BREAKS: Final = (
    Break("root", "attention-steps", _LOWER, compose("The root of d_k is missing"), _ATTENTION, "math.sqrt(q.shape[-1])",
          "q.shape[-1]", _STEPS),
    Break("late_mask", "attention-steps", _LOWER, compose("The mask comes after the softmax"), _ATTENTION,
          "scores.masked_fill(~mask, -torch.inf)", "scores", _STEPS, {"mask": "causal"}),
    Break("columns", "attention-steps", _LOWER, compose("The softmax runs over the queries"), _ATTENTION, "softmax(dim=-1)",
          "softmax(dim=-2)", _STEPS),
    Break("transposed", "attention-steps", ("scores", "softmax"), compose("The product of Q and K is transposed"),
          "core.lecture.attention_steps:raw_scores", "q @ np.swapaxes(k, -1, -2)", "k @ np.swapaxes(q, -1, -2)", _STEPS),
    Break("split", "attention-steps", ("scores", *_LOWER), compose("Heads are cut from the wrong axis"),
          "core.lecture.attention_steps:split_heads", "x.reshape(len(x), heads, -1).transpose(1, 0, 2)",
          "x.reshape(heads, len(x), -1)",
          "tests/core/lecture/test_attention_steps.py::test_the_steps_end_where_pytorchs_layer_ends", {"heads": "2"}),
    Break("inverse", "permutation", ("rows", "maps"), compose("P moves columns instead of rows"),
          "core.lecture.permutation:permutation_matrix", "np.eye(len(order))[list(order)]", "np.eye(len(order))[:, list(order)]",
          f"{_PERMUTATION}test_the_permutation_matrix_moves_rows"),
    Break("half", "permutation", ("maps",), compose("Only the queries of the map are moved"),
          "core.lecture.permutation:permute_map", "p @ weights @ p.T", "p @ weights",
          f"{_PERMUTATION}test_softmax_commutes_with_a_permutation"),
    Break("first_row", "permutation", ("rows", "pool"), compose("Pooling takes the first row"), "core.lecture.permutation:pooled",
          "z.mean(axis=0)", "z[0]", f"{_PERMUTATION}test_pytorchs_layer_is_equivariant_too"),
    Break("exponent", "positions", ("matrix", "waves", "similarity", "rotation"),
          compose("The exponent is doubled, as in the report (D11)"), "core.nn.positions:sinusoidal_encoding",
          "even * (2.0 if doubled_exponent else 1.0) / width", "even * 2.0 / width",
          "tests/core/lecture/test_positions.py::test_the_matrix_is_the_documents_formula"),
    Break("sines", "positions", ("matrix", "waves", "similarity", "rotation"), compose("Every channel is a sine"),
          "core.nn.positions:sinusoidal_encoding", "torch.cos(angle)", "torch.sin(angle)",
          "tests/core/lecture/test_positions.py::test_the_matrix_is_the_documents_formula"),
    Break("turn", "positions", ("rotation",), compose("The rotation turns the other way"),
          "core.lecture.positions:rotation_block", "angle = shift", "angle = -shift",
          "tests/core/lecture/test_positions.py::test_a_quarter_turn"),
    Break("variance", "norms", ("norms",), compose("The root of the variance is missing (D22)"), "core.lecture.norms:standardise",
          "torch.sqrt(variance + epsilon)", "(variance + epsilon)", f"{_NORMS}test_each_norm_is_pytorchs"),
    Break("level", "norms", ("norms",), compose("The mean is not taken away"), "core.lecture.norms:standardise",
          "return (x - mean)", "return x", f"{_NORMS}test_each_norm_is_pytorchs"),
    Break("unscaled", "norms", ("dropout",), compose("What is kept is not divided by p"), "core.lecture.norms:dropout",
          "x / keep", "x", f"{_NORMS}test_dropout_keeps_the_expectation"),
    Break("no_tanh", "recurrent", ("rnn",), compose("The state has no tanh"), "core.models.recurrent:rnn_hidden", "torch.tanh(",
          "(", "tests/core/lecture/test_recurrence.py::test_our_cells_equal_pytorchs_on_any_weights"),
    Break("forgotten", "recurrent", ("lstm",), compose("The forget gate is left out"), "core.models.recurrent:lstm_cell",
          "f * c +", "c +", "tests/core/lecture/test_recurrence.py::test_our_cells_equal_pytorchs_on_any_weights"),
    Break("lone", "backprop", ("softmax", "attention"), compose("A softmax's gradient forgets the other scores"),
          "core.lecture.gradients:softmax_gradient", "(grad - (grad * weights).sum(dim=-1, keepdim=True))", "grad",
          f"{_GRADIENTS}test_softmax"),
    Break("outer", "backprop", ("linear",), compose("The weights' gradient is transposed"),
          "core.lecture.gradients:linear_gradient", "x.T @ grad", "(x.T @ grad).T",
          f"{_GRADIENTS}test_the_pages_examples_agree_with_autograd"),
    Break("slope", "backprop", ("layer_norm",), compose("A norm's gradient leaves the variance out"),
          "core.lecture.gradients:layer_norm_gradient", " - standard * slope", "", f"{_GRADIENTS}test_layer_norm"),
    Break("residual", "backprop", ("layer",), compose("The residual's gradient is forgotten"),
          "core.lecture.gradients:encoder_layer_gradient", "first.x + attention.query", "attention.query",
          f"{_GRADIENTS}test_a_whole_encoder_layer"),
    Break("correction", "optimisers", ("surface",), compose("Adam's bias is not corrected"), "core.lecture.optimisers:Adam.step",
          "self.corrected is not False", "False", f"{_OPTIMISERS}test_without_correction_the_first_step_is_longer"),
    Break("uphill", "optimisers", ("surface",), compose("SGD walks uphill"), "core.lecture.optimisers:SGD.step", "theta - rate",
          "theta + rate", f"{_OPTIMISERS}test_a_walk_is_pytorchs"),
    Break("each_entry", "optimisers", ("clipping",), compose("Each entry is clipped alone"),
          "core.lecture.optimisers:clip_by_norm", "gradient * min(1.0, largest / norm)", "np.clip(gradient, -largest, largest)",
          f"{_OPTIMISERS}test_clipping_is_pytorchs"),
    Break("one_product", "cost", ("growth",), compose("AV is not counted"), "core.lecture.cost:score_macs",
          "2 * queries * keys * width", "queries * keys * width",
          "tests/core/lecture/test_cost.py::test_one_layers_terms_are_pytorchs_own_layers"),
    Break("future", "transformer", ("decode",), compose("The causal mask is missing: a symbol sees those after it"),
          "core.nn.masks:causal_mask", ".tril()", "", f"{_TRANSFORMER}test_a_later_target_symbol_changes_nothing_before_it"),
    Break("maps_root", "transformer", ("decode",), compose("The root of d_k is missing"), _ATTENTION, "math.sqrt(q.shape[-1])",
          "q.shape[-1]", f"{_TRANSFORMER}test_the_maps_are_there_by_name_and_change_nothing"),
    Break("cross_residual", "transformer", ("decode", "beam"), compose("The residual around cross-attention is missing"),
          "core.models.transformer:DecoderLayer.forward", "self.norm2(y + self.dropout(a2))", "self.norm2(self.dropout(a2))",
          f"{_TRANSFORMER}test_it_equals_pytorchs"),
    Break("no_places", "transformer", ("decode", "beam"), compose("Neither text nor answer has positions"),
          "core.models.transformer:Transformer._embed", "self.positions(self.embedding(symbols))", "self.embedding(symbols)",
          f"{_TRANSFORMER}test_it_equals_pytorchs"),
    Break("last_symbol", "transformer", ("beam",), compose("The beam ranks by the last symbol alone"),
          "core.lecture.decoding:beam", "-one.score)[:width]", "-one.log_probabilities[-1])[:width]",
          f"{_DATES}test_a_wide_enough_beam_is_exhaustive_search"),
    Break("first_norm", "transformer", ("layer",), compose("The encoder's first norm is left out"),
          "core.lecture.decoding:inside_encoder_layer", "chosen.norm1(x + a)", "x + a",
          f"{_DATES}test_inside_a_layer_leads_to_its_output"),
    Break("wrong_query", "transformer", ("layer",), compose("Cross-attention reads the answer's input instead of N1"),
          "core.lecture.decoding:inside_decoder_layer", "chosen.cross_attention(n1, memory", "chosen.cross_attention(y, memory",
          f"{_DATES}test_inside_a_layer_leads_to_its_output", {"tf_side": "decoder"}),
)  # fmt: skip
"""Of every lesson of ours but CTC and metrics, whose pages are the signs'."""


@cache
def of_part(url: str, part: str) -> tuple[Break, ...]:
    """The breaks that a part offers."""
    return tuple(one for one in BREAKS if one.url == url and part in one.parts)
