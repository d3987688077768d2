"""The choice of a picture: a bundled one, a file of the visitor's, one from the clipboard, or a still of the camera.

Visitors' pictures stay in the app's memory under an id (`core.vision.pictures.STORE`), which the link holds.
"""

from dataclasses import dataclass
from typing import Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import front
from core.messages import translate
from core.models.vit import CLASSES
from core.vision.classifier import DEFAULT, PHOTOGRAPHS
from core.vision.gallery import gallery, photograph_gallery
from core.vision.photographs import KINDS
from core.vision.pictures import STORE, Picture, PictureError
from pages.images import cached_results, live_camera, preparation, sample_pictures
from pages.shared import brought, camera_switch, controls, upload_caps, url_state
from pages.shared.browser_component import clipboard, sent_picture
from pages.shared.language import _, number

LARGEST_MB: Final = 30
OWN, REFUSED, GIVEN = "classify:own", "classify:refused", "classify:given"
"""Session keys: the id of the visitor's picture; why the file given last could not be read, which goes with the next picture that
is given or chosen; and how one was given that is not decoded yet."""
STILL, STARTED = "classify:still", "classify:started"
"""Session keys: the id of a still that was just taken, and that the camera was just asked for."""
SAMPLES: Final = (("photos", 13), ("photos", 10), ("gallery", 55))
"""Source and place of the pictures to press."""
PARAMETERS: Final = {"photos": "photo", "gallery": "item"}
"""Parameter that holds the place, by the source."""
SET: Final = "set"
"""Parameter that holds the id."""


@dataclass(frozen=True, kw_only=True)
class ChosenPicture:
    """The chosen picture. Attributes: name: its caption. truth: the class that is right; None where nobody knows."""

    picture: Picture
    name: str
    truth: str | None = None


def samples(room: DeltaGenerator) -> None:
    """Three pictures to press: two photographs, and a test image as the report's ViT reads them."""
    state = st.session_state
    kind = str(state.get("from"))
    with room:
        sample_pictures.buttons(
            SAMPLES,
            key="garments_sample",
            on_press=_use_sample,
            chosen=(kind, int(state.get(PARAMETERS[kind], -1))) if kind in PARAMETERS else None,
        )


def _use_sample(kind: str, item: int) -> None:
    """Ask about a bundled picture."""
    st.session_state["from"], st.session_state[PARAMETERS[kind]] = kind, str(item)
    _forget_box()


def pick(own: DeltaGenerator, paste: DeltaGenerator, stage: DeltaGenerator) -> ChosenPicture | None:
    """The controls to choose by; None while nothing is chosen.

    Args:
        own, paste, stage: room for a file of the reader's own, for the clipboard's, and for the live camera and what was wrong
            with a file; everything else is drawn where the caller is.
    """
    if still := st.session_state.pop(STILL, None):
        st.session_state["from"], st.session_state[OWN] = "upload", still
    kinds = {
        "photos": _("Photographs"),
        "gallery": _("Test images"),
        "camera": _("Camera"),
        "upload": _("Your picture"),
    }
    photographs = PHOTOGRAPHS in cached_results.model_names() and "item" not in st.query_params
    of_the_report = st.query_params.get("vit") == DEFAULT  # the report's ViT opens on what it learnt from
    default = "photos" if photographs and not of_the_report else "gallery"
    with own:
        _take(paste)
        camera_switch.button(st.session_state.get("from") == "camera", _film, key="garments_camera")
    kind = url_state.choice(st.segmented_control, _("Picture from"), kinds, key="from", default=default)
    if kind != "gallery":
        url_state.remember("item", None)
    if kind != "photos":
        url_state.remember("photo", None)
    if kind == "upload":
        if REFUSED in st.session_state:
            with stage:
                controls.error_box(st.session_state[REFUSED])
        return _own_picture()
    st.session_state.pop(REFUSED, None)
    url_state.remember(SET, None)
    if kind == "camera":
        with stage.container(key="garments_stage"):
            _still()
        return None
    return _pick_test_image() if kind == "gallery" else _pick_photograph()


# -- bundled pictures -------------------------------------------------------------------------------------------------------


def _pick_test_image() -> ChosenPicture:
    images, classes, rows = gallery()
    labels = classes.tolist()
    by_class = sorted(range(len(images)), key=lambda i: (labels[i], i))
    names = {str(i): _("{garment}, test image {number}").format(garment=_(CLASSES[labels[i]]), number=rows[i]) for i in by_class}
    item = _pick_from_sheet("gallery", names, default=min(names, key=int))
    st.caption(_("No model was trained on these."))
    return ChosenPicture(picture=cached_results.gallery_picture(item), name=names[str(item)], truth=CLASSES[labels[item]])


