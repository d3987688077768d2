"""The questions of "predict first", each made from its view's state; `core.lecture.predictions` computes the answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, Literal

from core.lecture import claims, predictions
from core.lecture.attention_steps import Steps
from core.lecture.backprop import Part
from core.lecture.claims import ctc as said_of_ctc
from core.lecture.cost_growth import TOKENS
from core.lecture.norms import Norm
from core.lecture.optimisers import OPTIMISERS, SurfaceName
from core.lecture.permutation import Causal
from core.lecture.predictions import Outcome
from core.messages import translate
from core.signs import ctc, metrics
from pages.learn.amounts import amount
from pages.learn.predict import Question
from pages.shared.language import _, number, percent, significant


def _asked(
    code: str,
    outcome: Outcome | int,
    state: Sequence[Any],
    text: str,
    options: Sequence[str],
    why: str,
    then: Mapping[str, Any] | None = None,
) -> Question:
    """A question whose true option is the outcome's, or the one at this place.

    Args:
        code, state: which one it is, and the numbers and words that it was made from: they name it in every language.
    """
    answer, right = (outcome, ()) if isinstance(outcome, int) else (outcome.answer, outcome.tied)
    key = f"{code}-{blake2b(repr(tuple(state)).encode(), digest_size=6).hexdigest()}"
    return Question(key=key, text=text, options=options, answer=answer, right=right, why=why, then=then or {})


def _trend_names() -> list[str]:
    return [_("it grows"), _("it stays the same"), _("it shrinks")]


def _from_to(values: Sequence[float]) -> str:
    return f"{significant(values[0])} → {significant(values[1])}"


def projected_rows(x: Any, weights: Any, row: int, name: str) -> Question:
    """Asks how many rows of Q one number of X moves."""
    outcome = predictions.rows_changed(x, weights, row)
    options = sorted({0, 1, len(x)})
    return _asked(
        "rows",
        options.index(outcome),
        (x.tolist(), weights.tolist(), row),
        _("The first number of “{word}” in X is raised by 1. How many rows of Q change?").format(word=name),
        [number(one) for one in options],
        _("Each row of Q is the same row of X times W_Q; no other row of X enters."),
    )


def doubled_row(steps: Steps, weights: dict[str, Any], *, head: int, query: int, names: Sequence[str]) -> Question | None:
    """Asks what doubling a word does to its score with itself."""
    outcome = predictions.doubled_row(steps, weights, head=head, query=query)
    if not outcome.values[0]:
        return None
    return _asked(
        "double",
        outcome,
        (names, query, head, len(steps.q), steps.x.tolist()),
        _("Every number of “{word}” in X is doubled. How large is its score with itself then?").format(word=names[query]),
        [_("{factor} times").format(factor=number(one)) for one in outcome.options],
        _("Its query and its key double both: {values}.").format(values=_from_to(outcome.values)),
    )


def temperature(steps: Steps, weights: dict[str, Any], *, head: int, query: int, names: Sequence[str]) -> Question | None:
    """Asks how large a query's largest weight is at another temperature."""
    to = 5.0 if steps.temperature <= 0.1 else 0.1
    key, now, then, *entropies = predictions.largest_weight(steps, weights, temperature=to, head=head, query=query)
    if abs(then - now) < 0.05:  # one key to look at, or several alike
        return None
    options = sorted((now, (now + then) / 2, then))
    text = (
        _("The temperature rises to {to}: how large is the largest weight of “{query}” then?")
        if to > steps.temperature
        else _("The temperature falls to {to}: how large is the largest weight of “{query}” then?")
    )
    return _asked(
        "temperature",
        options.index(then),
        (names, query, head, len(steps.q), steps.temperature, steps.x.tolist(), steps.mask.tolist()),
        text.format(to=significant(to), query=names[query]),
        [number(one, 2) for one in options],
        _("“{key}” goes from {before} to {after}; the order of the keys stays. Entropy of the row: {entropy} nats.").format(
            key=names[key], before=number(now, 3), after=number(then, 3), entropy=_from_to(entropies)
        ),
        {"t": f"{to:g}"},
    )


