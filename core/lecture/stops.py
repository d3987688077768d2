"""The lecture of 45 minutes: nine stops, each of some views, and what a view draws and says at each place of its dial.

All numbers are in assets/lecture.json, so that a stop is there at once and without any network; `lab/bundle/lecture.py` of commit
5e24c7a6 made it. A sentence is computed from what the view draws. Panels are drawn by assets/scripts/lecture.js, by their `kind`.
"""

from __future__ import annotations

import json
import math
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Final

from core.messages import Message, compose

FILE: Final = Path(__file__).resolve().parents[2] / "assets" / "lecture.json"
TEMPERATURES: Final = (0.2, 0.5, 1.0, 1.5, 2.0)
WRITTEN_AT: Final = (0, 2, 4)
"""Places among the temperatures of the texts that are compared."""
LOOKING: Final = "it"
"""The token whose look is taken apart, and the one that it finds."""
FOUND: Final = "cat"
PAIR: Final = 4
"""Pair of channels whose rotation is drawn, of the writer's 32."""
PLACES: Final = (9, 2)
SIZES: Final = (0.0, 0.01, 0.1, 0.5, 0.9, 1.0)
"""Bounds of the sizes that a room chooses from."""
FIRST_TOKENS: Final = 7
"""Tokens that a room chooses from, the first ones."""
SHIFTS: Final = (0, 1, 2, 5, 10, 20)
MINUTES: Final = {"writes": 6, "vectors": 4, "qkv": 8, "softmax": 5, "heads": 5, "order": 5, "masks": 4, "scenes": 4, "works": 4}
"""The stops in their order, and the minutes of each in class."""

Panel = dict[str, Any]
NEXT: Final[Panel] = {"kind": "bars", "title": compose("What may come next, at temperature 1")}


@dataclass(frozen=True)
class Frame:
    """A view's sentence at a place of its dial, and what is drawn otherwise there, panel by panel."""

    sentence: Message
    panels: Sequence[Panel] = ()


@dataclass(frozen=True, kw_only=True)
class StopView:
    """One picture of a stop.

    Attributes:
        frames: one for each place of the dial. panels: what all of them draw.
        dial: its name, none where there is one frame; `values` its places' names. first: the place where it opens.
        asks: a question to the room; the path goes over its dial too, from the answers to the true one.
    """

    frames: Sequence[Frame]
    panels: Sequence[Panel]
    dial: Message | None = None
    values: Sequence[Any] = ()
    first: int = 0
    asks: bool = False


@cache
def _file() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def stops(language: str) -> dict[str, list[StopView]]:
    """The views of every stop.

    Args:
        language: "en" or "es", of the texts that the network reads.
    """
    of = _file()[language]
    return {
        "writes": [_vote(of["writing"]), _written(of["writing"])],
        "vectors": [_pieces(of["pieces"]), _neighbours(of["neighbours"])],
        "qkv": [_which_token(), _meeting(), _rows(), _mix()],
        "softmax": [_how_large_when_warm(of["softmax"]), _warmth(of["softmax"]), _seeds(of["softmax"]), _scale()],
        "heads": [_which_place(of["heads"]), _roles(of["heads"]), _rest(of["heads"])],
        "order": [_moved(), _other_order(of["orders"]), _rotation()],
        "masks": [_triangle(of["heads"]), _ahead()],
        "scenes": [_which_group(), _book(), _photograph(), _film()],
        "works": [
            _how_large_without(of["works"][0]),
            _switched_off(of["works"][0], "others"),
            _switched_off(of["works"][1], "copying"),
            _proof(of["works"]),
        ],
    }


def _bars(shares: Sequence[tuple[str, float]], **more: Any) -> Panel:
    return {"kind": "bars", "names": [name for name, _share in shares], "shares": [share for _name, share in shares], **more}


def _square(names: Sequence[str], cells: Sequence[Sequence[float | None]], title: Message, **more: Any) -> Panel:
    return {"kind": "matrix", "rows": names, "columns": names, "cells": cells, "title": title, **more}


