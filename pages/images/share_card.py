"""A picture's answer as one PNG to share, made in the browser (its browser side: assets/scripts/share_card.js)."""

from __future__ import annotations

from typing import Final

from core.figures.pictures import data_url, fitted_png
from core.vision.analysis import PictureAnalysis
from core.vision.evidence import Hidden, hidden_answer, painted
from core.vision.fooling import Needed
from core.vision.preprocessing import PreparedPicture
from pages.shared import controls
from pages.shared.browser_component import browser_component
from pages.shared.language import _, number, percent

SIDE: Final = 340


def show(
    analysis: PictureAnalysis,
    prepared: PreparedPicture,
    *,
    doubts: str,
    hidden: Hidden | None = None,
    needed: Needed | None = None,
) -> None:
    """The button.

    Args:
        doubts: why the picture may be no garment, nothing where it is taken for one. hidden: (patches,) those rubbed out.
        needed: what the maps need to change the answer, where that is known.
    """
    classifier, before = analysis.classifier, analysis.probabilities
    names = [_(name) for name in classifier.class_names]
    after = before if hidden is None else hidden_answer(analysis, hidden)
    label = int(after.argmax())
    lines = [_("Confidence {share}").format(share=percent(float(after[label])))]
    if doubts:
        lines.append(doubts)
    if hidden is not None:
        sentence = _("With {count} of {all} patches rubbed out; before it said {name}, {share}.")
        count, old = number(int(hidden.sum())), analysis.likeliest
        lines.append(sentence.format(count=count, all=number(analysis.grid**2), name=names[old], share=percent(before[old])))
    if needed is not None:
        lines.append(map_test(needed))
    if classifier.photographs is not None:
        known = classifier.photographs
        sentence = _("It is right on {share} of {count} photographs that it did not learn from.")
        lines.append(sentence.format(share=percent(known.accuracy), count=number(known.samples)))
    pictures = (prepared.step("turn").image, painted(analysis, hidden))
    browser_component("share_card")(
        key="share_card",
        data={
            "label": _("Card to share (PNG)"),
            "pictures": [data_url(fitted_png(one, side=SIDE)) for one in pictures],
            "title": names[label] if analysis.garment else _("{name}, perhaps").format(name=names[label]),
            "lines": lines,
            "name": _("Attention Observatory"),
            "link": controls.view_address(),
        },
    )


def map_test(needed: Needed) -> str:
    """Says whether the last attention map knew what matters, by the patches that it takes to change the answer."""
    random = needed.random_median
    if needed.attention is None or random == float("inf"):
        return _("The attention map was not put to the test: rubbing out patches does not change this answer.")
    words = (
        _("The attention map passed its test: {few} patches in its order change the answer, at random it takes {many}.")
        if len(needed.attention) < random
        else _("The attention map failed its test: {few} patches in its order change the answer, at random it takes {many}.")
    )
    return words.format(few=number(len(needed.attention)), many=number(random))
