"""Words, the network that writes: what comes next in a text, every head of it, and what that hangs on."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import partial
from typing import Any, Final

import streamlit as st

from core.lecture.notebooks import on_screen
from core.messages import BadValue
from core.package_files import MissingModels
from core.words.causes import (
    MOST_TAKEN_OUT,
    OPENINGS,
    ROLES,
    card,
    fall_without_heads,
    fall_without_tokens,
    heads_of,
    strongest,
)
from core.words.desk import (
    DESK,
    TEMPERATURES,
    TEXTS,
    TOKENS,
    TOP_PS,
    NextWords,
    lit_scene,
    next_words,
    share_of_first,
    shown_numbers,
)
from core.words.writer import ENDS, Head, Writer, Writing, choose
from core.workers import Stopped
from pages.learn import take_along
from pages.shared import controls, erased, url_state
from pages.shared.attention_view import attention_view
from pages.shared.browser_component import browser_component
from pages.shared.kept_results import Hashes, kept
from pages.shared.language import _, number, percent, prose_section, regional
from pages.shared.permissions import visitor

TEXT: Final = "prompt"
WROTE: Final = "wrote"
OFF: Final = "off"
RUBBED_OUT: Final = "rub"
NEXT: Final = "next"
COUNTED: Final = "heads_counted"
MAX_CHARACTERS: Final = 2_000
HEADS: Final = 9
LAYERS: Final = 30
HASHES: Final[Hashes] = {Writer: lambda _one: "smollm2"}
falls_of = kept(64, HASHES)(fall_without_tokens)
head_falls_of = kept(64, HASHES)(fall_without_heads)
"""Losses of the next word without each token, and without each head; a press elsewhere ends the latter."""


def role_names() -> dict[str, tuple[str, str]]:
    """Title and note of each role."""
    return {
        "before": (_("Token before"), _("These heads look at the token before: {heads}.")),
        "induction": (
            _("Copies"),
            _("These heads copy: they look at the token that came after this one's earlier occurrence: {heads}."),
        ),
        "first": (_("Rests"), _("These heads rest on the first token, where they have nothing to say: {heads}.")),
        "same": (_("Same token"), _("These heads look at the earlier occurrence of the same token: {heads}.")),
    }


def named(heads: list[Head]) -> str:
    """Heads as a reader counts them, "19.7" for layer 19, head 7."""
    return ", ".join(f"{layer + 1}.{head + 1}" for layer, head in heads)


def draw() -> None:
    """The text's field, the stage and the next words."""
    text = ask()
    try:
        with st.spinner(_("Loading the network…")), network() as writer:
            ids = writer.ids(text, most=TOKENS)
    except MissingModels as error:
        controls.notice("empty", str(error))
        return
    except BadValue as error:
        controls.error_box(error, remedy=_("Type another text."))
        return
    if st.session_state.get(f"{WROTE}:of", text) != text:
        st.session_state[WROTE] = []
    st.session_state[f"{WROTE}:of"] = text
    written(tuple(ids), text)
    st.markdown(prose_section("words", "writer"))
    about = card().about
    st.caption(
        _("{name}, trained by {trained_by}, {licence}; out of the package `{package}`.").format(
            name=about["name"], trained_by=about["trained_by"], licence=about["licence"], package=about["package"]
        )
    )
    values: Callable[[], dict[str, Any]] | None = None
    if not st.session_state[WROTE]:
        with network() as writer:
            shown = shown_numbers(DESK.state(writer, ids))
        values = partial(dict, {"TEXT": text}, **on_screen(shown))
    take_along.offer("sentences", "writes", _("Words"), values)


@contextmanager
def network() -> Iterator[Writer]:
    """The network, for a computation; who waits for one is told the place, and whom too many wait before, to come again."""
    line = st.empty()

    def tell(place: int) -> None:
        line.caption(_("Other visitors come first: yours is number {place}.").format(place=number(place)))

    try:
        with DESK.writer(visitor().limited_by, tell) as writer:
            line.empty()
            yield writer
    except Stopped:
        controls.notice("stale", _("Too many texts wait here already: try again later."))
        st.stop()


def ask() -> str:
    """The text to go on with: one's own, or one of three."""
    samples = dict(zip(OPENINGS, (_("Rome"), "Zorblax", _("in Spanish")), strict=True))
    label = _("Your text, up to {most} characters").format(most=number(MAX_CHARACTERS))
    return controls.own_text(label, key=TEXT, samples=samples, most=MAX_CHARACTERS)