def _asked(open_: Message, answer: Message, options: Sequence[Any], right: int, above: Sequence[Panel] = ()) -> StopView:
    """A question to the room: hands for each option; then the true one, and the sentence that is its reason."""
    bars: Panel = {"kind": "bars", "title": compose("A press is a hand raised"), "names": options, "voted": True}
    return StopView(
        frames=[Frame(open_), Frame(answer, [*({} for _ in above), {"right": right}])],
        panels=[*above, {**bars, "shares": [0] * len(options)}],
        dial=compose("Answer"),
        values=[compose("open"), compose("given")],
        asks=True,
    )


def _sizes(value: float) -> tuple[list[Message], int]:
    """Sizes of a share to choose from, and the place of the true one."""
    pairs = list(pairwise(SIZES))
    return [compose("{low:.0%} to {high:.0%}", low=low, high=high) for low, high in pairs], bisect(
        SIZES, value, hi=len(pairs)
    ) - 1


def _vote(of: Any) -> StopView:
    tokens, likeliest = of["tokens"][: of["begun"]], of["steps"][0]["next"]
    names, (name, share) = sorted(name for name, _share in likeliest), likeliest[0]
    sentence = compose(
        "It has read {count} tokens, and each of its {all:,} tokens has a share now: these are the {shown} likeliest.",
        count=len(tokens),
        all=_file()["writer"]["vocabulary"],
        shown=len(names),
    )
    answer = compose("“{name}” is the likeliest, with {share:.1%} at temperature 1.", name=name.strip(), share=share)
    return _asked(sentence, answer, names, names.index(name), [{"kind": "tokens", "tokens": tokens}])


def _written(of: Any) -> StopView:
    frames = []
    for i, step in enumerate(of["steps"]):
        tokens, falls = of["tokens"][: of["begun"] + i], step["falls"]
        name, share = step["next"][0]
        sentence = compose(
            "“{next}” has {share:.1%}. It hangs most on “{token}”: without that, its log-probability falls by {fall:.2f}.",
            next=name.strip(),
            share=share,
            token=tokens[falls.index(max(falls))].strip(),
            fall=max(falls),
        )
        frames.append(Frame(sentence, [{"tokens": tokens, "light": falls}, _bars(step["next"], most=1)]))
    lit: Panel = {"kind": "tokens", "title": compose("Light: what the next token loses without each"), "wide": 1.4}
    return StopView(frames=frames, panels=[lit, NEXT], dial=compose("Token"), values=range(1, len(frames) + 1))


def _pieces(of: Any) -> StopView:
    panels: list[Panel] = [{"kind": "tokens", "title": compose("Pieces, each with its number"), "own": len(of)}]
    values = ["".join(name for name, _id in pieces) for pieces in of]
    return StopView(frames=[pieces_of(one) for one in of], panels=panels, dial=compose("Word"), values=values, first=2)


def pieces_of(pieces: Sequence[tuple[str, int]]) -> Frame:
    """A text in the writer's pieces, each with its number."""
    names, ids = zip(*pieces, strict=True)
    every = {"word": "".join(names), "wide": _file()["writer"]["width"], "all": _file()["writer"]["vocabulary"]}
    sentence = (
        compose("“{word}” is one piece, number {id:,}: a row of {wide} numbers among {all:,}.", id=ids[0], **every)
        if len(ids) == 1
        else compose(
            "“{word}” falls apart into {count} pieces: each is a row of {wide} numbers among {all:,}.", count=len(ids), **every
        )
    )
    return Frame(sentence, [{"tokens": names, "below": ids}])


def _neighbours(of: Any) -> StopView:
    frames = [
        Frame(
            compose(
                "Other spellings of “{word}” apart, the row of “{near}” is the nearest of {all:,}: the cosine is {cosine:.2f}.",
                all=_file()["writer"]["vocabulary"],
                near=one["near"][0][0].strip(),
                word=one["word"],
                cosine=one["near"][0][1],
            ),
            [_bars(one["near"], plain=True, most=1)],
        )
        for one in of
    ]
    panels: list[Panel] = [{"kind": "bars", "title": compose("Nearest rows, by their cosine")}]
    return StopView(frames=frames, panels=panels, dial=compose("Word"), values=[one["word"] for one in of])


def _scores(i: int) -> list[float]:
    head = _file()["head"]
    width = len(head["q"][i])
    return [sum(a * b for a, b in zip(head["q"][i], key, strict=True)) / math.sqrt(width) for key in head["k"]]


def _softmax(scores: Sequence[float]) -> list[float]:
    powers = [math.exp(one - max(scores)) for one in scores]
    return [one / sum(powers) for one in powers]


