"""Teach your own classes: a few pictures each, a head on the garment model's features, and its score on pictures held out."""

from __future__ import annotations

import base64
import binascii
import hashlib
from html import escape
from typing import Any, Final

import streamlit as st

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
from pages.images import cached_results, camera_switch, live_camera, picture_source, sample_pictures
from pages.images.model_choice import show_if_possible
from pages.shared import controls, upload_caps
from pages.shared.browser_component import browser_component
from pages.shared.language import _, ngettext, number, percent, prose

HEAD: Final = "own:head"
"""The head taught or loaded last, in the session."""
FILMING, ASKED = "own:filming", "own:asked"
"""Session keys: whether the camera is the stage; and the bundled photograph asked about, with the id of the file that was there
before it."""
SAMPLES: Final = (("photos", cached_results.ASKED), ("photos", 18), ("photos", 21))
"""Photographs to ask about: one of a class of the example, and two of neither."""
UNTAUGHT: Final = "own:untaught"
"""Whether there are pictures that no head was taught with."""
MAX_PICTURES: Final = 80
"""Of a class; each stays in the session as the model reads it."""
LARGEST_MB: Final = 30
THUMBNAIL: Final = 40
"""Width of a picture of a class, pixels."""


def class_names() -> list[str]:
    """The names that were typed."""
    text = st.text_input(
        _("Names of your classes, separated by commas"),
        value=_("my mug, my phone"),
        key="own_names",
        max_chars=300,
        help=_("Two to {most}. What is unlike all of them is said by itself.").format(most=number(MAX_CLASSES)),
    )
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
    """A class's files, and its pictures."""
    seen: set[str] = st.session_state.setdefault("own:seen", set())
    pictures = pictures_of(row)  # here, as a press stops the run at any look at the session: also between the two lines below
    with st.container(horizontal=True, vertical_alignment="center"):
        for file in upload_caps.file_uploader(
            _("Pictures of “{name}”").format(name=name),
            accept_multiple_files=True,
            key=f"own:files:{row}",
            max_upload_size=LARGEST_MB,
        ):
            if file.file_id not in seen:
                seen.add(file.file_id)
                add(classifier, pictures, file.getvalue(), file.name)
        sentence = ngettext("{count} picture", "{count} pictures", len(pictures)).format(count=number(len(pictures)))
        st.caption(f"**{name}**: {sentence}", width="content")
        if pictures:
            st.button(_("Take them out"), key=f"own_empty_{row}", type="tertiary", on_click=pictures.clear)
    if pictures:
        st.image(pictures, width=THUMBNAIL, alt=[name] * len(pictures))


def with_camera(classifier: Classifier, names: list[str], head: OwnClasses | None) -> None:
    """The camera: a button for each class takes shots while it is held; once each has enough, it answers in them as it moves."""
    fits = head if head is not None and head.fits(classifier) else None
    start = camera_switch.begins(FILMING)
    _still, shots = live_camera.garment_camera(key="own_camera", record=names, head=fits, start=start)
    if shots:
        row, taken = shots
        pictures = pictures_of(row)
        for data in taken:
            add(classifier, pictures, data, _("Shot"))
        if enough(names):
            fit(classifier, names)


def teach_them(classifier: Classifier, names: list[str]) -> None:
    """The pictures of each class, and the button that fits the head."""
    for row, name in enumerate(names):
        show_class(classifier, row, name)
    if not enough(names):
        st.caption(_("Give each class {fewest} pictures or more; twenty are much better.").format(fewest=number(FEWEST)))
    if st.button(_("Teach"), type="primary", icon=":material/school:", key="own_teach", disabled=not enough(names)):
        fit(classifier, names)


def enough(names: list[str]) -> bool:
    """Tells whether every class has the pictures that it takes."""
    return all(len(pictures_of(row)) >= FEWEST for row in range(len(names)))


def fit(classifier: Classifier, names: list[str]) -> None:
    """Teach the classes by their pictures; an error box where they cannot be taught."""
    st.session_state.pop(HEAD, None)
    try:
        with st.spinner(_("Teaching…")):
            st.session_state[HEAD] = teach(classifier, [(name, pictures_of(row)) for row, name in enumerate(names)])
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
                st.toast(_("The classes that this browser kept are of another version of the app: teach them again."))

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
            _("Your classes (.npz)"),
            head.to_npz,
            key="own_download",
            filename="own-classes.npz",
            mime="application/octet-stream",
        )
        if head.fits(classifier):
            code = head.to_code(classifier.card["name"])
            controls.download_bytes(
                _("Notebook that runs them (.ipynb)"),
                lambda: notebook(code).encode(),
                key="own_notebook",
                filename="own-classes.ipynb",
                mime="application/x-ipynb+json",
            )
        st.button(_("Forget them"), icon=":material/delete:", key="own_forget", on_click=st.session_state.pop, args=(HEAD,))
    st.caption(_("Kept in this browser alone, until you forget them."))


