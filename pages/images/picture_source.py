"""The choice of a picture: a bundled test image, one or several uploads, or a photograph by the camera.

Visitors' pictures stay in the app's memory under an id (`core.vision.pictures.STORE`), which the link holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import front
from core.figures import pictures as figures
from core.messages import translate
from core.models.vit import CLASSES
from core.vision.classifier import DEFAULT, PHOTOGRAPHS
from core.vision.gallery import gallery, photograph_gallery
from core.vision.photographs import KINDS
from core.vision.pictures import STORE, Picture, PictureError
from pages.images import cached_results, live_camera, preparation, sample_pictures, sheet
from pages.images.sheet import COLUMNS
from pages.shared import brought, controls, permissions, upload_caps, url_state
from pages.shared.browser_component import browser_component, sent_picture
from pages.shared.language import _, ngettext, number

MAX_FILES: Final = 48
"""At once; each stays in memory and in the link."""
LARGEST_MB: Final = 30
PHOTO_SIDE: Final = 64
"""Side of a photograph on its sheet, pixels."""
PHOTO_SHEET_HEIGHT: Final = 185
MAX_PASTED: Final = 6_000_000
"""Bytes of a picture of 1,024 x 1,024 pixels, the largest that the browser sends from the clipboard."""
REFUSED: Final = "classify:refused"
"""Why files given last could not be read; it goes with the next picture that is given or chosen."""
STILL, STARTED = "classify:still", "classify:started"
"""Session keys: the id of a still that was just taken, and that the camera was just asked for."""
SAMPLES: Final = (("photos", 4), ("photos", 10), ("gallery", 55))
"""Source and place of the pictures to press."""
PARAMETERS: Final = {"photos": "photo", "gallery": "item"}
"""Parameter that holds the place, by the source."""
SET: Final = "set"
"""Parameter that holds the ids."""


@dataclass(frozen=True, kw_only=True)
class ChosenPicture:
    """The chosen picture.

    Attributes:
        picture: the one to show. all: it and those it was given with, in their order.
        name: its caption. truth: the class that is right; None where nobody knows.
    """

    picture: Picture
    all: tuple[Picture, ...]
    name: str
    truth: str | None = None


def samples(room: DeltaGenerator) -> None:
    """Three pictures to press: two photographs, and a test image as the report's ViT reads them."""
    state = st.session_state

    def use(kind: str, item: int) -> None:
        state["from"], state[PARAMETERS[kind]] = kind, str(item)
        _forget_box()

    kind = str(state.get("from"))
    with room:
        sample_pictures.buttons(
            SAMPLES,
            key="garments_sample",
            on_press=use,
            chosen=(kind, int(state.get(PARAMETERS[kind], -1))) if kind in PARAMETERS else None,
        )


def pick(own: DeltaGenerator, paste: DeltaGenerator, stage: DeltaGenerator) -> ChosenPicture | None:
    """The controls to choose by; None while nothing is chosen.

    Args:
        own, paste, stage: room for files of the reader's own, for the clipboard's, and for the live camera and what was wrong
            with a file; everything else is drawn where the caller is.
    """
    if still := st.session_state.pop(STILL, None):
        st.session_state["from"], st.session_state["classify:ids:upload"] = "upload", [still]
    kinds = {
        "photos": _("Photographs"),
        "gallery": _("Test images"),
        "camera": _("Camera"),
        "upload": _("Your pictures"),
    }
    photographs = PHOTOGRAPHS in cached_results.model_names() and "item" not in st.query_params
    of_the_report = st.query_params.get("vit") == DEFAULT  # the report's ViT opens on what it learnt from
    default = "photos" if photographs and not of_the_report else "gallery"
    with own:
        given = _uploads(paste)
        st.button(
            _("Camera"),
            icon=":material/videocam:",
            key="garments_camera",
            type="primary" if st.session_state.get("from") == "camera" else "secondary",
            on_click=_film,
        )
    kind = url_state.choice(st.segmented_control, _("Picture from"), kinds, key="from", default=default, required=True)
    if kind != "gallery":
        url_state.remember("item", None)
    if kind != "photos":
        url_state.remember("photo", None)
    if kind == "upload":
        with stage:
            for sentence in st.session_state.get(REFUSED, ()):
                controls.error_box(sentence)
    else:
        st.session_state.pop(REFUSED, None)
    if kind in ("gallery", "photos"):
        url_state.remember(SET, None)
        return _pick_test_image() if kind == "gallery" else _pick_photograph()
    if kind == "camera" and st.session_state.get(STARTED):
        url_state.remember(SET, None)
    if kind == "camera" and SET not in st.query_params:  # else the link is to a still that was taken
        with stage.container(key="garments_stage"):
            _still()
        return None
    return _pick_kept(kind, given)


# -- the gallery ------------------------------------------------------------------------------------------------------------