def _which_token() -> StopView:
    tokens = _file()["head"]["tokens"]
    weights = _softmax(_scores(tokens.index(LOOKING)))
    first, second = sorted(range(len(tokens)), key=lambda j: -weights[j])[:2]
    answer = compose(
        "“{token}”, with a weight of {weight:.2f}: its score is the largest. “{other}” comes next, with {next:.2f}.",
        token=tokens[first],
        weight=weights[first],
        other=tokens[second],
        next=weights[second],
    )
    sentence = compose("“{token}” may look at {count} tokens, itself too.", token=LOOKING, count=len(tokens))
    return _asked(sentence, answer, tokens, first)


def _meeting() -> StopView:
    head = _file()["head"]
    tokens, query = head["tokens"], head["q"][head["tokens"].index(LOOKING)]
    frames = []
    for token, key in zip(tokens, head["k"], strict=True):
        products = [a * b for a, b in zip(query, key, strict=True)]
        sums = list(accumulate(products))
        rows = [
            {"name": compose("query of “{token}”", token=LOOKING), "values": query},
            {"name": compose("key of “{token}”", token=token), "values": key},
            {"name": compose("products"), "values": products},
            {"name": compose("added up"), "values": sums, "value": sums[-1]},
        ]
        sentence = compose(
            "The {count} products add up to {sum:.2f}; by √{count} that is the score {score:.2f} of “{looking}” for “{token}”.",
            count=len(query),
            sum=sums[-1],
            score=sums[-1] / math.sqrt(len(query)),
            looking=LOOKING,
            token=token,
        )
        frames.append(Frame(sentence, [{"rows": rows}]))
    return StopView(frames=frames, panels=[{"kind": "channels"}], dial=compose("Key"), values=tokens, first=tokens.index(FOUND))


def _rows() -> StopView:
    tokens = _file()["head"]["tokens"]
    scores = [_scores(i) for i in range(len(tokens))]
    weights = [_softmax(row) for row in scores]
    frames = [
        Frame(
            compose(
                "“{token}” looks most at “{other}”: a score of {score:.2f} becomes {weight:.2f} of a row that sums to {sum:.2f}.",
                token=tokens[i],
                other=tokens[row.index(max(row))],
                score=max(scores[i]),
                weight=max(row),
                sum=sum(row),
            ),
            [{"row": i}, {"row": i}],
        )
        for i, row in enumerate(weights)
    ]
    panels = [
        _square(tokens, scores, compose("Scores")),
        _square(tokens, weights, compose("Weights, a row each"), numbers=True),
    ]
    return StopView(frames=frames, panels=panels, dial=compose("Row"), values=tokens, first=tokens.index(LOOKING))


def _mix() -> StopView:
    head = _file()["head"]
    tokens = head["tokens"]
    frames = []
    for i, token in enumerate(tokens):
        weights = _softmax(_scores(i))
        parts = [[weight * one for one in row] for weight, row in zip(weights, head["v"], strict=True)]
        order = sorted(range(len(tokens)), key=lambda j: -weights[j])
        rows = [
            {"name": compose("{weight:.2f} × {token}", weight=weights[j], token=tokens[j]), "values": parts[j]} for j in order[:3]
        ] + [
            {"name": compose("the others"), "values": [sum(parts[j][c] for j in order[3:]) for c in range(len(parts[0]))]},
            {
                "name": compose("new row of “{token}”", token=token),
                "values": [sum(column) for column in zip(*parts, strict=True)],
            },
        ]
        sentence = compose(
            "The new row of “{token}” is a mix: {share:.0%} of the value of “{other}”, {three:.0%} with the next two.",
            token=token,
            share=weights[order[0]],
            other=tokens[order[0]],
            three=sum(weights[j] for j in order[:3]),
        )
        frames.append(Frame(sentence, [{"rows": rows}]))
    panels: list[Panel] = [{"kind": "channels", "whole": True}]
    return StopView(frames=frames, panels=panels, dial=compose("Row"), values=tokens, first=tokens.index(LOOKING))


