"""Teach your own classes: a few pictures each, a head on the garment model's features, and its score on pictures held out."""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import Final

import streamlit as st

from core.figures import pictures as figures
from core.lecture.notebooks import notebook
from core.vision.classifier import Classifier
from core.vision.own_classes import (
    FEWEST,
    MAX_CLASSES,
    RECOMMENDED,
    OwnClasses,
    OwnClassesError,
    as_read,
    read_own_classes,
    teach,
)
from core.vision.pictures import Bytes
from pages.images import cached_results, live_camera, picture_source, sheet
from pages.images.model_choice import show_if_possible
from pages.images.sheet import COLUMNS
from pages.shared import controls, upload_caps
from pages.shared.browser_component import browser_component
from pages.shared.language import _, ngettext, number, percent, prose
from pages.shared.live_plot import live_plot

HEAD: Final = "own:head"
"""The head taught or loaded last, in the session."""
UNTAUGHT: Final = "own:untaught"
"""Whether there are pictures that no head was taught with."""
MAX_PICTURES: Final = 80
"""Of a class; each stays in the session as the model reads it."""
LARGEST_MB: Final = 30
HEIGHT: Final = 220
THUMBNAIL: Final = 40
"""Side of a picture on a class's sheet, pixels."""


def class_names() -> list[str]:
    """The names that were typed."""
    text = st.text_input(
        _("Names of your classes, separated by commas"), value=_("my mug, anything else"), key="own_names", max_chars=300,
        help=_("Two to {most}. One of them may be everything else: give it pictures of other things.").format(
            most=number(MAX_CLASSES)
        ),
    )  # fmt: skip
    return list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))[:MAX_CLASSES]


def pictures_of(row: int) -> list[Bytes]:
    """The pictures of a class, in the order in which they came."""
    pictures: list[Bytes] = st.session_state.setdefault(f"own:pictures:{row}", [])
    return pictures


def add(classifier: Classifier, pictures: list[Bytes], data: bytes, title: str) -> None:
    """Add a file's picture to a class, as the model reads it; a message where it cannot be decoded."""
    image = image_of(classifier, data, title)
    if image is not None and len(pictures) < MAX_PICTURES:
        pictures.append(image)
        st.session_state[UNTAUGHT] = True


def image_of(classifier: Classifier, data: bytes, title: str) -> Bytes | None:
    """A file's picture as the model reads it; None, after a message, where it cannot be decoded."""
    picture = picture_source.decoded(data, title)
    return None if picture is None else as_read(classifier, picture)


