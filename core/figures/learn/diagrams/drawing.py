"""Draws a block diagram as SVG, once for a wide page and once for a phone; colours come from the page (assets/styles)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final
from xml.etree.ElementTree import Element, SubElement, tostring

from core.figures.learn.diagrams.blocks import NO_BREAK, Block, Diagram, Wire
from core.messages import translate as _

WIDE_PX: Final = 980.0
NARROW_PX: Final = 340.0
TALL: Final = 42.0
"""Height of a block with two lines."""
LETTER: Final = 6.6
"""Width of a letter of a label of 12 px, about."""
ARROW: Final = 10.0
"""Along a wire, what its head and the label's distance from the blocks take."""
LANE: Final = 20.0
EDGE: Final = 6.0
SUBSCRIPT: Final = re.compile(r"_\{([^}]*)\}|_(\w)")

Point = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Look:
    """Parts of a diagram that stand out.

    Attributes:
        part: code of the part on display; its blocks are framed. names: name of each part, by code. link: address of a part.
    """

    part: str = ""
    names: Mapping[str, str]
    link: Callable[[str], str]


@dataclass(frozen=True, kw_only=True)
class _Place:
    """A block's middle and half sizes along the flow (main) and across it."""

    main: float
    cross: float
    half_main: float
    half_cross: float


def describe(diagram: Diagram) -> str:
    """The diagram in words: each block with its note, each wire with its numbers."""
    names = {block.code: plain(block.label) + (f" ({block.note})" if block.note else "") for block in diagram.blocks}
    wires = [
        f"{names[one.source]} → {names[one.target]}" + (f": {plain(one.label)}" if one.label else "") for one in diagram.wires
    ]
    return "; ".join(wires)


def plain(label: str) -> str:
    """A label without the marks of its subscripts."""
    return SUBSCRIPT.sub(lambda match: match[1] or match[2], label)


def svg(diagram: Diagram, look: Look, *, narrow: bool) -> str:
    """The drawing; flow to the right, or downwards where `narrow`."""
    places = _places(diagram, narrow=narrow)
    lines = [(wire, *_route(diagram, wire, places)) for wire in diagram.wires]
    points = [_turned(point, narrow) for _wire, route, _at in lines for point in route]
    for place in places.values():
        for sign in (-1, 1):
            corner = (place.main + sign * place.half_main, place.cross + sign * place.half_cross)
            points.append(_turned(corner, narrow))
    full = NARROW_PX if narrow else WIDE_PX
    left, right = min(0.0, *(x - EDGE for x, _y in points)), max(full, *(x + EDGE for x, _y in points))
    top, bottom = min(y for _x, y in points) - EDGE, max(y for _x, y in points) + EDGE
    top -= 12 if any(wire.way == "over" and wire.label for wire in diagram.wires) and not narrow else 0
    bottom += 14 if any(wire.way == "under" and wire.label for wire in diagram.wires) and not narrow else 0
    root = Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "class": f"diagram-{'narrow' if narrow else 'wide'}",
            "role": "group",
            "viewBox": f"{left:.0f} {top:.0f} {right - left:.0f} {bottom - top:.0f}",
            "aria-label": diagram.title,
        },
    )
    SubElement(root, "desc").text = describe(diagram)
    for wire, route, _at in lines:
        _draw_wire(root, wire, [_turned(point, narrow) for point in route])
    for block in diagram.blocks:
        _draw_block(root, block, places[block.code], look, narrow=narrow)
    for wire, route, at in lines:
        if wire.label:
            sideways = len(route) == 2 and abs(route[0][0] - route[1][0]) < 1
            room = max(abs(a[0] - b[0]) for a, b in pairwise(route)) - ARROW
            fits = wire if narrow or sideways else replace(wire, label=fitted(wire.label, room))
            _draw_numbers(root, fits, at, narrow=narrow, paired=_paired(diagram, wire), sideways=sideways)
    return tostring(root, encoding="unicode")


def label_width(label: str, size: float = 12.0) -> float:
    """Pixels that a label takes, about."""
    return len(plain(label)) * LETTER * size / 12


def fitted(label: str, room: float) -> str:
    """The label, without those of its last numbers that would reach into a block."""
    numbers = label.removesuffix(f"{NO_BREAK}…").split(f"{NO_BREAK * 2}")
    while len(numbers) > 1 and label_width(label) > room:
        numbers.pop()
        label = f"{NO_BREAK * 2}".join(numbers) + f"{NO_BREAK}…"
    return label