def _pick_test_image() -> ChosenPicture:
    images, classes, rows = gallery()
    labels = classes.tolist()
    by_class = [[i for i, label in enumerate(labels) if label == one] for one in range(len(CLASSES))]
    order = [group[row] for row in range(min(map(len, by_class))) for group in by_class]
    names = {
        str(i): _("{garment}, test image {number}").format(garment=_(CLASSES[labels[i]]), number=rows[i])
        for i in sorted(order, key=lambda i: (labels[i], i))
    }
    above = st.container()  # the sheet over its list: as wide as there is room
    item = int(url_state.choice(st.selectbox, _("Test image (or click one)"), names, key="item", default=min(names, key=int)))
    st.caption(_("The first six test images of each class, a class a column. No model was trained on them or chosen by them."))
    with above:
        figure = figures.gallery_figure(images[order], columns=COLUMNS, chosen=order.index(item))
        sheet.draw_sheet(
            figure,
            key="classify_gallery",
            alt=_("The bundled test images; a click chooses one."),
            count=len(order),
            side=28,
            height=250,
            on_pick=lambda place: st.session_state.update(item=str(order[place])),
        )
    return _bundled(cached_results.gallery_picture(item), names[str(item)], CLASSES[labels[item]])


def _pick_photograph() -> ChosenPicture:
    """One of the bundled photographs, from a sheet that shows which of them the default model answers rightly."""
    photographs, pictures = photograph_gallery(), cached_results.photograph_pictures()
    rows = len(pictures) // COLUMNS
    order = [column * rows + row for row in range(rows) for column in range(COLUMNS)]
    names = {str(i): f"{_(KINDS[one.kind])} {i % rows + 1}" for i, one in enumerate(photographs)}
    hits = cached_results.photograph_hits_if_known(cached_results.photograph_classifier())
    default = str(front.answers()["photograph"]["photo"])  # that of the front page
    above = st.container()
    item = int(url_state.choice(st.selectbox, _("Photograph (or click one)"), names, key="photo", default=default))
    st.caption(_("The first three of each kind among photographs that no model was trained on."))
    if hits is not None:
        sentence = _("{hits} of {count} are answered rightly (blue frames).")
        st.caption(sentence.format(hits=number(sum(hits)), count=number(len(hits))))
    with above:
        figure = figures.photographs_figure(
            [pictures[i].rgb for i in order],
            [hits[i] if hits is not None else None for i in order],
            columns=COLUMNS,
            side=PHOTO_SIDE,
            chosen=order.index(item),
            height=PHOTO_SHEET_HEIGHT,
        )
        sheet.draw_sheet(
            figure,
            key="classify_photographs",
            count=len(order),
            side=PHOTO_SIDE,
            height=PHOTO_SHEET_HEIGHT,
            alt=_("The bundled photographs, those with blue frames answered rightly; a click chooses one."),
            on_pick=lambda place: st.session_state.update(photo=str(order[place])),
        )
    return _bundled(pictures[item], names[str(item)], photographs[item].name)


def _bundled(picture: Picture, name: str, truth: str | None) -> ChosenPicture:
    return ChosenPicture(picture=picture, all=(picture,), name=name, truth=truth)


def link_to_view() -> None:
    """The page's address, with a note on how long a visitor's picture is kept where it holds one."""
    note = (
        _("Whoever has this link can open your pictures while the app runs: of each visitor the newest few.")
        if SET in st.query_params
        else ""
    )
    controls.link_to_view(note)


# -- files, the camera -----------------------------------------------------------------------------------------------------


def _uploads(paste: DeltaGenerator) -> list[str] | None:
    """Ids of the pictures in the uploader; None where it was left alone."""
    files = upload_caps.file_uploader(
        _("Pictures: PNG, JPEG, WebP, GIF, BMP, TIFF, HEIC or AVIF, of any size and colours"),
        accept_multiple_files=True,
        key="classify:files",
        max_upload_size=LARGEST_MB,
        on_change=_touch,
        args=("upload",),
        label_visibility="collapsed",
    )
    if len(files) > MAX_FILES:
        controls.notice("stale", _("At most {count} pictures at once: the others are left out.").format(count=number(MAX_FILES)))
    with paste:
        pasted = _pasted()
    decoded = _decoded([(one.file_id, one.name, one) for one in files[:MAX_FILES]], "upload")
    return pasted if decoded is None else [*(pasted or []), *decoded]


def decoded(data: bytes, name: str) -> Picture | None:
    """A file's picture; None, after a message, where it cannot be decoded."""
    try:
        return brought.picture(data, name)
    except PictureError as error:
        controls.error_box(_("{file}: {why}.").format(file=name, why=translate(str(error))))
        return None


