"""Teach your own classes: a few pictures each, a head on the garment model's features, and its score on pictures held out."""

from __future__ import annotations

from typing import Any, Final

import streamlit as st

from core.checkpoints import CheckpointError
from core.figures import pictures as figures
from core.messages import translate
from core.vision.classifier import Classifier, default_name
from core.vision.own_classes import FEWEST, MAX_CLASSES, RECOMMENDED, OwnClasses, OwnClassesError, read_own_classes, teach
from core.vision.pictures import Bytes, PictureError, decode
from core.vision.preprocessing import Recipe
from pages.images import cached_results
from pages.images.model_choice import show_checkpoint_error
from pages.shared import controls, url_state
from pages.shared.language import _, ngettext, number, percent, prose
from pages.shared.live_plot import live_plot

HEAD: Final = "own:head"
"""The head taught or loaded last, in the session."""
MAX_PICTURES: Final = 100
LARGEST_MB: Final = 30
HEIGHT: Final = 220


def class_names() -> list[str]:
    """The names that were typed."""
    text = st.text_input(
        _("Names of your classes, separated by commas"), value=_("my mug, anything else"), key="own_names", max_chars=300,
        help=_("Two to {most}. One of them may be everything else: give it pictures of other things.").format(
            most=number(MAX_CLASSES)
        ),
    )  # fmt: skip
    return list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))[:MAX_CLASSES]


def pictures_of(classifier: Classifier, row: int, name: str) -> list[Bytes]:
    """The pictures of one class as the model reads them: the files, then the shots."""
    shots: dict[str, Any] = st.session_state.setdefault(f"own:shots:{row}", {})
    files = st.file_uploader(
        _("Pictures of “{name}”").format(name=name), accept_multiple_files=True, key=f"own:files:{row}",
        max_upload_size=LARGEST_MB,
    )  # fmt: skip
    given = {one.file_id: (one.name, one.getvalue()) for one in files[:MAX_PICTURES]} | shots
    images = [image for title, data in given.values() if (image := as_read(classifier, data, title)) is not None]
    sentence = ngettext("{count} picture", "{count} pictures", len(images))
    st.caption(f"**{name}**: " + sentence.format(count=number(len(images))))
    if shots and st.button(_("Forget the shots of “{name}”").format(name=name), key=f"own:forget:{row}"):
        shots.clear()
        st.rerun()
    return images


def as_read(classifier: Classifier, data: bytes, title: str) -> Bytes | None:
    """A file's picture as the model reads it; None, after a message, where it cannot be decoded."""
    try:
        picture = decode(data, name=title)
    except PictureError as error:
        controls.error_box(_("{file}: {why}.").format(file=title, why=translate(str(error))))
        return None
    return cached_results.prepare(classifier, picture, Recipe(manner=classifier.manner, turn="none")).image


def shoot(names: list[str]) -> None:
    """The camera: each shot becomes a picture of the class chosen beside it."""
    codes = {str(row): name for row, name in enumerate(names)}
    row = url_state.choice(st.segmented_control, _("The next shot is a picture of"), codes, key="own_shot_of", required=True)
    shot = st.camera_input(_("Take twenty, each a little different"), key="own:camera", width=420)
    seen = st.session_state.setdefault("own:seen", set())
    if shot is not None and shot.file_id not in seen:
        seen.add(shot.file_id)
        shots: dict[str, tuple[str, bytes]] = st.session_state.setdefault(f"own:shots:{row}", {})
        if len(shots) < MAX_PICTURES:
            shots[shot.file_id] = (_("Shot {number}").format(number=number(len(shots) + 1)), shot.getvalue())