def _how_large_when_warm(of: Any) -> StopView:
    at, warm = (TEMPERATURES.index(t) for t in (1.0, 2.0))
    now, then = (math.exp(of["scores"][0] / TEMPERATURES[i] - of["totals"][i]) for i in (at, warm))
    name = of["names"][0].strip()
    sentence = compose(
        "After “{text}” comes “{name}” with {share:.1%} at temperature {t:g}: the likeliest.",
        text=of["text"],
        name=name,
        share=now,
        t=1.0,
    )
    answer = compose(
        "{share:.2%} at temperature {t:g}: scores are halved, so that all {all:,} tokens come nearer to each other.",
        share=then,
        t=TEMPERATURES[warm],
        all=_file()["writer"]["vocabulary"],
    )
    return _asked(sentence, answer, *_sizes(then))


def _warmth(of: Any) -> StopView:
    rows = [[math.exp(score / t - total) for score in of["scores"]] for t, total in zip(TEMPERATURES, of["totals"], strict=True)]
    frames = [
        Frame(
            compose(
                "At temperature {t:g}, “{first}” has {share:.1%}, and these {count} of {all:,} tokens {sum:.1%} together.",
                t=t,
                first=of["names"][0].strip(),
                share=row[0],
                count=len(row),
                all=_file()["writer"]["vocabulary"],
                sum=sum(row),
            ),
            [{"shares": row}],
        )
        for t, row in zip(TEMPERATURES, rows, strict=True)
    ]
    plain = rows[TEMPERATURES.index(1.0)]
    title = compose("White: at temperature 1")
    panels: list[Panel] = [{"kind": "bars", "names": of["names"], "was": plain, "most": 1, "title": title}]
    return StopView(frames=frames, panels=panels, dial=compose("Temperature"), values=TEMPERATURES, first=TEMPERATURES.index(2.0))


def _seeds(of: Any) -> StopView:
    low, middle, high = (len(set(of["written"][at])) for at in WRITTEN_AT)
    sentence = compose(
        "{count} seeds write {low} different texts at {a:g}, {middle} at {b:g} and {high} at {c:g}.",
        count=len(of["written"][0]),
        low=low,
        middle=middle,
        high=high,
        a=TEMPERATURES[WRITTEN_AT[0]],
        b=TEMPERATURES[WRITTEN_AT[1]],
        c=TEMPERATURES[WRITTEN_AT[2]],
    )
    names = [compose("Temperature {value}", value=f"{TEMPERATURES[at]:g}") for at in WRITTEN_AT]
    count = len(of["written"][0])
    frames = [
        Frame(sentence, [{"texts": [f"{of['text']}{of['written'][at][seed]}…" for at in WRITTEN_AT]}]) for seed in range(count)
    ]
    return StopView(frames=frames, panels=[{"kind": "texts", "names": names}], dial=compose("Seed"), values=range(count))


def _scale() -> StopView:
    head = _file()["head"]
    tokens, width = head["tokens"], len(head["q"][0])
    own = _scores(tokens.index(LOOKING))
    frames = []
    divisors = (1.0, math.sqrt(width), float(width))
    for divisor in divisors:
        row = _softmax([one * math.sqrt(width) / divisor for one in own])
        spread = math.exp(-sum(one * math.log(one) for one in row if one > 0))
        sentence = compose(
            "Divided by {divisor:.2f}, “{token}” has {weight:.1%} of the row, which spreads over {spread:.1f} of {count} tokens.",
            divisor=divisor,
            token=tokens[row.index(max(row))],
            weight=max(row),
            spread=spread,
            count=len(row),
        )
        frames.append(Frame(sentence, [{"shares": row}]))
    panels: list[Panel] = [{"kind": "bars", "names": tokens, "most": 1, "title": compose("Where “{token}” looks", token=LOOKING)}]
    values = ["1", f"√{width}", str(width)]
    return StopView(frames=frames, panels=panels, dial=compose("Scores divided by"), values=values, first=1)


def _which_place(of: Any) -> StopView:
    tokens, row = of["tokens"], of["rows"]["induction"]
    at = row.index(max(row))
    layer, head = _file()["heads"]["roles"]["induction"]
    sentence = compose(
        "The last token is “{last}”: one of these {count} tells what follows.", last=tokens[-1], count=FIRST_TOKENS
    )
    answer = compose(
        "Token {at}, “{token}”: it came after the same token, and head {layer}.{head} puts {weight:.2f} of its look there.",
        at=at + 1,
        token=tokens[at].strip(),
        layer=layer,
        head=head,
        weight=row[at],
    )
    options = [f"{n} · {token.strip()}" for n, token in enumerate(tokens[:FIRST_TOKENS], 1)]
    return _asked(sentence, answer, options, at, [{"kind": "tokens", "tokens": tokens, "marked": len(tokens) - 1}])


