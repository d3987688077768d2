"""Find the error in the paper: ten places where the documents contradict themselves, each with the tools that show it.

A finding is computed here, from the lesson's own functions; a test computes it in another way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final

import numpy as np
import torch

from core.lecture import attention_steps, cost, cost_count, norms, permutation, positions, tokens, uses
from core.messages import Message, compose
from core.models.tlob import BTC
from core.signs import ctc


@dataclass(frozen=True)
class Tool:
    """A page of the app with its dials set: the address, the dials' values, and what to do there."""

    url: str
    query: Mapping[str, str]
    task: Message


@dataclass(frozen=True, kw_only=True)
class Case:
    """One case.

    Attributes:
        code: in the link and of its notes. decision: its number in DESIGN. document, section: where the claim stands.
        claim: what the document says. formula: the same, LaTeX. right: as the code has it.
        tools: where to test it. find: what comes out.
    """

    code: str
    decision: str
    document: str
    section: str
    claim: Message
    formula: str
    right: str
    tools: tuple[Tool, ...]
    find: Callable[[], Message] = field(repr=False)


WIDTH: Final = 32
LENGTH: Final = 64
WORDS: Final = ("the", "dog", "bites", "the", "man")


def exponent() -> Message:
    """Longest waves and still channels, by the formula and by the listing."""
    waves = [float(positions.wavelengths(WIDTH, doubled_exponent=doubled)[-1]) for doubled in (False, True)]
    still = [positions.still_channels(positions.encoding(LENGTH, WIDTH, doubled_exponent=doubled)) for doubled in (False, True)]
    return compose(
        "The listing's longest wave is {listed:,.0f} positions long, the formula's {wave:,.0f}: the base is squared. Over "
        "{length} positions {many} of {width} channels hardly change instead of {few}.",
        listed=waves[1], wave=waves[0], length=LENGTH, many=still[1], width=WIDTH, few=still[0],
    )  # fmt: skip


def root() -> Message:
    """Growth of the output as every feature doubles, with the root and without."""
    x = np.array([-0.5, 0.9, -1.4, 3.0])
    once, twice = uses.without_root(x), uses.without_root(2 * x)
    return compose(
        "Double every feature: the norm with the root gives {kept:.2f} times what it gave, the notebook's {halved:.2f} times. "
        "It does not take the size away, it turns it round.",
        kept=float(twice[0][0] / once[0][0]), halved=float(twice[1][0] / once[1][0]),
    )  # fmt: skip


def row_sum() -> Message:
    """Sum of a row of weights over its own keys, and what is left if the sum is to run to 512."""
    steps = attention_steps.steps(tokens.embed(WORDS, 4), attention_steps.random_weights(4))
    scores = np.zeros(512)
    scores[: len(WORDS)] = steps.scaled[0, 0]
    padded = np.exp(scores) / np.exp(scores).sum()
    return compose(
        "A row has one weight a word: {count}, which sum to {whole:.3f}. Over 512 entries, those without a word at score 0, "
        "the words would keep {left:.3f}. 512 is the width of a vector, not the length of the sentence.",
        count=len(WORDS), whole=float(steps.weights[0, 0].sum()), left=float(padded[: len(WORDS)].sum()),
    )  # fmt: skip


def parameters() -> Message:
    """Parameters of the listing and of the table's layer, counted from the built models."""
    double, lean = (cost_count.count(config, 0).all_parameters for config in (BTC, cost_count.setups()["tlob-lean"].config))
    return compose(
        "The listing has {double:,} parameters, as its layers hold q, k and v twice; the lean layer with one of each has "
        "{lean:,}. The table's 883,275 is neither: it is {off} above the lean layer's.",
        double=double, lean=lean, off=883_275 - lean,
    )  # fmt: skip


def operations() -> Message:
    """Multiply-adds of one product for a batch, and of everything for a sample."""
    product, whole = cost.tlob_score_product(BTC, 32), cost_count.count(BTC, 0).all_macs
    return compose(
        "{product:.1f} M are the multiply-adds of Q times K alone, for 32 samples. All products of one sample take {whole:.1f} "
        "M, so the batch takes {batch:.2f} G multiply-adds, {times:.0f} times as many, and twice that in FLOPs.",
        product=product / 1e6, whole=whole / 1e6, batch=32 * whole / 1e9, times=32 * whole / 109e6,
    )  # fmt: skip


