"""Own classes taught by a class's phones: the switch, the score as pictures come, the phones and their removal."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Final

import streamlit as st

from core.figures import pictures as figures
from core.lecture.classroom import CLASSES, ClassError
from core.vision.class_teaching import ClassTeaching
from core.vision.classifier import Classifier
from core.vision.own_classes import OwnClasses, OwnClassesError
from pages.learn import class_push, predict
from pages.learn.plain_view import PlainView
from pages.shared import controls
from pages.shared.language import LANGUAGES, _, ngettext, number, percent, speaking
from pages.shared.live_plot import live_plot

EVERY_S: Final = 2.0
"""Seconds between two fits."""
HEIGHT: Final = 260


def show(classifier: Classifier, names: Sequence[str], use: Callable[[OwnClasses], None]) -> None:
    """The class that this page leads, or the switch that opens one.

    Args:
        names: of the classes. use: called with the head that the class taught, when its leader asks for it.
    """
    class_push.panel(
        _(
            "Thirty phones teach these classes together by one link. The app reads each picture once and lets it go; the numbers "
            "that the model computed from it stay in the app's memory for as long as the class lives, three hours at most unused."
        )
    )
    code = predict.led()
    if not code:
        return
    try:
        if not isinstance(CLASSES.learner(code), ClassTeaching):
            CLASSES.learn(code, ClassTeaching(classifier, names))
            CLASSES.show(code, {language: _view(language) for language in LANGUAGES}, None, revealed=False)
            st.rerun()  # the names above stay as they are from now on
    except (ClassError, OwnClassesError) as error:
        controls.error_box(str(error))
        return
    _together(code, use)


def teaching() -> ClassTeaching | None:
    """The learner that this session's class teaches; None where it leads none."""
    learner = CLASSES.learner(predict.led())
    return learner if isinstance(learner, ClassTeaching) else None


def _view(language: str) -> str:
    with speaking(language):
        return json.dumps(
            PlainView(title=_("Teach your own classes"), part="", dials=(), body="", address="own-classes").content(),
            ensure_ascii=False,
        )


@st.fragment(run_every=EVERY_S)
def _together(code: str, use: Callable[[OwnClasses], None]) -> None:
    taught = teaching()
    if taught is None:
        return
    if taught.learn():
        CLASSES.learn(code, taught)
    counts, phones = taught.counts(), taught.phones()
    classes = " · ".join(f"**{controls.plain(name)}** {number(count)}" for name, count in zip(taught.names, counts, strict=True))
    st.markdown(classes)
    if not taught.curve or taught.head is None:
        controls.notice("empty", _("The score comes once two phones have taught each class, with five pictures of each."))
    else:
        _score(taught, max(counts) / sum(counts), use)
    if phones:
        with st.popover(ngettext("{count} phone", "{count} phones", len(phones)).format(count=number(len(phones)))):
            st.caption(_("Phones have numbers, no names. What is taken out is forgotten, and no more is taken of that phone."))
            for phone, count in phones.items():
                text = _("Take out phone {number}: {count} pictures").format(number=number(phone), count=number(count))
                st.button(text, key=f"own:phone:{phone}", on_click=_remove, args=(code, phone))


def _score(taught: ClassTeaching, chance: float, use: Callable[[OwnClasses], None]) -> None:
    newest = taught.curve[-1]
    sentence = _(
        "**{share}** of {count} pictures are answered rightly by a head that had not learnt from their phone ({low} to {high})."
    )
    st.markdown(
        sentence.format(
            share=percent(newest.share), count=number(newest.pictures), low=percent(newest.low), high=percent(newest.high)
        ),
        help=_("Each fifth of the phones is held out in turn. The interval of 95 % (Wilson) counts each phone once."),
    )
    alt = _("The held-out score with its interval, against the number of pictures; dotted, what guessing gives.")
    figure = figures.held_out_figure(taught.curve, chance=chance, height=HEIGHT)
    live_plot(figure, key="own_curve", height=HEIGHT, filename="class-score", alt=alt)
    if taught.head is not None and st.button(_("Use what they taught"), icon=":material/school:", key="own_together"):
        use(taught.head)
        st.rerun()


def _remove(code: str, phone: int) -> None:
    def act() -> None:
        if taught := teaching():
            taught.remove(phone)

    class_push.with_lead(code, act)
