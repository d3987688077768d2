"""The choice of a photograph to look at: one of five, a file, the clipboard's or a dropped one, or a still of the live camera."""

import streamlit as st

from core.vision import seen_samples
from core.vision.gallery import photograph_gallery
from core.vision.pictures import Picture, PictureError
from pages.images import cached_results, live_camera, picture_source
from pages.shared import brought, camera_switch, controls, url_state
from pages.shared.browser_component import clipboard
from pages.shared.language import _, number

SAMPLE, SET, PHOTO = "sample", picture_source.SET, picture_source.PARAMETERS["photos"]
"""Parameters that name a bundled photograph, a kept picture of the visitor's, and a garment of the page Garments."""
LAYERS, HEADS = 12, 6
"""Of the network."""
REFUSED, FILMING = "see:refused", "see:filming"
"""Session keys: why the file given last could not be read, and whether the camera stands in the photograph's place."""


def pick() -> Picture | None:
    """The page's title with the ways to give one; None while the camera runs, or where it is gone."""
    heading, samples, own = st.container(key="see_top").columns([1.6, 2.2, 3.2], vertical_alignment="center")
    with heading:
        controls.page_header(_("Any photograph"))
    with own.container(horizontal=True, key="see_given"):
        clipboard("see_picture", _take)
        camera_switch.switch(FILMING, key="see_camera")
    filming = bool(st.session_state.get(FILMING))
    chosen = None if filming else _chosen()
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
    if filming:
        _film()
    return chosen


def _film() -> None:
    """The live camera in the photograph's place, lit by what stands out or by one head; a still of it is looked at."""
    lights = {"salience": _("What stands out"), "head": _("One head")}
    with st.container(horizontal=True, vertical_alignment="bottom", key="see_light"):
        light = url_state.choice(st.segmented_control, _("Light"), lights, key="camera_light")
        head = None
        if light == "head":
            layers = {str(one): number(one) for one in range(1, LAYERS + 1)}
            heads = {str(one): number(one) for one in range(1, HEADS + 1)}
            layer = url_state.choice(st.selectbox, _("Layer"), layers, key="camera_layer", default=str(LAYERS), width=100)
            head = int(layer), int(url_state.choice(st.selectbox, _("Head"), heads, key="camera_head", width=100))
    with st.container(key="see_stage"):
        data = live_camera.sight_camera(head, key="see_live", start=camera_switch.begins(FILMING))
    if data is not None:
        _use(**{SET: brought.kept_picture(data, _("Photograph"))})
        st.rerun()


def _use(**named: str) -> None:
    """Name one photograph in the address, and no other; the camera goes."""
    st.session_state[FILMING] = None
    for parameter in (SAMPLE, SET, PHOTO):
        st.query_params.pop(parameter, None)
    for parameter, value in named.items():
        st.query_params[parameter] = value


def _chosen() -> Picture | None:
    """The photograph that the address names; the first sample where it names none."""
    if key := st.query_params.get(SET):
        return picture_source.kept(key)
    place = url_state.whole_number(st.query_params.get(PHOTO), 0, len(photograph_gallery()) - 1, None)
    if place is not None:
        return cached_results.photograph_pictures()[place]
    name = st.query_params.get(SAMPLE, "")
    return seen_samples.sample(name if name in seen_samples.NAMES else next(iter(seen_samples.NAMES)))


def _take(data: bytes | None) -> None:
    """A picture that was just given."""
    if data is None:
        return
    name = _("Your picture")
    try:
        _use(**{SET: brought.kept_picture(data, name)})
    except PictureError as error:
        st.session_state[REFUSED] = picture_source.refusal_of(name, error)