def doubled_value(steps: Steps, *, head: int, key: int, names: Sequence[str]) -> Question:
    """Asks how many outputs one word's value moves."""
    options, answer = predictions.among(predictions.outputs_moved(steps, head=head, key=key), (0, 1, len(names)))
    return _asked(
        "value",
        answer,
        (names, key, head, len(steps.q), steps.temperature, steps.x.tolist(), steps.mask.tolist()),
        _("The value of “{key}” is doubled, all else stays. How many rows of Z change?").format(key=names[key]),
        [number(one) for one in options],
        _("Every query with a weight on “{key}”. No weight changes: values take no part in the scores.").format(key=names[key]),
    )


def heads(steps: Steps, weights: dict[str, Any]) -> Question:
    """Asks how many attention weights another number of heads computes."""
    now, n = len(steps.q), len(steps.x)
    to = 1 if now == 4 else 4
    options, answer = predictions.among(
        predictions.weights_counted(steps, weights, to), (n * n, 2 * n * n, 4 * n * n, n * n // 4)
    )
    return _asked(
        "heads",
        answer,
        (n, now),
        _("With heads: {now} → {to}. How many attention weights does the layer then compute in all?").format(now=now, to=to),
        [number(one) for one in options],
        _("A map of {n} × {n} weights a head. The number of parameters stays the same.").format(n=number(n)),
    )


def backwards(
    x: Any, weights: dict[str, Any], *, count: int, positions: bool, causal: Causal, names: Sequence[str]
) -> Question | None:
    """Asks what reading the words backwards changes."""
    if len(names) < 2:
        return None
    outcome = predictions.read_backwards(x, weights, heads=count, positions=positions, causal=causal)
    return _asked(
        "backwards",
        outcome,
        (names, count, positions, causal, x.tolist()),
        _("The words are read backwards, with the mask and positions chosen here. What is the output of “{word}” then?").format(
            word=names[0]
        ),
        [_("the same, and so is the mean of all words"), _("another, but the mean is the same"), _("another, and the mean too")],
        _("Largest |Z' − PZ|: {rows}; the means differ by {mean}.").format(
            rows=significant(outcome.values[0]), mean=significant(outcome.values[1])
        ),
        {"order:kept": ",".join(str(place) for place in range(len(names), 0, -1))},
    )


def still(length: int, width: int, base: float, now: int) -> Question:
    """Asks how many channels hardly change with another base."""
    to = 10_000.0 if base <= 10 else 10.0
    outcome = predictions.still_channels(length, width, base=to, now=now)
    return _asked(
        "still",
        outcome,
        (length, width, base),
        _(
            "The base goes from {base} to {to}. How many of the {width} channels hardly change over {length} positions then?"
        ).format(base=number(base), to=number(to), width=number(width), length=number(length)),
        [number(one) for one in outcome.options],
        _(
            "The longest wave is then {wave} positions; a channel stands still where the sequence is a small part of its wave."
        ).format(wave=number(outcome.values[0])),
        {"base": f"{to:.0f}"},
    )


def alike(matrix: Any, pos: int, code: str) -> Question:
    """Asks which position is most like this one."""
    outcome = predictions.most_alike(matrix, pos)
    return _asked(
        "alike",
        outcome,
        (code, matrix.shape, pos),
        _("Which position is most like position {pos}, by the dot product of their rows?").format(pos=number(pos)),
        [_("position {number}").format(number=number(one)) for one in outcome.options],
        _("The dot products: {values}.").format(values=", ".join(significant(one) for one in outcome.values)),
    )


def reach(x: Any, rnn: Any, lstm: Any, *, cell: Literal["rnn", "lstm"], seed: int, state: Sequence[Any]) -> Question:
    """Asks whether a cell's gradient reaches farther back."""
    text = (
        _("W_hh is multiplied by 2. How far back does the gradient of the RNN reach then?")
        if cell == "rnn"
        else _("3 is taken from the forget bias. How far back does the gradient of the LSTM reach then?")
    )
    outcome = predictions.reach(x, rnn, lstm, cell=cell, factor=2.0 if cell == "rnn" else 1.0, shift=-3.0, seed=seed)
    return _asked(
        f"reach-{cell}",
        outcome,
        state,
        text,
        [_("farther than now"), _("as far as now"), _("less far than now")],
        _("Steps before it falls under 1 % of its largest: {values}.").format(
            values=" → ".join(number(one) for one in outcome.values)
        ),
    )


def tripled(norm: Norm, *, level: float, sample: int, step: int, channel: int) -> Question:
    """Asks what tripling a sample does to one normalised number."""
    outcome = predictions.tripled(norm, level=level, sample=sample, step=step, channel=channel)
    return _asked(
        "tripled",
        outcome,
        (norm, level, sample, step, channel),
        _("Every number of sample {n} is multiplied by 3. What happens to the size of the normalised number read here?").format(
            n=number(sample + 1)
        ),
        _trend_names(),
        _("{values}. A norm whose group lies inside the sample divides the factor away again.").format(
            values=_from_to(outcome.values)
        ),
    )


def slope(name: str, label: str, at: float) -> Question:
    """Sign of an activation's slope elsewhere."""
    to = -at if at else -1.0
    outcome = predictions.slope_at(name, to)
    return _asked(
        "slope",
        outcome,
        (name, at),
        _("x goes to {to}. What is the slope of {name} there?").format(to=number(to, 1), name=label),
        [_("positive"), _("zero to three decimals"), _("negative")],
        _("The slope there is {value}.").format(value=significant(outcome.values[0])),
    )


def plain_softmax(shift: float) -> Question:
    """Asks what the plain softmax gives for larger scores."""
    to = shift + 100 if shift <= 20 else 0.0
    outcome = predictions.softmax_after(to)
    return _asked(
        "overflow",
        outcome,
        (shift,),
        _(
            "{to} is added to every score, instead of {now}. What does the plain form give, without subtracting the largest?"
        ).format(to=number(to), now=number(shift)),
        [_("the same weights"), _("other weights"), _("not a number")],
        _("The largest score is then {score}; from 88.7 on its exponential is infinite in float32.").format(score=number(to + 2)),
    )


def dropped(rate: float) -> Question:
    """The mean after dropout at another rate."""
    to = 0.5 if rate != 0.5 else 0.8
    outcome = predictions.dropped_mean(to)
    return _asked(
        "dropped",
        outcome,
        (rate,),
        _("The rate goes to {to}. What is the mean of 64 ones after dropout, over many draws?").format(to=number(to, 1)),
        [_("about {value}").format(value=significant(one)) for one in (1 - to, 1.0, 1 / (1 - to))],
        _("Measured over 400 draws: {value}. What survives is divided by the probability of keeping it.").format(
            value=number(outcome.values[0], 3)
        ),
    )


def deeper(layers: int, means: Sequence[Any]) -> Question:
    """Asks what more layers, or fewer, do to the last layer's gradient."""
    to = 16 if layers < 10 else 2
    first, last = ((one[0], one[-1]) if to == 16 else (one[-1], one[0]) for one in means)
    return _asked(
        "deeper",
        predictions.trend(*map(float, first)),
        (layers,),
        _("The post-norm stack goes from {few} layers to {to}. What happens to the gradient of its last layer?").format(
            few=number(18 - to), to=number(to)
        ),
        _trend_names(),
        _("Over the draws: {post} in post-norm, {pre} in pre-norm.").format(post=_from_to(first), pre=_from_to(last)),
        {"depth_layers": to},
    )


def lowest(surface: SurfaceName, *, rate: float, decay: float, clip: float | None, step: int, names: dict[str, str]) -> Question:
    """Asks which optimiser is lowest at three times the rate."""
    to = 3 * rate
    outcome = predictions.lowest_loss(surface, rate=to, decay=decay, step=step, clip=clip)
    losses = ", ".join(f"{names[name]} {significant(value)}" for name, value in zip(OPTIMISERS, outcome.values, strict=True))
    return _asked(
        "lowest",
        outcome,
        (surface, rate, decay, clip, step),
        _("The learning rate is tripled to {to}. Which optimiser has the lowest loss after {step} steps?").format(
            to=significant(to), step=number(step)
        ),
        [names[name] for name in OPTIMISERS],
        _("Losses: {losses}.").format(losses=losses),
    )


def schedule(rates: dict[str, Any], names: dict[str, str], state: Sequence[Any]) -> Question:
    """Asks which schedule is highest near the end."""
    at = 900
    outcome = predictions.highest_rate(rates, at)
    values = ", ".join(f"{names[code]} {significant(value)}" for code, value in zip(rates, outcome.values, strict=True))
    return _asked(
        "schedule",
        outcome,
        state,
        _("Which schedule has the highest rate at step {at}?").format(at=number(at)),
        [names[code] for code in rates],
        _("Rates: {values}.").format(values=values),
    )


def tokens_doubled(tokens: int, width: int, count: int) -> Question:
    """By how much a layer's cost grows as T doubles."""
    outcome = predictions.doubled_tokens(tokens, width, count)
    return _asked(
        "tokens",
        outcome,
        (tokens, width, count),
        _("T doubles to {t}. By what factor do the layer's multiply-adds grow?").format(t=number(2 * tokens)),
        [_("less than 2.5"), _("2.5 to 3.5"), _("more than 3.5")],
        _("By {factor}: only the scores grow with T².").format(factor=significant(outcome.values[0])),
        {"layer_t": str(2 * tokens)} if 2 * tokens in TOKENS else {},
    )


def heads_doubled(tokens: int, width: int, count: int) -> Question:
    """By how much the maps' memory grows as the heads double."""
    outcome = predictions.doubled_heads(tokens, width, count)
    return _asked(
        "maps",
        outcome,
        (tokens, width, count),
        _("Twice as many heads: {count}. By what factor does the memory of the attention maps grow?").format(
            count=number(2 * count)
        ),
        [number(one) for one in outcome.options],
        _("{before} → {after} numbers: one map of T × T a head.").format(
            before=number(outcome.values[0]), after=number(outcome.values[1])
        ),
    )


def costliest_model(names: Sequence[str], macs: Sequence[int]) -> Question:
    """Asks which model has the most multiply-adds."""
    outcome = predictions.largest(macs)
    return _asked(
        "models",
        outcome,
        tuple(macs),
        _("One sample each. Which of these models takes the most multiply-adds?"),
        list(names),
        _("It takes {amount}.").format(amount=amount(outcome.values[0])),
    )


def gradient(part: Part, name: str, *, rows: int, seed: int, first: float, causal: bool) -> Question:
    """Asks what moving the input does to the outlined entry."""
    to = -first if first else 1.0
    outcome = predictions.moved_gradient(part, name, rows=rows, seed=seed, first=first, to=to, causal=causal)
    return _asked(
        "gradient",
        outcome,
        (part, name, rows, seed, first, causal),
        _("The input's top left number goes from {first} to {to}. What happens to the outlined entry of ∇{name}?").format(
            first=number(first, 1), to=number(to, 1), name=name
        ),
        [_("it rises"), _("it stays the same"), _("it falls")],
        f"{_from_to(outcome.values)}.",
    )


def next_look(cross: Any, step: int, source: Sequence[str], symbol: str) -> Question | None:
    """Asks which character the next symbol looks at most."""
    if step + 1 >= len(cross):
        return None
    places, answer = predictions.looked_at(cross[step + 1])
    return _asked(
        "look",
        answer,
        ("".join(source), step, [round(float(one), 4) for one in cross[step + 1]]),
        _("The next symbol of the answer is “{symbol}”. Which character of the text does it look at most?").format(symbol=symbol),
        [_("{number}: “{character}”").format(number=number(one + 1), character=source[one]) for one in places],
        _("Its weight: {value}.").format(value=percent(float(cross[step + 1][places[answer]]))),
    )


def paths(target: Sequence[int], frames: int, *, skip: bool) -> Question:
    """Asks how many valid paths one more frame gives."""
    now, then = (ctc.count_paths(target, count, skip=skip) for count in (frames, frames + 1))
    (why,) = claims.sentences_of(said_of_ctc.paths(now, then, ctc.frames_needed(target, skip=skip)))
    options, answer = predictions.among(then, (now, now + 1, 2 * now))
    return _asked(
        "paths",
        answer,
        (list(target), frames, skip),
        _("Frames: {frames}, valid paths of the target: {now}. How many paths over one frame more?").format(
            now=number(now), frames=number(frames)
        ),
        [number(one) for one in options],
        translate(why),
    )


def last_word(references: Sequence[Sequence[str]], hypotheses: Sequence[Sequence[str]], place: int) -> Question | None:
    """Asks what dropping the hypothesis's last word does to the rate."""
    if not hypotheses[place]:
        return None
    shorter = [list(one[:-1]) if index == place else list(one) for index, one in enumerate(hypotheses)]
    lists = [list(one) for one in references]
    now, then = (metrics.word_errors(lists, [list(each) for each in one]).rate for one in (hypotheses, shorter))
    if now is None or then is None:
        return None
    return _asked(
        "word",
        predictions.trend(now, then),
        (lists, [list(one) for one in hypotheses], place),
        _("The last word of the hypothesis, “{word}”, is dropped. What happens to the word error rate?").format(
            word=hypotheses[place][-1]
        ),
        [_("it rises"), _("it stays the same"), _("it falls")],
        f"{percent(now, 1)} → {percent(then, 1)}.",
    )