def _roles(of: Any) -> StopView:
    names = {
        "before": compose("looks at the token before"),
        "induction": compose("copies what came after the same token"),
        "same": compose("looks for the same token"),
        "first": compose("rests on the first token"),
    }
    tokens = of["tokens"]
    frames = []
    for role, row in of["rows"].items():
        layer, head = _file()["heads"]["roles"][role]
        at = row.index(max(row))
        sentence = compose(
            "Head {layer}.{head}: the last token, “{last}”, looks with {weight:.2f} at token {at}, “{token}”.",
            layer=layer,
            head=head,
            last=tokens[-1],
            weight=row[at],
            at=at + 1,
            token=tokens[at].strip(),
        )
        frames.append(Frame(sentence, [{"light": row}]))
    panels = [{"kind": "tokens", "tokens": tokens, "marked": len(tokens) - 1, "wide": 1.8}, NEXT | _bars(of["next"], most=1)]
    return StopView(frames=frames, panels=panels, dial=compose("Head"), values=[names[role] for role in of["rows"]], first=1)


def _rest(of: Any) -> StopView:
    every = [one for layer in of["first"] for one in layer]
    sentence = compose(
        "After “{first}” {mean:.0%} of all looks rest on it, the first of {tokens}; in {count} of {all} heads more than half.",
        first=of["tokens"][0],
        tokens=len(of["tokens"]),
        mean=sum(every) / len(every),
        count=sum(one > 0.5 for one in every),
        all=len(every),
    )
    layers = [str(n + 1) for n in range(len(of["first"]))]
    rows = [compose("head {number}", number=n + 1) for n in range(len(of["first"][0]))]
    panel = {
        "kind": "matrix",
        "rows": rows,
        "columns": layers,
        "cells": list(map(list, zip(*of["first"], strict=True))),
        "whole": True,
        "title": compose("Share of the first token, layer by layer"),
    }
    return StopView(frames=[Frame(sentence)], panels=[panel])


def _moved() -> StopView:
    orders = _file()["orders"]
    tokens = _file()["ordered"]
    frames = []
    for one in orders:
        places = [0, *(1 + i for i in one["order"]), len(tokens) - 1]
        names = [tokens[i] for i in places]
        most = {  # by how much a weight changes, beside that of the same two words as they were
            of: max(abs(one[of][i][j] - orders[0][of][a][b]) for i, a in enumerate(places) for j, b in enumerate(places))
            for of in ("without", "with")
        }
        sentence = (
            compose("The words as they were: each row now follows its word, with positions and without.")
            if one is orders[0]
            else compose(
                "Without positions a weight moves with its words and changes by {without:.2f} at most; with them by {with_:.2f}.",
                without=most["without"],
                with_=most["with"],
            )
        )
        frames.append(Frame(sentence, [{"rows": names, "columns": names, "cells": one[of]} for of in ("without", "with")]))
    titles = compose("Without positions"), compose("With positions")
    panels = [{"kind": "matrix", "numbers": True, "title": title} for title in titles]
    values = [" ".join(tokens[1 + i] for i in one["order"]) for one in orders]
    return StopView(frames=frames, panels=panels, dial=compose("Order"), values=values, first=1)


def _other_order(of: Any) -> StopView:
    frames = [
        Frame(
            compose(
                "The last words are followed by “{name}” with {share:.1%}; “{usual}” had {was:.1%} in the first order.",
                name=one["next"][0][0].strip(),
                share=one["next"][0][1],
                usual=of[0]["next"][0][0].strip(),
                was=of[0]["next"][0][1],
            ),
            [{"tokens": one["tokens"]}, _bars(one["next"], most=1)],
        )
        for one in of
    ]
    panels = [{"kind": "tokens", "wide": 1.4}, NEXT]
    return StopView(frames=frames, panels=panels, dial=compose("Order"), values=range(1, len(of) + 1), first=1)


