"""Words through two networks: MiniLM reads a sentence, every layer and head of it; SmolLM2 writes (`writing.py`)."""

from functools import partial
from typing import Any, Final

import streamlit as st

from core.explain.erasing import RANDOM_ORDERS
from core.lecture.notebooks import on_screen
from core.messages import BadValue
from core.package_files import MAKE, MissingModels
from core.words import bundled
from core.words.model_files import WORD_FILES
from core.words.sentences import MAX_CHARACTERS, ReadSentence, SentenceReader, likeness, sentence_reader
from pages.learn import cached_sentences, take_along, writing
from pages.shared import controls, erased, url_state
from pages.shared.attention_view import attention_view
from pages.shared.language import _, ngettext, number, prose_section
from pages.shared.stat_strip import Stat, stat_strip

TEXT: Final = "text"
OTHER: Final = "other"
RUBBED_OUT: Final = "hide_words"


def reader() -> SentenceReader | None:
    """The model, waited for where it is drawn; None where it is not set up, so that the bundled sentences are all there is."""
    try:
        with st.spinner(_("Loading the network…")):
            return sentence_reader()
    except MissingModels:
        return None


def sentence(text: str) -> ReadSentence | None:
    """The sentence as the model reads it, or as it is bundled; None, after an error box, where neither can be."""
    known = bundled.sentences()
    if text in known:
        return known[text]
    model = reader()
    if model is None:
        controls.notice(
            "empty", _("Without the model only the three sentences above are here: run `{make} words` once.").format(make=MAKE)
        )
        return None
    try:
        return cached_sentences.read(model, text)
    except BadValue as error:
        controls.error_box(error, remedy=_("Type another text."))
        return None


def ask() -> str:
    """The sentence to read: one's own, or one of three."""
    samples = dict(zip(bundled.sentences(), (_("tired"), _("wide"), _("in Spanish")), strict=True))
    label = _("Your text, up to {most} characters").format(most=number(MAX_CHARACTERS))
    return controls.own_text(label, key=TEXT, samples=samples, most=MAX_CHARACTERS)


def remainder(model: SentenceReader, one: ReadSentence, hidden: list[int]) -> None:
    """The rest of the sentence's vector without the pieces that are rubbed out."""
    if not hidden:
        return
    with controls.progress(_("Asking again without one part after another…")) as report:
        order = cached_sentences.order_of_change(model, one, report=report)
    left = cached_sentences.remainder(model, one, tuple(hidden), order)
    line = ngettext(
        "Without {count} piece the sentence's vector has a cosine of **{cosine}** with that of the whole. Without the one that "
        "changes it most it has {most}, without one at random {chance} (median of {draws}).",
        "Without {count} pieces the sentence's vector has a cosine of **{cosine}** with that of the whole. Without the {count} "
        "that change it most it has {most}, without {count} at random {chance} (median of {draws}).",
        len(hidden),
    ).format(
        count=number(len(hidden)),
        cosine=number(left.cosine, 3),
        most=number(left.cosine_without_most, 3),
        chance=number(left.cosine_at_random, 3),
        draws=number(RANDOM_ORDERS),
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(line)
        st.button(_("Those that change it most"), key="words_most", on_click=erased.keeper(RUBBED_OUT), args=(left.most,))
        erased.bring_back(RUBBED_OUT)


def notebook_values(one: ReadSentence, other: ReadSentence) -> dict[str, Any]:
    """Values of the notebook: both texts, and what the piece that the page opens with looks at in its head."""
    layer, head, token = map(int, bundled.opening(one)["choice"].split("."))
    shown = {"what the piece looks at": one.weights[layer, head, token], "cosine": likeness(one, other)}
    return {"TEXT": one.text, "OTHER": other.text, "LAYER": layer, "HEAD": head, "TOKEN": token, **on_screen(shown)}


def compare(one: ReadSentence) -> ReadSentence | None:
    """A second sentence, and how alike the two are; the second one as it is read."""
    st.header(_("How alike are two sentences?"), anchor=False)
    st.markdown(prose_section("words", "alike"))
    samples = list(bundled.sentences())
    text = url_state.text(_("Another sentence"), key=OTHER, default=samples[1], max_chars=MAX_CHARACTERS)
    controls.cut_link(OTHER)
    other = sentence(text)
    if other is None:
        return None
    note = _("1: the same direction, 0: unrelated")
    stat_strip([Stat(name=_("cosine").capitalize(), value=number(likeness(one, other), 3), note=note)])
    return other


def reads() -> None:
    """The network that reads: a sentence, its heads, and another sentence beside it."""
    read = sentence(ask() or next(iter(bundled.sentences())))
    if read is not None:
        titles = {f"layer {i}": _("Layer {number}").format(number=i) for i in range(1, 7)}
        hidden = [one for one in erased.rubbed_out(RUBBED_OUT, len(read.tokens) - 1, of=read.text) if one]  # [CLS] and [SEP] stay
        can_erase = WORD_FILES.available()  # known before the model is loaded, which takes seconds
        model = reader() if hidden and can_erase else None
        rest = read if model is None else cached_sentences.without(model, read, tuple(hidden))
        scene = rest.scene(**bundled.opening(read, hidden), titles=titles)
        attention_view(scene, key="light", erased=hidden, on_erase=erased.keeper(RUBBED_OUT) if can_erase else None)
        mini = reader()
        if mini is not None:
            remainder(mini, read, hidden)
        if read.text not in bundled.sentences() and mini is not None:
            st.caption(_("Answered by {model}.").format(model=f"MiniLM, {controls.computed_on(mini)}"))
        st.markdown(prose_section("words", "lead"))
        other = compare(read)
        take_along.offer(
            "sentences", "reads", _("Words"), partial(notebook_values, read, other) if other and not hidden else None
        )


title, networks = st.columns([1, 3], vertical_alignment="center")
with title:
    controls.page_header(_("Words"))
with networks:
    network = url_state.choice(
        st.segmented_control,
        _("Network"),
        {"reads": _("reads"), "writes": _("writes")},
        key="network",
        label_visibility="collapsed",
    )
if network == "writes":
    writing.draw()
else:
    reads()