@st.fragment
def written(begin: tuple[int, ...], text: str) -> None:
    """The text as far as it is written, on the stage, and the next words beside it."""
    playing = bool(st.session_state.get(f"{NEXT}:playing"))
    with network() as writer:
        ids = [*begin, *written_ids(writer)][:TOKENS]
        off = [divmod(one, HEADS) for one in url_state.numbers(OFF, LAYERS * HEADS)]
        hidden = erased.rubbed_out(RUBBED_OUT, len(ids), of=text)
        hidden = hidden if len(hidden) < len(ids) else []  # something is left to go on from
        kept_places = [i for i in range(len(ids)) if i not in hidden]
        left = [ids[i] for i in kept_places]
        whole = DESK.state(writer, ids, off)
        now = DESK.state(writer, left, off) if left != ids else whole
        plain = DESK.state(writer, ids) if off or left != ids else None
        token = int(now.scores.argmax())
        following = next_words(writer, now.scores)
        before = next_words(writer, plain.scores, following.ids) if plain else None
        falls = None
        if not playing and len(ids) <= MOST_TAKEN_OUT:
            with st.spinner(_("Asking again without one part after another…"), show_time=False):
                falls = falls_of(writer, tuple(left), token, off=tuple(off))
        titles = {f"layer {i}": _("Layer {number}").format(number=i) for i in range(1, LAYERS + 1)}
        titles["occlusion"] = _("What the next word loses without it")
        scene = lit_scene(writer, ids, kept_places, now, falls, titles=titles, rolled=False, answer=following.names[0])
    stage, bars = st.columns([3.3, 1])
    with stage:
        attention_view(scene, key="light", erased=hidden, on_erase=erased.keeper(RUBBED_OUT))
    with bars:
        place = st.container()
        counted = count_heads(tuple(left), token, tuple(off), text)
        message = data(following, before, len(ids), off, counted)
        with place:
            browser_component("writer")(
                key=NEXT,
                data=message,
                on_write_change=lambda: write(left, ids, off),
                on_back_change=take_back,
                on_off_change=switch,
                on_rest_change=rest,
                on_link_change=follow_link,
            )
        if hidden:
            erased.bring_back(RUBBED_OUT)
    st.caption(about_the_light(now, lit=falls is not None, playing=playing))


def written_ids(writer: Writer) -> list[int]:
    """The tokens that were written after the text; while one after another comes, the address waits for the last."""
    if st.session_state.get(f"{NEXT}:playing"):
        return [int(one) for one in st.session_state.get(WROTE, [])]
    return url_state.sequence(WROTE, len(writer.names))


def about_the_light(state: Writing, *, lit: bool, playing: bool) -> str:
    """Sentence of what lights the stage, and of the first token."""
    share = percent(share_of_first(state), 0)
    first = _("The first token takes {share} of all weight: heads that have nothing to say rest there.").format(share=share)
    if lit:
        return _("At rest the light is what the next word's log-probability loses without each token.") + " " + first
    if playing:
        return _("The light is what the newest token looks at.") + " " + first
    long = _("Over {most} tokens the stage shows attention: taking out one after another would take too long.")
    return long.format(most=number(MOST_TAKEN_OUT)) + " " + first


def count_heads(ids: tuple[int, ...], token: int, off: tuple[Head, ...], text: str) -> list[Head]:
    """The heads that count most for the next word: bundled for the openings, else computed on a press."""
    wanted = (ids, token, off)
    if text in card().heads and not st.session_state.get(WROTE) and not off and not st.session_state.get(RUBBED_OUT):
        return strongest(card().heads[text])
    if st.button(_("Which heads count"), key="writer_count", help=_("Switches off each of the 270 heads alone.")):
        st.session_state[COUNTED] = wanted
    if st.session_state.get(COUNTED) != wanted:
        return []
    st.button(_("Stop"), key="writer_count_stop", on_click=lambda: st.session_state.pop(COUNTED, None))
    with network() as writer, controls.progress(_("Asking again without one part after another…")) as report:
        return strongest(head_falls_of(writer, ids, token, off=off, report=report))