def teach_them(classifier: Classifier, names: list[str]) -> None:
    """The pictures of each class, and the button that fits the head."""
    with st.expander(_("With the camera"), icon=":material/photo_camera:"):
        shoot(names)
    columns = st.columns(min(len(names), 3))
    pictures = []
    for row, name in enumerate(names):
        with columns[row % len(columns)]:
            pictures.append((name, pictures_of(classifier, row, name)))
    enough = all(len(images) >= FEWEST for _name, images in pictures)
    if not enough:
        st.caption(
            _("Give each class {fewest} pictures or more; twenty are much better.").format(fewest=number(FEWEST))
        )  # fmt: skip
    if st.button(_("Teach"), type="primary", icon=":material/school:", key="own_teach", disabled=not enough):
        st.session_state.pop(HEAD, None)
        try:
            st.session_state[HEAD] = teach(classifier, pictures)
        except OwnClassesError as error:
            controls.error_box(str(error))


def load() -> None:
    """The control that takes a head saved earlier."""
    file = st.file_uploader(_("Or go on with classes you saved (.npz)"), type=["npz"], key="own:saved", max_upload_size=1)
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
    """Shows the head's score."""
    st.header(_("What it learnt"), anchor=False)
    sentence = _(
        "**{share}** of the {count} pictures are answered rightly by heads that had not seen them or their neighbours "
        "(each fifth of a class held out in turn); guessing would give {chance}."
    )
    st.markdown(
        sentence.format(
            share=percent(head.held_out), count=number(sum(head.counts)), chance=percent(max(head.counts) / sum(head.counts))
        )
    )
    if min(head.counts) < RECOMMENDED:
        st.caption(_("Fewer than {count} pictures of a class: such a score may be far off.").format(count=number(RECOMMENDED)))


def download(head: OwnClasses) -> None:
    """Offers the head's file."""
    st.download_button(
        _("Download your classes (.npz)"), data=head.to_npz(), file_name="own-classes.npz", mime="application/octet-stream",
        icon=":material/download:", key="own_download", on_click="ignore",
    )  # fmt: skip


def ask(classifier: Classifier, head: OwnClasses) -> None:
    """A picture, and which of the classes it is."""
    st.header(_("Ask it"), anchor=False)
    left, right = st.columns(2)
    with left:
        way = {"file": _("File"), "camera": _("Camera")}
        if url_state.choice(st.segmented_control, _("Picture from"), way, key="own_from", required=True) == "camera":
            given = st.camera_input(_("What is this?"), key="own:ask_camera", width=360)
        else:
            given = st.file_uploader(_("What is this?"), key="own:ask", max_upload_size=LARGEST_MB)
    image = None if given is None else as_read(classifier, given.getvalue(), given.name)
    if image is None:
        return
    with right:
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
    st.progress(float(probabilities[best]), text=_("Confidence {share}").format(share=percent(probabilities[best])))
    live_plot(
        figures.ranking_figure(list(head.names), probabilities, write=percent, height=HEIGHT),
        key="own_ranking",
        height=HEIGHT,
        filename="own-classes",
        alt=_("Your classes by their probability, the most probable first."),
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
        st.image(asked, width="stretch", alt=_("A photograph that it was not taught with."))
    with said:
        answer(classifier, head, asked)


def body() -> None:
    """The page where there is a model."""
    models = cached_results.model_names()
    if not models:
        controls.notice(
            "empty",
            _("There is no garment model here yet: whoever runs this server may train one (see the README)."),
        )
        return
    classifier = cached_results.classifier_of(default_name(models, photograph=True))
    left, right = st.columns(2, gap="large")
    with right:
        st.header(_("Your own"), anchor=False)
        names = class_names()
        if len(names) < 2:
            controls.notice("empty", _("Name two classes or more: one may be everything else."))
        else:
            teach_them(classifier, names)
        load()
    head = st.session_state.get(HEAD)
    with left:
        if isinstance(head, OwnClasses):
            score(head)
            download(head)
            ask(classifier, head)
        else:
            show_example(classifier)


controls.page_header(_("Teach your own classes"), prose("own_classes"))
try:
    body()
except CheckpointError as error:
    show_checkpoint_error(error)
controls.link_to_view()