def block_width(diagram: Diagram, *, narrow: bool) -> float:
    """Pixels of a block's width."""
    columns, rows = (1 + max(block.at[axis] for block in diagram.blocks) for axis in (0, 1))
    if narrow:
        return min(150.0, NARROW_PX / rows - 12)
    return min(96.0, (WIDE_PX - 66.0 * (columns - 1)) / columns)


def _places(diagram: Diagram, *, narrow: bool) -> dict[str, _Place]:
    columns, rows = (1 + max(block.at[axis] for block in diagram.blocks) for axis in (0, 1))
    width = block_width(diagram, narrow=narrow)
    columns_of = {block.code: block.at[0] for block in diagram.blocks}
    between = any(
        one.label and one.way == "forward" and columns_of[one.source] == columns_of[one.target] for one in diagram.wires
    )
    gap = 26 if between else 14  # a label stands between two rows
    along, across = (TALL + 32, NARROW_PX / rows) if narrow else ((WIDE_PX - width) / max(1, columns - 1), TALL + gap)
    first = TALL / 2 if narrow else width / 2
    places = {}
    for block in diagram.blocks:
        half = (13.0, 13.0) if block.kind == "sum" else (TALL / 2, width / 2) if narrow else (width / 2, TALL / 2)
        places[block.code] = _Place(
            main=first + block.at[0] * along, cross=(block.at[1] + 0.5) * across, half_main=half[0], half_cross=half[1]
        )
    return places


def _turned(point: Point, narrow: bool) -> Point:
    return (point[1], point[0]) if narrow else point


def _route(diagram: Diagram, wire: Wire, places: Mapping[str, _Place]) -> tuple[list[Point], Point]:
    """Corners of a wire as (main, cross), and the middle of its longest stretch along the flow."""
    a, b = places[wire.source], places[wire.target]
    if wire.way in ("over", "under"):
        sign = -1 if wire.way == "over" else 1
        edges = [place.cross + sign * place.half_cross for place in places.values() if _between(place, a, b)]
        out = (min(edges) if sign < 0 else max(edges)) + sign * LANE * wire.lane
        route = [(a.main, a.cross + sign * a.half_cross), (a.main, out), (b.main, out), (b.main, b.cross + sign * b.half_cross)]
        return route, ((a.main + b.main) / 2, out)
    if abs(a.main - b.main) < a.half_main + b.half_main:  # one above the other
        sign = 1 if b.cross > a.cross else -1
        main = b.main if abs(b.main - a.main) < a.half_main else a.main
        route = [(main, a.cross + sign * a.half_cross), (main, b.cross - sign * b.half_cross)]
        return route, ((route[0][0] + route[1][0]) / 2, (route[0][1] + route[1][1]) / 2)
    side = 0.0 if not _paired(diagram, wire) else 9.0 if wire.way == "back" else -9.0
    sign = 1 if b.main > a.main else -1
    start, end = (a.main + sign * a.half_main, a.cross + side), (b.main - sign * b.half_main, b.cross + side)
    if abs(start[1] - end[1]) < 1:
        return [start, end], ((start[0] + end[0]) / 2, start[1])
    leaving = sum(one.source == wire.source and one.way == wire.way for one in diagram.wires)
    arriving = sum(one.target == wire.target and one.way == wire.way for one in diagram.wires)
    gap = abs(end[0] - start[0])
    turn = start[0] + sign * (min(14.0, gap / 2) if leaving >= arriving else gap - min(14.0, gap / 2))
    route = [start, (turn, start[1]), (turn, end[1]), end]
    if abs(end[0] - turn) >= abs(turn - start[0]):
        return route, ((turn + end[0]) / 2, end[1])
    return route, ((start[0] + turn) / 2, start[1])


def _paired(diagram: Diagram, wire: Wire) -> bool:
    """Tells whether another wire runs beside this one."""
    beside = [one for one in diagram.wires if one is not wire and one.way not in ("over", "under")]
    return any({one.source, one.target} == {wire.source, wire.target} for one in beside)


def _between(place: _Place, a: _Place, b: _Place) -> bool:
    low, high = sorted((a.main, b.main))
    return low - 1 <= place.main <= high + 1


