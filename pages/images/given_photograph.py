"""The choice of a photograph to look at: one of five, a file, the clipboard's or a dropped one, or a still of the camera."""

from __future__ import annotations

from typing import Final

import streamlit as st

from core.vision import seen_samples
from core.vision.gallery import photograph_gallery
from core.vision.pictures import STORE, Picture, PictureError
from pages.images import cached_results, picture_source
from pages.shared import brought, controls, permissions, url_state
from pages.shared.browser_component import browser_component, sent_picture
from pages.shared.language import _

SAMPLE, SET, PHOTO = "sample", picture_source.SET, picture_source.PARAMETERS["photos"]
"""Parameters that name a bundled photograph, a kept picture of the visitor's, and a garment of the page Garments."""
REFUSED: Final = "see:refused"
"""Session key: why the file given last could not be read."""


def pick() -> Picture | None:
    """The page's title with the ways to give a photograph; the photograph, None where that of a link is gone."""
    heading, samples, own = st.container(key="see_top").columns([1.4, 3, 2], vertical_alignment="center")
    with heading:
        controls.page_header(_("Any photograph"))
    with own.container(horizontal=True, key="see_given"):
        _take()
    chosen = _chosen()
    with samples.container(horizontal=True, key="see_samples"):
        for name, title in seen_samples.NAMES.items():
            st.button(
                _(title),
                key=f"see_{name}",
                type="primary" if chosen is not None and chosen.name == title else "secondary",
                on_click=_use,
                kwargs={SAMPLE: name},
            )
    if REFUSED in st.session_state:
        controls.error_box(st.session_state.pop(REFUSED))
    return chosen


def _use(**named: str) -> None:
    """Name one photograph in the address, and no other."""
    for parameter in (SAMPLE, SET, PHOTO):
        st.query_params.pop(parameter, None)
    for parameter, value in named.items():
        st.query_params[parameter] = value


def _chosen() -> Picture | None:
    """The photograph that the address names; the first sample where it names none."""
    if key := st.query_params.get(SET):
        if (picture := STORE.find(key)) is None:
            sentence = _("The picture of this link is gone: it lasts as long as the app runs, of each visitor the newest few.")
            controls.notice("stale", sentence)
        return picture
    place = url_state.whole_number(st.query_params.get(PHOTO), 0, len(photograph_gallery()) - 1, None)
    if place is not None:
        return cached_results.photograph_pictures()[place]
    name = st.query_params.get(SAMPLE, "")
    return seen_samples.sample(name if name in seen_samples.NAMES else next(iter(seen_samples.NAMES)))


def _take() -> None:
    """A file that is chosen, pasted or dropped anywhere on the page; the browser makes it small before it is sent."""
    labels = {
        "choose": _("Choose a picture"),
        "paste": _("Paste"),
        "hint": _("or drop it anywhere on this page"),
        "none": _("There is no picture in the clipboard: copy one first."),
        "refused": _("The browser does not let this page read the clipboard: press Ctrl+V instead, or choose the file."),
        "damaged": _("This browser cannot read the file as a picture: save it as PNG or JPEG first."),
    }

    def keep() -> None:
        data = sent_picture(st.session_state["see_picture"].get("picture"), max_bytes=picture_source.MAX_PASTED)
        if data is None:
            return
        name = _("Your picture")
        try:
            _use(**{SET: STORE.keep(brought.picture(data, name), permissions.visitor().holder)})
        except PictureError as error:
            st.session_state[REFUSED] = picture_source.refusal_of(name, error)

    browser_component("clipboard")(key="see_picture", data={"labels": labels}, on_picture_change=keep)