def invariance() -> Message:
    """Deviations of rows and of their mean as the words are turned round."""
    x, weights = tokens.embed(WORDS, 4), attention_steps.random_weights(4)
    shuffle = permutation.shuffle(x, weights, list(range(len(WORDS)))[::-1])
    unmoved = float(np.abs(shuffle.after.joined - shuffle.before.joined).max())
    return compose(
        "Turn the sentence round: Z' differs from Z by up to {unmoved:.2f}, and from PZ by {rows:.1e}. The rows move along, "
        "which is equivariance; only their mean stays, to {pool:.1e}.",
        unmoved=unmoved, rows=shuffle.rows, pool=shuffle.pool,
    )  # fmt: skip


def residual() -> Message:
    """Root mean square after twelve residuals in each section's form."""
    start = torch.randn(8, WIDTH, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    mix = torch.randn(WIDTH, WIDTH, generator=torch.Generator().manual_seed(1), dtype=torch.float64) / WIDTH**0.5
    sizes = []
    for form in (lambda x: norms.layer_norm(x + x @ mix), lambda x: x + norms.layer_norm(x @ mix)):
        x = start
        for _ in range(12):
            x = form(x)
        sizes.append(float(x.square().mean().sqrt()))
    return compose(
        "After twelve layers the numbers of section 9's form have size {post:.2f}, those of section 7's {other:.2f}: the two "
        "sections write different networks.",
        post=sizes[0], other=sizes[1],
    )  # fmt: skip


def skipped() -> Message:
    """Alignments of two labels in four frames, with the skip over a blank and without."""
    whole, without = (ctc.count_paths((1, 2), 4, skip=skip) for skip in (True, False))
    return compose(
        "Two different labels have {whole} alignments over four frames; the document's recursion visits {without} of them. "
        "What is left out is every path that goes from one label to the next without a blank.",
        whole=whole, without=without,
    )  # fmt: skip


def frames() -> Message:
    """Alignments of three equal labels in as many frames, and the frames that they need."""
    target = (1, 1, 1)
    return compose(
        "Three equal labels have {paths} alignments over three frames, although U = T. A blank must stand between equal "
        "neighbours: they need {needed} frames.",
        paths=ctc.count_paths(target, len(target)), needed=ctc.frames_needed(target),
    )  # fmt: skip


def mask() -> Message:
    """Entries that are no number if the mask is multiplied and infinity times its complement taken away."""
    window = attention_steps.build_mask("window", 5, window=1).astype(float)
    with np.errstate(invalid="ignore"):
        written = np.ones((5, 5)) * window - np.inf * (1 - window)
    return compose(
        "Computed as it is written, {bad} of {all} scores are no number: all those inside the window, since infinity times 0 "
        "is none. A mask that puts minus infinity in place of a score leaves {good} of them as they are.",
        bad=int(np.isnan(written).sum()), all=window.size, good=int(window.sum()),
    )  # fmt: skip


CASES: Final = (
    Case(
        code="exponent", decision="D11", document="vit-report", section="2.1", find=exponent,
        claim=compose("The listing of positional encoding counts i over even channels, and doubles it once more."),
        formula=r"PE_{pos,i} = \sin\frac{pos}{10000^{2i/D}},\quad i = 0, 2, 4, \dots",
        right=r"PE_{pos,2i} = \sin\frac{pos}{10000^{2i/D}},\quad i = 0, 1, 2, \dots",
        tools=(
            Tool("positions", {"part": "exponent"}, compose("Compare the two matrices; how many channels stand still?")),
            Tool("positions", {"part": "waves", "break": "exponent"}, compose("Break the line and look at the waves.")),
        ),
    ),
    Case(
        code="root", decision="D22", document="attention-notebook", section="Layer normalization", find=root,
        claim=compose("The norm divides by the variance."),
        formula=r"\hat x_j = \frac{x_j - \mu_j}{\sigma_j^2 + \varepsilon}",
        right=r"\hat x_j = \frac{x_j - \mu_j}{\sqrt{\sigma_j^2 + \varepsilon}}",
        tools=(
            Tool("norms", {"part": "without_root"}, compose("Multiply all features by 10: what happens to either bar?")),
            Tool("norms", {"part": "norms", "break": "variance"}, compose("Break the line: which check turns yellow?")),
        ),
    ),
    Case(
        code="row_sum", decision="D22", document="attention-notebook", section="Self-attention", find=row_sum,
        claim=compose("A row of attention weights sums to 1 over 512 entries."),
        formula=r"\sum_{j=1}^{512} A_{ij} = 1", right=r"\sum_{j=1}^{T} A_{ij} = 1",
        tools=(Tool("attention-steps", {"part": "softmax"}, compose("Count the columns of A, and add a word.")),),
    ),
    Case(
        code="parameters", decision="D4", document="tlob-architecture", section="6.1", find=parameters,
        claim=compose("The network of the listing has 883,275 parameters."),
        formula=r"160 + 1640 + 5120 + \dots = 883\,275", right=r"\text{listing: } 1\,173\,611 \qquad \text{lean: } 883\,179",
        tools=(
            Tool("cost", {"part": "modules", "setup": "tlob"}, compose("Which module holds its projections twice?")),
            Tool("cost", {"part": "claims"}, compose("Compare every number of the documents with a count.")),
        ),
    ),
    Case(
        code="operations", decision="D7", document="tlob-architecture", section="6.3", find=operations,
        claim=compose("A forward pass costs about 109 M FLOPs for a batch of 32."),
        formula=r"\approx 109\,\mathrm{M\ FLOPs}\ (B = 32)",
        right=r"32 \cdot 4\,(128^2 \cdot 40 + 40^2 \cdot 128) = 110.1\,\mathrm{M}",
        tools=(
            Tool("cost", {"part": "claims"}, compose("Which product has this number of multiply-adds?")),
            Tool("cost", {"part": "growth", "break": "one_product"}, compose("Leave one product out and see who notices.")),
        ),
    ),
    Case(
        code="invariance", decision="D21", document="attention-notebook", section="3. Output", find=invariance,
        claim=compose("Self-attention is permutation invariant: the order of the words does not matter to its output."),
        formula=r"Z' = PZ \;\Rightarrow\; \text{invariant}",
        right=r"Z' = PZ:\ \text{equivariant},\qquad \bar Z' = \bar Z:\ \text{invariant}",
        tools=(
            Tool("permutation", {"part": "rows"}, compose("Is Z' equal to Z, or to PZ?")),
            Tool("permutation", {"part": "pool"}, compose("What does not change?")),
            Tool("permutation", {"part": "table"}, compose("Add positions or a mask: which property survives?")),
        ),
    ),
    Case(
        code="residual", decision="D15", document="iiga-equations", section="7.1; 9.1", find=residual,
        claim=compose("Section 7 normalises the sub-layer and adds; section 9 adds and normalises. Both are one layer."),
        formula=r"x + \mathrm{LayerNorm}(\mathrm{Sublayer}(x)) \;=\; \mathrm{LayerNorm}(x + \mathrm{Sublayer}(x))",
        right=r"X_{out} = \mathrm{LayerNorm}(X + \mathrm{Sublayer}(X))",
        tools=(Tool("norms", {"part": "depth"}, compose("Where does the norm stand, and what do activations do with depth?")),),
    ),
    Case(
        code="skipped", decision="D17", document="iiga-equations", section="11.7", find=skipped,
        claim=compose("A state of CTC is reached from itself and from the one before."),
        formula=r"\alpha_{t,s} = (\alpha_{t-1,s} + \alpha_{t-1,s-1})\,P(y'_s)_t",
        right=r"\alpha_{t,s} = (\alpha_{t-1,s} + \alpha_{t-1,s-1} "
        r"+ [y'_s \ne \varnothing,\, y'_s \ne y'_{s-2}]\,\alpha_{t-1,s-2})\,P(y'_s)_t",
        tools=(
            Tool(
                "ctc", {"show": "alpha", "noskip": "true"},
                compose("The skip is off: switch it on and see which paths come back."),
            ),
        ),
    ),
    Case(
        code="frames", decision="D19", document="iiga-equations", section="11.1", find=frames,
        claim=compose("A sentence fits where it has no more labels than frames."),
        formula=r"U \le T", right=r"T \ge U + \#\{i : y_i = y_{i+1}\}",
        tools=(Tool("ctc", {}, compose("Sign the same gloss twice: how many frames does it need?")),),
    ),
    Case(
        code="mask", decision="D20", document="iiga-equations", section="9.2", find=mask,
        claim=compose("The window is applied by a product with the mask, less infinity times its complement."),
        formula=r"S' = S \odot M - \infty\,(1 - M)", right=r"S_{ij} = -\infty\ \text{for}\ |i - j| > \text{window}",
        tools=(
            Tool("attention-steps", {"part": "scores", "mask": "window"}, compose("Look at the scores inside of the window.")),
            Tool(
                "attention-steps", {"part": "softmax", "mask": "window", "break": "late_mask"},
                compose("Mask after the softmax: what do rows sum to?"),
            ),
        ),
    ),
)  # fmt: skip


@cache
def finding(code: str) -> Message:
    """The finding of a case, computed once."""
    return next(one for one in CASES if one.code == code).find()