def _pick_photograph() -> ChosenPicture:
    photographs = photograph_gallery()
    kinds = [one.kind for one in photographs]
    names = {str(i): f"{_(KINDS[kind])} {1 + i - kinds.index(kind)}" for i, kind in enumerate(kinds)}
    item = _pick_from_sheet("photos", names, default=str(front.answers()["photograph"]["photo"]))  # that of the front page
    st.caption(_("No model was trained on these."))
    picture = cached_results.photograph_pictures()[item]
    return ChosenPicture(picture=picture, name=names[str(item)], truth=photographs[item].name)


def _pick_from_sheet(kind: str, names: dict[str, str], *, default: str) -> int:
    """The place of a bundled picture, each of which is a button."""

    def sheet(_label: str, places: list[str], *, key: str, **_more: object) -> str:
        chosen = str(st.session_state[key])
        with st.container(horizontal=True, key="classify_sheet"):
            all_of_them = [(kind, int(place)) for place in places]
            sample_pictures.buttons(
                all_of_them, key=f"classify_{kind}", chosen=(kind, int(chosen)), on_press=_use_sample, named=False
            )
        return chosen

    return int(url_state.choice(sheet, "", names, key=PARAMETERS[kind], default=default))


def in_address() -> dict[str, str]:
    """The parameter that names the chosen photograph, as `see` takes it too; none for a test image."""
    name = {"upload": SET, "photos": PARAMETERS["photos"]}.get(str(st.session_state.get("from")))
    if name is None:
        return {}
    value = st.query_params.get(name) or st.session_state.get(OWN if name == SET else name)
    return {name: str(value)} if value else {}


# -- files, the camera -----------------------------------------------------------------------------------------------------


def _take(paste: DeltaGenerator) -> None:
    """The uploader and the clipboard's button; a picture just given with either is decoded, kept, and the one to answer."""
    state = st.session_state
    file = upload_caps.upload_button(
        _("Picture: PNG, JPEG, WebP, GIF, BMP, TIFF, HEIC or AVIF, of any size and colours"),
        key="classify:file",
        max_upload_size=LARGEST_MB,
        on_change=lambda: _touch("upload"),
        label_visibility="collapsed",
    )
    with paste:
        pasted = clipboard("classify_pasted", lambda _data: _touch("paste"), chooses=False)
    way = state.get(GIVEN)
    if way is None:
        return
    data, name = (sent_picture(pasted), _("Your picture")) if way == "paste" else (file.getvalue(), file.name)
    kept = refused = None
    if data is not None:
        try:
            kept = brought.kept_picture(data, name)
        except PictureError as error:
            refused = refusal_of(name, error)
    state[OWN] = kept
    url_state.remember(SET, kept)
    state.pop(REFUSED, None)
    if refused is not None:
        state[REFUSED] = refused
    state.pop(GIVEN)  # last, as a press may stop the run before it is kept


def refusal_of(name: str, error: PictureError) -> str:
    """A sentence that names the file and says why it cannot be read."""
    return f"{name}: {translate(str(error))}."


def _film() -> None:
    st.session_state["from"], st.session_state[STARTED] = "camera", True
    _forget_box()


def _still() -> None:
    """The live camera; a still of it is asked about at once."""
    start = bool(st.session_state.pop(STARTED, False))
    data = live_camera.sight_camera(key="classify_camera", on_still=_forget_box, start=start)
    if data is not None:
        st.session_state[STILL] = brought.kept_picture(data, _("Photograph"))
        st.rerun()


def _touch(kind: str) -> None:
    st.session_state[GIVEN] = kind
    st.session_state["from"] = "upload"  # whoever gives a picture asks about it
    _forget_box()


def _forget_box() -> None:
    """Leave the crop to the model again where a box was drawn: it was drawn on another picture."""
    preparation.choose(**preparation.NO_BOX)


def _own_picture() -> ChosenPicture | None:
    """The picture of the link, which is that given last where the page wrote it."""
    given = st.query_params.get(SET, st.session_state.get(OWN)) or ""
    key = st.session_state[OWN] = given.partition(",")[0] or None  # links of before named several pictures
    url_state.remember(SET, key)
    picture = kept(key) if key else None
    return ChosenPicture(picture=picture, name=picture.name) if picture else None


def kept(key: str) -> Picture | None:
    """A picture that somebody brought; None, after a notice, where it is gone."""
    if (picture := STORE.find(key)) is None:
        sentence = _("What this link held is gone: it lasts while the app runs, of each visitor the newest few.")
        controls.notice("stale", sentence)
    return picture


def description(picture: Picture) -> str:
    """Kind, size and mode of a visitor's file, and what was done to read it."""
    parts = [
        _("{kind}, {width} x {height} pixels, mode {mode}").format(
            kind=picture.kind, width=number(picture.width), height=number(picture.height), mode=picture.mode
        )
    ]
    return "; ".join([*parts, *(translate(clause) for clause in picture.done.values())]) + "."