def show_class(classifier: Classifier, row: int, name: str) -> None:
    """A class's files, and its pictures on a sheet: a click takes one out."""
    seen: set[str] = st.session_state.setdefault("own:seen", set())
    pictures = pictures_of(row)  # here, as a press stops the run at any look at the session: also between the two lines below
    for file in upload_caps.file_uploader(
        _("Pictures of “{name}”").format(name=name), accept_multiple_files=True, key=f"own:files:{row}",
        max_upload_size=LARGEST_MB,
    ):  # fmt: skip
        if file.file_id not in seen:
            seen.add(file.file_id)
            add(classifier, pictures, file.getvalue(), file.name)
    sentence = ngettext("{count} picture", "{count} pictures", len(pictures)).format(count=number(len(pictures)))
    st.caption(f"**{name}**: {sentence}" + (" · " + _("press one to take it out") if pictures else ""))
    if pictures:
        height = 8 + THUMBNAIL * -(-len(pictures) // COLUMNS)
        figure = figures.photographs_figure(pictures, [None] * len(pictures), columns=COLUMNS, side=THUMBNAIL, height=height)
        sheet.show(
            figure, key=f"own_sheet_{row}", alt=_("The pictures of “{name}”; a click takes one out.").format(name=name),
            count=len(pictures), side=THUMBNAIL, height=height, on_pick=pictures.__delitem__,
        )  # fmt: skip


def with_camera(classifier: Classifier, names: list[str], head: OwnClasses | None) -> None:
    """The camera: a button for each class takes shots while it is held, and what was taught answers as the camera moves."""
    fits = head if head is not None and head.fits(classifier) else None
    _still, shots = live_camera.show(key="own_camera", record=names, head=fits)
    if shots:
        row, taken = shots
        pictures = pictures_of(row)
        for data in taken:
            add(classifier, pictures, data, _("Shot"))


def teach_them(classifier: Classifier, names: list[str]) -> None:
    """The pictures of each class, and the button that fits the head."""
    with st.expander(_("With the camera"), icon=":material/photo_camera:"):
        with_camera(classifier, names, st.session_state.get(HEAD))
    for row, name in enumerate(names):
        show_class(classifier, row, name)
    pictures = [(name, pictures_of(row)) for row, name in enumerate(names)]
    enough = all(len(images) >= FEWEST for _name, images in pictures)
    if not enough:
        st.caption(_("Give each class {fewest} pictures or more; twenty are much better.").format(fewest=number(FEWEST)))
    if st.button(_("Teach"), type="primary", icon=":material/school:", key="own_teach", disabled=not enough):
        st.session_state.pop(HEAD, None)
        try:
            st.session_state[HEAD] = teach(classifier, pictures)
            st.session_state[UNTAUGHT] = False
        except OwnClassesError as error:
            controls.error_box(str(error))
        else:
            st.rerun()  # the camera answers in them at once


def keep() -> None:
    """Keeps the head in the visitor's own browser over a reload, and takes it from there where the session has none."""
    state = st.session_state
    head = state.get(HEAD)
    value = base64.b64encode(head.to_npz()).decode() if isinstance(head, OwnClasses) else ""
    digest = hashlib.sha256(value.encode()).hexdigest() if value else ""

    def found() -> None:
        sent = state["own_kept"].get("found")
        if isinstance(sent, str) and HEAD not in state:
            try:
                state[HEAD] = read_own_classes(base64.b64decode(sent, validate=True))
            except (OwnClassesError, binascii.Error):
                state[HEAD] = None  # what another version has kept: it is forgotten

    browser_component("kept_value")(
        key="own_kept",
        data={"name": "own-classes", "digest": digest, "value": value, "unsaved": bool(state.get(UNTAUGHT))},
        on_found_change=found,
    )


def load() -> None:
    """The control that takes a head saved earlier."""
    file = upload_caps.file_uploader(
        _("Or go on with classes you saved (.npz)"), type=["npz"], key="own:saved", max_upload_size=1
    )
    loaded = st.session_state.get("own:loaded")
    if file is None or file.file_id == loaded:
        return
    st.session_state["own:loaded"] = file.file_id
    st.session_state.pop(HEAD, None)
    try:
        st.session_state[HEAD] = read_own_classes(file.getvalue())
    except OwnClassesError as error:
        controls.error_box(str(error))


def score(head: OwnClasses) -> None:
    """Shows the head's classes and its score."""
    st.header(_("What it learnt"), anchor=False)
    counts = zip(head.names, head.counts, strict=True)
    st.markdown(" · ".join(f"**{controls.plain(name)}** {number(count)}" for name, count in counts))
    sentence = _(
        "**{share}** of the {count} pictures are answered rightly by heads that had not seen them or their neighbours "
        "(each fifth held out in turn); guessing would give {chance}."
    )
    st.markdown(
        sentence.format(
            share=percent(head.held_out), count=number(sum(head.counts)), chance=percent(max(head.counts) / sum(head.counts))
        )
    )
    if min(head.counts) < RECOMMENDED:
        st.caption(_("Fewer than {count} pictures of a class: such a score may be far off.").format(count=number(RECOMMENDED)))


def download(classifier: Classifier, head: OwnClasses) -> None:
    """Offers the head's file, and a notebook that runs it."""
    with st.container(horizontal=True):
        controls.download_bytes(
            _("Your classes (.npz)"), head.to_npz, key="own_download", filename="own-classes.npz",
            mime="application/octet-stream",
        )  # fmt: skip
        if head.fits(classifier):
            code = head.to_code(classifier.card["name"])
            controls.download_bytes(
                _("Notebook that runs them (.ipynb)"), lambda: notebook(code).encode(), key="own_notebook",
                filename="own-classes.ipynb", mime="application/x-ipynb+json",
            )  # fmt: skip
        st.button(_("Forget them"), icon=":material/delete:", key="own_forget", on_click=st.session_state.pop, args=(HEAD,))
    st.caption(_("Kept in this browser alone, until you forget them."))


def ask(classifier: Classifier, head: OwnClasses) -> None:
    """A picture, and which of the classes it is."""
    st.header(_("Ask it"), anchor=False)
    given = upload_caps.file_uploader(_("What is this?"), key="own:ask", max_upload_size=LARGEST_MB)
    image = None if given is None else image_of(classifier, given.getvalue(), given.name)
    if image is None:
        return
    picture, said = st.columns([1, 2])
    with picture:
        st.image(image, width="stretch", alt=_("The picture that is asked about."))
    with said:
        answer(classifier, head, image)


def answer(classifier: Classifier, head: OwnClasses, image: Bytes) -> None:
    """Shows which of the classes a picture is."""
    try:
        probabilities, familiar = head.answer(classifier, image)
    except OwnClassesError as error:
        controls.error_box(str(error))
        return
    best = int(probabilities.argmax())
    st.header(head.names[best] if familiar else _("Unlike anything you taught me"), anchor=False)
    if not familiar:
        st.caption(_("It lies further from every class than nearly all of your pictures did. The nearest are these, no more."))
    none = max(0.0, 1 - float(probabilities.sum()))
    said = _("Confidence {share}") if familiar else _("The likeliest of them {share}")
    st.progress(float(probabilities[best]), text=said.format(share=percent(probabilities[best])))
    names = [*head.names, _("None of these")]
    live_plot(
        figures.ranking_figure(names, [*probabilities, none], write=percent, height=HEIGHT),
        key="own_ranking",
        height=HEIGHT,
        filename="own-classes",
        alt=_("Your classes and none of them by their probability, the most probable first."),
    )


def show_example(classifier: Classifier) -> None:
    """Two classes taught with photographs that came with the app, and an answer about another one."""
    names = (_("above the waist"), _("below the waist"))
    st.header(_("An example"), anchor=False)
    head, classes, asked = cached_results.own_classes_example(classifier, names)
    for name, images in zip(names, classes, strict=True):
        st.markdown(_("**{name}**, taught with {count} pictures").format(name=name, count=number(len(images))))
        st.image(images, width=44, alt=[name] * len(images))
    score(head)
    picture, said = st.columns([1, 2])
    with picture:
        st.markdown(_("**What is this?**"))
        st.image(asked, width=160, alt=_("A photograph that it was not taught with."))
    with said:
        answer(classifier, head, asked)
    if st.button(_("Ask it about pictures of yours"), icon=":material/photo_camera:", key="own_example"):
        st.session_state[HEAD] = head
        st.rerun()


def body() -> None:
    """The page where there is a model."""
    classifier = cached_results.photograph_classifier()
    left, right = st.columns(2, gap="large")
    with right:
        st.header(_("Your own"), anchor=False)
        names = class_names()
        if len(names) < 2:
            controls.notice("empty", _("Name two classes or more: one may be everything else."))
        else:
            teach_them(classifier, names)
            load()
    keep()
    head = st.session_state.get(HEAD)
    with left:
        if isinstance(head, OwnClasses):
            score(head)
            download(classifier, head)
            ask(classifier, head)
        else:
            show_example(classifier)


controls.page_header(_("Teach your own classes"), prose("own_classes"))
show_if_possible(body)
controls.link_to_view()