def _rotation() -> StopView:
    rotary = _file()["writer"]
    step = rotary["rotary_base"] ** (-2 * PAIR / rotary["head_width"])
    frames = []
    for shift in SHIFTS:
        places = [place + shift for place in PLACES]
        arrows = [
            {"name": compose("query, place {n}", n=places[0]), "angle": places[0] * step},
            {"name": compose("key, place {n}", n=places[1]), "angle": places[1] * step},
        ]
        sentence = compose(
            "Turned by {step:.3f} a place, places {a} and {b} stand {angle:.2f} radians apart: only their distance {far} counts.",
            step=step,
            a=places[0],
            b=places[1],
            angle=(places[0] - places[1]) * step,
            far=places[0] - places[1],
        )
        frames.append(Frame(sentence, [{"arrows": arrows}]))
    return StopView(frames=frames, panels=[{"kind": "turns"}], dial=compose("Both moved by"), values=SHIFTS)


def _triangle(of: Any) -> StopView:
    tokens, square = of["tokens"], _file()["head"]["tokens"]
    triangle = [[one if j <= i else None for j, one in enumerate(row)] for i, row in enumerate(of["map"])]
    frames = [
        Frame(
            compose(
                "Where it writes, “{token}” may look at {count} of {all} tokens; on the right each looks at all {others}.",
                token=token.strip(),
                count=sum(one is not None for one in triangle[i]),
                all=len(tokens),
                others=len(square),
            ),
            [{"row": i}],
        )
        for i, token in enumerate(tokens)
    ]
    names = [one.strip() for one in tokens]
    panels = [
        _square(names, triangle, compose("SmolLM2 writes: hatched is forbidden"), wide=1.5),
        _square(square, _file()["reader"], compose("MiniLM reads: all allowed")),
    ]
    return StopView(frames=frames, panels=panels, dial=compose("Row"), values=names, first=len(names) // 2)


def _ahead() -> StopView:
    toy = _file()["toy"]
    sentence = compose(
        "Who looks ahead copies: {seen:.2f} nats, {alone:.2f} alone. The masked one has {causal:.2f}; the least is {least:.2f}.",
        seen=toy["ahead"]["seen"],
        alone=toy["ahead"]["alone"],
        causal=toy["causal"]["alone"],
        least=toy["least"],
    )
    panel = {
        "kind": "curves",
        "names": [compose("may look ahead"), compose("masked")],
        "curves": [toy["ahead"]["losses"], toy["causal"]["losses"]],
        "x": compose("steps of training"),
        "y": compose("loss, nats a symbol"),
        "until": toy["steps"],
        "limit": {"name": compose("best without looking ahead"), "value": toy["least"]},
    }
    return StopView(frames=[Frame(sentence)], panels=[panel])


def _groups() -> dict[str, Message]:
    """Names of a book's groups."""
    return {
        "touch": compose("best bid and ask"),
        "near_ask": compose("asks, levels 2 to 5"),
        "near_bid": compose("bids, levels 2 to 5"),
        "far": compose("levels 6 to 10"),
        "drift": compose("course of the price"),
        "older": compose("all older than 8 s"),
    }


def _most_of_book() -> tuple[str, float]:
    """The group that counts most, and what it gives to “up less down”."""
    gives: dict[str, float] = _file()["book"]["gives"]
    most = max(gives, key=lambda name: abs(gives[name]))
    return most, gives[most]


def _which_group() -> StopView:
    names, (most, gives) = _groups(), _most_of_book()
    of = list(_file()["book"]["gives"])
    sentence = compose(
        "“Up less down” hangs on {count} groups of numbers, here of {market}.", count=len(of), market=_file()["book"]["market"]
    )
    answer = compose(
        "“{name}”: put back to the hour's mean it moves “up less down” by {change:.2f}, more than any other.",
        name=names[most],
        change=abs(gives),
    )
    return _asked(sentence, answer, [names[one] for one in of], of.index(most))


def _book() -> StopView:
    book, names, (most, gives) = _file()["book"], _groups(), _most_of_book()
    sentence = compose(
        "Up {up:.0%}, down {down:.0%}. “{name}”, put back to the hour's mean, moves “up less down” most: by {change:.2f}.",
        up=book["probabilities"][2],
        down=book["probabilities"][0],
        name=names[most],
        change=abs(gives),
    )
    panels: list[Panel] = [
        {
            "kind": "pictures",
            "sources": [book["picture"]],
            "light": book["looks"],
            "grid": [1, len(book["looks"])],
            "title": compose("{market}: sizes over time, bright where the newest looks", market=book["market"]),
        },
        {
            "kind": "bars",
            "names": [names[one] for one in book["gives"]],
            "shares": list(book["gives"].values()),
            "plain": True,
            "title": compose("What each gives to “up less down”"),
        },
    ]
    return StopView(frames=[Frame(sentence)], panels=panels)


def _photograph() -> StopView:
    seen = _file()["photograph"]
    frames = [
        Frame(
            compose(
                "Of its look at the picture head {n} puts {share:.0%} on what stands out, which covers {area:.0%}.",
                n=n,
                share=share,
                area=seen["area"],
            ),
            [{"light": [one for row in seen["heads"][n - 1] for one in row]}],
        )
        for n, share in enumerate(seen["on_thing"], start=1)
    ]
    grid = [len(seen["heads"][0]), len(seen["heads"][0][0])]
    panels: list[Panel] = [{"kind": "pictures", "sources": [seen["picture"]], "grid": grid}]
    return StopView(
        frames=frames,
        panels=panels,
        dial=compose("Head"),
        values=range(1, len(frames) + 1),
        first=seen["on_thing"].index(max(seen["on_thing"])),
    )


def _film() -> StopView:
    film = _file()["film"]
    frames = []
    for one in film["glosses"]:
        looks = [one["looks"][at] for at in film["shown"]]
        most = looks.index(max(looks))
        sentence = compose(
            "At {at:.1f} s it is surest of “{gloss}”, and of {count} pictures looks most at number {n}, of {most:.1f} s.",
            at=film["seconds"][one["peak"]],
            gloss=one["gloss"],
            count=len(looks),
            n=most + 1,
            most=film["seconds"][film["shown"][most]],
        )
        frames.append(Frame(sentence, [{"light": looks}]))
    panels: list[Panel] = [{"kind": "pictures", "sources": film["pictures"]}]
    return StopView(frames=frames, panels=panels, dial=compose("Sign"), values=[one["gloss"] for one in film["glosses"]])


def _how_large_without(of: Any) -> StopView:
    name, heads = of["names"][0].strip(), _file()["heads"]["copying"]
    sentence = compose("“{name}” has {share:.1%} with all heads on.", name=name, share=of["plain"][0])
    answer = compose(
        "“{name}” has {share:.2%} without the {count}, and {other:.1%} without {count} others: the copying is theirs.",
        name=name,
        share=of["copying"][0],
        other=of["others"][0],
        count=len(heads),
    )
    return _asked(sentence, answer, *_sizes(of["copying"][0]), [{"kind": "tokens", "tokens": of["tokens"]}])


def _switched_off(of: Any, opened: str) -> StopView:
    states = {"plain": compose("all on"), "copying": compose("six that copy off"), "others": compose("six others off")}
    frames = [
        Frame(
            compose("“{name}” has {share:.2%} at temperature 1.", name=of["names"][0].strip(), share=of["plain"][0])
            if state == "plain"
            else compose(
                "“{name}” had {was:.1%} and has {share:.2%} without heads {heads}.",
                name=of["names"][0].strip(),
                was=of["plain"][0],
                share=of[state][0],
                heads=", ".join(f"{layer}.{head}" for layer, head in _file()["heads"][state]),
            ),
            [{}, {"shares": of[state]}],
        )
        for state in states
    ]
    panels: list[Panel] = [
        {"kind": "tokens", "tokens": of["tokens"]},
        {"kind": "bars", "names": of["names"], "was": of["plain"], "most": 1, "title": compose("White: with all heads")},
    ]
    return StopView(
        frames=frames, panels=panels, dial=compose("Heads"), values=list(states.values()), first=list(states).index(opened)
    )


def _proof(of: Any) -> StopView:
    shares = []
    for one in of:
        name = one["names"][0].strip()
        shares += [
            (compose("“{name}”, all on", name=name), one["plain"][0]),
            (compose("“{name}”, six off", name=name), one["copying"][0]),
        ]
    sentence = compose(
        "The same six heads: {a:.1%} fall to {b:.1%} on one text, {c:.1%} come to {d:.1%} on the other.",
        a=shares[0][1],
        b=shares[1][1],
        c=shares[2][1],
        d=shares[3][1],
    )
    return StopView(frames=[Frame(sentence)], panels=[_bars(shares, most=1)])