def data(following: NextWords, before: NextWords | None, count: int, off: list[Head], counted: list[Head]) -> dict[str, Any]:
    """All that the bars are drawn from."""
    names = role_names()
    roles = [(role, heads_of(role)) for role in ROLES]
    asked = st.query_params
    return {
        "next": asdict(following),
        "before": asdict(before) if before else None,
        "temperatures": TEMPERATURES,
        "topPs": TOP_PS,
        "temperature": url_state.real_number(asked.get("t"), 0.0),
        "topP": url_state.real_number(asked.get("p"), 1.0),
        "seed": url_state.whole_number(asked.get("seed"), 0, 999_999, 0),
        "written": len(st.session_state.get(WROTE, [])),
        "room": TOKENS - count,
        "turn": st.session_state.get(f"{NEXT}:turn", 0),
        "ended": bool(st.session_state.get(f"{NEXT}:ended")),
        "serial": st.session_state.get(f"{NEXT}:serial", 0),
        "off": off,
        "strongest": counted,
        "count": _("The next word hangs most on {heads}.").format(heads=named(counted)) if counted else "",
        "roles": [
            {"code": role, "title": names[role][0], "note": names[role][1].format(heads=named(heads)), "heads": heads}
            for role, heads in roles
        ],
        "locale": regional(),
        "words": {
            "on": _("Write on"),
            "stop": _("Stop"),
            "back": _("Back"),
            "write": _("Write “{word}” ({share})"),
            "others": _("all others"),
            "temperature": _("Temperature {value}"),
            "likeliest": _("Temperature 0: the likeliest"),
            "topP": "Top-p {value}",
            "seed": _("Seed"),
            "turn": _("{count} texts are being written already: yours is number {place} in line.").format(
                count=number(TEXTS), place="{place}"
            ),
            "ended": _("The network ends the text here."),
            "full": _("The text has {most} tokens: so many are written.").format(most=number(TOKENS)),
            "scale": _("Without the first token's glare"),
            "allOn": _("Off: {heads}. All on"),
        },
    }


def sent(name: str) -> dict[str, Any]:
    """Message of the bars; each answer has another number, so that the bars are told even where nothing else is new."""
    st.session_state[f"{NEXT}:serial"] = st.session_state.get(f"{NEXT}:serial", 0) + 1
    st.session_state[f"{NEXT}:turn"], st.session_state[f"{NEXT}:ended"] = 0, False
    value = st.session_state[NEXT].get(name)
    return value if isinstance(value, dict) else {}


def write(left: list[int], ids: list[int], off: list[Head]) -> None:
    """Write the token that was pressed, or draw one where the text is written on and it is its turn."""
    wish = sent("write")
    who = visitor()
    playing = wish.get("on") is True
    st.session_state[f"{NEXT}:playing"] = playing
    if playing:
        st.session_state[f"{NEXT}:turn"] = DESK.turns.ask(who.id, time.monotonic())
    if st.session_state[f"{NEXT}:turn"] or len(ids) >= TOKENS:
        return
    with suppress(Stopped), DESK.writer(who.limited_by) as writer:  # the bars ask again
        token = wish.get("token") if not playing else drawn(writer, wish, left, len(ids), off)
        if not isinstance(token, int) or not 0 <= token < len(writer.names):
            return
    if token in ENDS:
        st.session_state[f"{NEXT}:ended"] = True
        return
    st.session_state[WROTE] = [*st.session_state.get(WROTE, []), str(token)]


def drawn(writer: Writer, wish: dict[str, Any], left: list[int], place: int, off: list[Head]) -> int:
    """The next token by the reader's temperature, top-p and seed."""
    numbers = {name: wish.get(name) for name in ("temperature", "topP", "seed")}
    fit = all(isinstance(one, int | float) for one in numbers.values())
    temperature, top_p, seed = (float(one or 0) for one in numbers.values()) if fit else (0.0, 1.0, 0.0)
    scores = DESK.state(writer, left, off).scores
    return choose(
        scores,
        temperature=min(max(temperature, 0.0), TEMPERATURES[-1]),
        top_p=min(max(top_p, TOP_PS[0]), 1.0),
        seed=int(min(max(seed, 0), 999_999)),
        place=place,
    )


def take_back() -> None:
    """Take the last token away."""
    sent("back")
    st.session_state[f"{NEXT}:playing"] = False
    st.session_state[WROTE] = list(st.session_state.get(WROTE, []))[:-1]


def follow_link() -> None:
    """The browser went back, or forward again: its address says what is written."""
    tokens = sent("link").get("tokens")
    st.session_state[f"{NEXT}:playing"] = False
    if isinstance(tokens, list):
        st.session_state[WROTE] = [one for one in tokens[:TOKENS] if url_state.whole_number(str(one), 0, 49_151, -1) >= 0]


def switch() -> None:
    """Switch heads off, or on again."""
    heads = sent("off").get("heads")
    if isinstance(heads, list):
        pairs = [one for one in heads if isinstance(one, list) and len(one) == 2 and all(isinstance(x, int) for x in one)]
        st.session_state[OFF] = [str(layer * HEADS + head) for layer, head in pairs]


def rest() -> None:
    """End of writing on: the place is free, and the address keeps what was written."""
    sent("rest")
    st.session_state[f"{NEXT}:playing"] = False
    DESK.turns.leave(visitor().id)