def ask(classifier: Classifier, head: OwnClasses, given: Any) -> None:
    """A picture, and which of the classes it is: the reader's file, or one of three photographs."""
    item, before = st.session_state.get(ASKED, (cached_results.ASKED, None))
    own = None if given is None or given.file_id == before else given
    if own is None:
        image: Bytes | None = cached_results.photograph_as_read(classifier, item)
    else:
        image = image_of(classifier, own.getvalue(), own.name)
    with st.container(horizontal=True, vertical_alignment="center"):
        heading = st.container(width="stretch")
        with st.container(horizontal=True, key="own_samples", width="content"):
            sample_pictures.buttons(
                SAMPLES,
                key="own_sample",
                chosen=None if own else ("photos", item),
                on_press=lambda _kind, place: st.session_state.update({ASKED: (place, given and given.file_id)}),
            )
    if image is not None:
        answer(classifier, head, image, heading)


def answer(classifier: Classifier, head: OwnClasses, image: Bytes, heading: Any) -> None:
    """Shows which of the classes a picture is, in words in the place of the heading."""
    try:
        probabilities, familiar = head.answer(classifier, image)
    except OwnClassesError as error:
        controls.error_box(str(error))
        return
    best = int(probabilities.argmax())
    share = percent(float(probabilities[best]))
    heading.header(f"{head.names[best]} {share}" if familiar else _("Unlike anything you taught me"), anchor=False)
    picture, bars = st.columns([2.7, 1], gap="small")
    with picture.container(key="own_picture"):
        st.image(image, width="stretch", alt=_("The picture that is asked about."))
    none = max(0.0, 1 - float(probabilities.sum()))
    with bars:
        ranked = sorted(
            [*zip(head.names, map(float, probabilities), strict=True), (_("None of these"), none)], key=lambda one: -one[1]
        )
        listed = (f'<li style="--share:{share:.1%}">{escape(name)} {percent(share, 0)}</li>' for name, share in ranked)
        st.html(f'<ul class="live-garments-bars">{"".join(listed)}</ul>')
        if not familiar:
            st.caption(_("It is more like other things that the model has seen than like any picture you taught it by."))


def example(head: OwnClasses, classes: list[list[Bytes]]) -> None:
    """Shows two classes taught with photographs that came with the app, until the reader has some."""
    st.header(_("An example"), anchor=False)
    for name, images in zip(head.names, classes, strict=True):
        st.markdown(_("**{name}**, taught with {count} pictures").format(name=name, count=number(len(images))))
        st.image(images, width=44, alt=[name] * len(images))


def body() -> None:
    """The page where there is a model: the camera or a picture with its answer at the left, what teaches it at the right."""
    state = st.session_state
    classifier = cached_results.photograph_classifier()
    title, field, given = st.columns([1.5, 2, 1.2], vertical_alignment="bottom")
    with title:
        controls.page_header(_("Teach your own classes"))
    with field:
        names = class_names()
    with given.container(horizontal=True, vertical_alignment="center", key="own_given"):  # a phone's lower edge
        file = upload_caps.upload_button(_("What is this?"), key="own:ask", max_upload_size=LARGEST_MB)
        camera_switch.button(FILMING, key="own_film")
    stage, teaching = st.columns([3, 1], gap="large")
    if len(names) < 2:
        controls.notice("empty", _("Name two classes or more. What is unlike all of them is said by itself."))
        return
    with stage.container(key="garments_stage"):
        if state.get(FILMING):
            with_camera(classifier, names, state.get(HEAD))
    with teaching:
        learnt = st.container()
        teach_them(classifier, names)
        load()
    keep()
    head = state.get(HEAD)
    if isinstance(head, OwnClasses):
        shown, classes = head, None
    else:
        with stage, st.spinner(_("Teaching…")):
            shown, classes = cached_results.own_classes_example(classifier, (_("above the waist"), _("below the waist")))
    with learnt:
        if classes is not None:
            example(shown, classes)
        score(shown)
        if shown is head:
            download(classifier, shown)
    if not state.get(FILMING):
        with stage:
            ask(classifier, shown, file)
    st.markdown(prose("own_classes"))


show_if_possible(body)
controls.link_to_view()