def _pasted() -> list[str] | None:
    """The id of the newest picture from the clipboard, which is chosen when it comes; None where there is none."""
    state = st.session_state
    labels = {
        "paste": _("Paste a picture (or press Ctrl+V)"),
        "none": _("There is no picture in the clipboard: copy one first."),
        "refused": _("The browser does not let this page read the clipboard: press Ctrl+V instead, or upload the file."),
        "damaged": _("The browser cannot read this picture: save it and upload the file."),
    }
    component = browser_component("clipboard")
    result = component(key="classify_pasted", data={"labels": labels}, on_picture_change=lambda: _touch("paste"))
    data = sent_picture(result.get("picture"), max_bytes=MAX_PASTED)
    came = state.get("classify:touched:paste", False)
    if came:
        state.pop(REFUSED, None)
    if came and data is not None and (picture := decoded(data, _("Pasted picture"))):
        state["classify:pasted"] = state["picture"] = _keep(picture)
    state.pop("classify:touched:paste", None)  # now, as a press may have stopped the run before it was kept
    return [state["classify:pasted"]] if "classify:pasted" in state else None


def _film() -> None:
    st.session_state["from"], st.session_state[STARTED] = "camera", True
    _forget_box()


def _still() -> None:
    """The live camera; a still of it is asked about at once."""
    start = bool(st.session_state.pop(STARTED, False))
    data, _shots = live_camera.garment_camera(key="classify_camera", on_still=_forget_box, start=start)
    if data is not None:
        st.session_state[STILL] = _keep(brought.picture(data, _("Photograph")))
        st.rerun()


def _touch(kind: str) -> None:
    st.session_state[f"classify:touched:{kind}"] = True
    st.session_state["from"] = "upload"  # whoever gives a picture asks about it
    _forget_box()


def _forget_box() -> None:
    """Leave the crop to the model again where a box was drawn: it was drawn on another picture."""
    preparation.choose(**preparation.NO_BOX)


def _decoded(files: Sequence[tuple[str, str, Any]], kind: str) -> list[str] | None:
    """Ids of the files that could be decoded, after a message for each of the others.

    None for no files, unless a person has just removed them: a widget is also empty after a visit to another page.
    """
    state = st.session_state
    if not state.pop(f"classify:touched:{kind}", False) and not files:
        return None
    results: dict[str, str | PictureError] = state.setdefault("classify:decoded", {})
    new = [one for one in files if _to_decode(results.get(one[0]))]
    for file_id, name, file in controls.counted(new, _("Decoding…")) if new else ():
        try:
            results[file_id] = _keep(brought.picture(file.getvalue(), name))
        except PictureError as error:
            results[file_id] = error
    if new:
        bad = [(name, why) for one, name, _file in new if isinstance(why := results[one], PictureError)]
        state[REFUSED] = [_("{file}: {why}.").format(file=name, why=translate(str(fault))) for name, fault in bad]
    elif not any(isinstance(results[one], PictureError) for one, _name, _file in files):
        state.pop(REFUSED, None)
    ids = [result for file_id, _name, _file in files if isinstance(result := results[file_id], str)]
    return list(dict.fromkeys(ids))


def _keep(picture: Picture) -> str:
    """The id of this visitor's picture, which is kept for its link."""
    return STORE.keep(picture, permissions.visitor().holder)


def _to_decode(result: str | PictureError | None) -> bool:
    """Tells whether a file is new, or its picture is no longer kept."""
    return result is None or (isinstance(result, str) and STORE.find(result) is None)


def _pick_kept(kind: str, given: list[str] | None) -> ChosenPicture | None:
    """The chosen one of the pictures given now, earlier, or by the link."""
    state, kept = st.session_state, f"classify:ids:{kind}"
    linked = st.query_params.get(SET)
    if given is not None:
        before = state.get(kept, [])
        new = [one for one in given if one not in before]
        if before and new:
            state["picture"] = new[0]  # what a person just added is what they ask about
        state[kept] = given
    elif linked is not None and linked != state.get("classify:set:seen"):
        state[kept] = linked.split(",")[:MAX_FILES]
    ids: list[str] = state.get(kept, [])
    by_id = {one: STORE.find(one) for one in ids}
    pictures = [picture for picture in by_id.values() if picture]
    gone = len(by_id) - len(pictures)
    if gone:
        sentence = ngettext(
            "A picture of this link is gone: they last as long as the app runs, of each visitor the newest {kept}.",
            "{count} pictures of this link are gone: they last as long as the app runs, of each visitor the newest {kept}.",
            gone,
        )
        controls.notice("stale", sentence.format(count=number(gone), kept=number(MAX_FILES)))
    url_state.remember(SET, ",".join(ids) or None)
    state["classify:set:seen"] = st.query_params.get(SET)
    if not pictures:
        return None
    picture = pictures[0]
    if len(pictures) > 1:
        names = {one.id: one.name for one in pictures}
        chosen = url_state.choice(st.selectbox, _("Picture"), names, key="picture", width=420)
        picture = next(one for one in pictures if one.id == chosen)
    else:
        url_state.remember("picture", None)
    return ChosenPicture(picture=picture, all=tuple(pictures), name=picture.name)


def description(picture: Picture) -> str:
    """Kind, size and mode of a visitor's file, and what was done to read it."""
    parts = [
        _("{kind}, {width} x {height} pixels, mode {mode}").format(
            kind=picture.kind, width=number(picture.width), height=number(picture.height), mode=picture.mode
        )
    ]
    return "; ".join([*parts, *(translate(clause) for clause in picture.done.values())]) + "."