def _draw_wire(root: Element, wire: Wire, route: list[Point]) -> None:
    group = SubElement(root, "g", {"class": f"diagram-wire diagram-{wire.way}"})
    SubElement(group, "path", {"d": "M" + " L".join(f"{x:.1f} {y:.1f}" for x, y in route)})
    (x0, y0), (x, y) = route[-2:]
    dx, dy = ((x > x0) - (x < x0)), ((y > y0) - (y < y0))
    tip = [(x, y), (x - 6 * dx - 3.5 * dy, y - 6 * dy - 3.5 * dx), (x - 6 * dx + 3.5 * dy, y - 6 * dy + 3.5 * dx)]
    SubElement(group, "polygon", {"points": " ".join(f"{px:.1f},{py:.1f}" for px, py in tip)})


def _draw_numbers(root: Element, wire: Wire, at: Point, *, narrow: bool, paired: bool, sideways: bool) -> None:
    group = SubElement(root, "g", {"class": "diagram-numbers", "data-wire": f"{wire.source} {wire.target} {wire.way}"})
    (x, y), anchor, upright = _turned(at, narrow), "middle", False
    around = wire.way in ("over", "under")
    if sideways:  # from one block to the one beside it
        x, y, anchor = (x, y + TALL / 2 + 12, "middle") if narrow else (x + 5, y + 4, "start")
    elif narrow and around:
        x, upright = x - 4, True
    elif narrow and paired:
        x, y, anchor = (x + 6, y + 4, "start") if wire.way == "back" else (x - 6, y + 4, "end")
    else:
        y += 4 if narrow else 14 if wire.way in ("back", "under") else -5
    _text(group, wire.label, (x, y), size=12, anchor=anchor)
    if upright:
        group[-1].set("transform", f"rotate(-90 {x:.1f} {y:.1f})")


def _draw_block(root: Element, block: Block, place: _Place, look: Look, *, narrow: bool) -> None:
    here = bool(block.part) and block.part == look.part
    name = ["diagram-block", f"diagram-{block.kind}", *["diagram-here"] * here]
    group = SubElement(root, "g", {"class": " ".join(name), "data-block": block.code})
    if block.part:
        told = plain(block.label) + (f" {block.note}" if block.note else "")
        opens = (
            told
            if block.part.startswith("#")
            else _("{block}: opens the part {part}").format(block=told, part=look.names.get(block.part, block.part))
        )
        href = block.part if block.part.startswith("#") else look.link(block.part)
        link = {"href": href, "data-part": block.part, "aria-label": opens}
        group = SubElement(group, "a", link | ({"aria-current": "true"} if here else {}))
        SubElement(group, "title").text = opens
    x, y = _turned((place.main, place.cross), narrow)
    half_x, half_y = _turned((place.half_main, place.half_cross), narrow)
    if block.kind == "sum":
        SubElement(group, "circle", {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": f"{half_x:.1f}"})
        _text(group, block.label, (x, y + 4.5), size=14)
        return
    size = {"x": x - half_x, "y": y - half_y, "width": 2 * half_x, "height": 2 * half_y}
    SubElement(group, "rect", {k: f"{v:.1f}" for k, v in size.items()} | {"rx": "16" if block.kind == "data" else "5"})
    _text(group, block.label, (x, y - 3 if block.note else y + 4.5), size=13, name="diagram-label")
    if block.note:
        _text(group, block.note, (x, y + 13), size=12, name="diagram-note")


def _text(parent: Element, label: str, at: Point, *, size: float, anchor: str = "middle", name: str = "") -> None:
    attributes = {"x": f"{at[0]:.1f}", "y": f"{at[1]:.1f}", "font-size": f"{size:g}", "text-anchor": anchor}
    text = SubElement(parent, "text", attributes | ({"class": name} if name else {}))
    text.tail = " "  # read aloud, two texts are two words
    pieces = SUBSCRIPT.split(label)  # plain, {..}, _x, plain, ...
    text.text = pieces[0]
    for index in range(1, len(pieces), 3):
        subscript = SubElement(text, "tspan", {"dy": "3", "font-size": f"{max(12.0, 0.85 * size):g}"})
        subscript.text = pieces[index] or pieces[index + 1]
        if pieces[index + 2]:
            SubElement(text, "tspan", {"dy": "-3"}).text = pieces[index + 2]
