"""The classify page by Streamlit's own test runner: what it says is what the classifier says, and its link opens it again."""

import base64
import io
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.testing.v1 import AppTest

from core import checkpoints
from core.models.cct import CCT, CCTConfig
from core.models.vit import CLASSES
from core.vision.analysis import analyse
from core.vision.classifier import load_classifier
from core.vision.gallery import gallery, photograph_gallery
from core.vision.photographs import KINDS
from core.vision.pictures import STORE, Picture, decode, png
from core.vision.preprocessing import PHOTOGRAPH, Recipe, prepare
from core.vision.uprightness import pointed_garment
from lab.vision.photograph_scores import answered
from pages.images import picture_source, preparation
from pages.shared import brought
from pages.shared.navigation import ROOT
from tests.core.vision.test_preprocessing import on_white
from tests.pages.open_page import open_page, words

PAGE = ROOT / "pages" / "images" / "classify.py"
IMAGES, LABELS, ROWS = gallery()
NAMES = tuple(KINDS.values())


opened = partial(open_page, PAGE)


def shop_picture(index: int) -> bytes:
    """A test image as a shop might have it: larger, dark on white, not in the middle."""
    return png(on_white(IMAGES[index], factor=8, height=400, width=300, paper=255).rgb[..., 0])


def upload(app: AppTest, file: tuple[str, bytes]) -> AppTest:
    chooser = next(one for one in app.file_uploader if str(one.key).startswith("classify:file"))  # each file has one of its own
    chooser.set_value((*file, "application/octet-stream")).run()
    assert not app.exception, app.exception[0].value
    return app


# -- without a model ----------------------------------------------------------------------------------------------------------


def test_without_a_checkpoint_it_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(checkpoints, "FOLDER", tmp_path)
    app = opened()
    assert "no such model here" in words(app) and "see the README" in words(app)
    assert not app.selectbox


@pytest.mark.usefixtures("models")
def test_a_damaged_checkpoint_says_so(vit_with: Callable[..., Path]) -> None:
    with (vit_with() / "vit.safetensors").open("ab") as file:
        file.write(b"!")
    assert "SHA-256 differs" in words(opened())


@pytest.mark.usefixtures("models")
def test_what_is_strange_to_a_card_that_changed_is_not_called_a_garment(vit_with: Callable[..., Path]) -> None:
    for threshold, doubted in ((99.0, False), (-99.0, True)):
        vit_with(strangeness={"threshold": threshold})
        app = opened(item="4")
        assert ("may be none of the ten garments" in words(app)) == (", perhaps " in app.header[0].value) == doubted


# -- test images --------------------------------------------------------------------------------------------------------------


def test_it_opens_on_the_first_test_image(models: Path) -> None:
    app = opened()
    reading = analyse(load_classifier(folder=models), IMAGES[0].copy())
    assert app.session_state["item"] == "0"
    assert app.header[0].value.startswith(CLASSES[reading.likeliest])
    assert f"{reading.shares[reading.likeliest]:.1%}" in app.header[0].value
    assert not app.query_params


def test_one_line_says_what_was_done_and_a_box_changes_what_is_read(models: Path) -> None:
    picture = STORE.keep(decode(shop_picture(0), name="boot"))
    app = opened(**{"from": "upload", "set": picture})
    plain = prepare(decode(shop_picture(0)))
    assert plain.done == ("invert", "crop", "pad", "resize", "sharpen")
    assert "negated, cropped, padded to a square, brought to 28 x 28 pixels, sharpened." in words(app)
    assert "nothing had to be done" in words(opened())
    boxed = opened(**{"from": "upload", "set": picture, "crop": "box", "left": "40", "right": "90"})
    image = prepare(decode(shop_picture(0)), Recipe(crop=(40, 0, 90, 100))).image
    likeliest = analyse(load_classifier(folder=models), image)
    assert f"{likeliest.shares[likeliest.likeliest]:.1%}" in boxed.header[0].value
    boxed.button(key="classify_no_box").click().run()
    assert not {"crop", "left", "right"} & boxed.query_params.keys()
    narrow = opened(**{"from": "upload", "set": picture, "crop": "box", "left": "90", "right": "40"})
    assert not {"crop", "left"} & narrow.query_params.keys() and not narrow.error


def test_the_garment_that_is_pressed_is_read() -> None:
    app = opened(photo="10")
    app.button(key="classify_point").click().run()
    assert "Press the garment on the picture first" in app.toast[0].value and "crop" not in app.query_params
    app.session_state[preparation.PRESSED] = "1.mean.28"
    app.button(key="classify_point").click().run()
    assert app.query_params["crop"] == "box"
    prepared = prepare(decode(photograph_gallery()[10].data), Recipe(manner="photograph"), side=128)
    edges = pointed_garment(load_classifier("cct"), prepared, 27, Recipe(manner="photograph"))
    assert [int(app.query_params.get(name, whole)) for name, whole in preparation.WHOLE.items()] == [*edges]
    assert not app.exception


def test_a_picture_that_lies_is_read_as_it_was_given_where_that_is_asked_for() -> None:
    """Of the shipped model, which knows which way is up."""
    row = photograph_gallery()[4]
    upside_down = png(np.ascontiguousarray(decode(row.data).rgb[::-1, ::-1]))
    picture = STORE.keep(decode(upside_down, name="upside down"))
    app = opened(**{"from": "upload", "set": picture})
    assert "turned by 180°, so I set it upright first" in words(app) and "set upright" in words(app)
    app.button(key="picture_as_given").click().run()
    assert app.query_params["turn"] == "none" and "set it upright first" not in words(app)
    app.button(key="classify_upright").click().run()
    assert "turn" not in app.query_params and "set it upright first" in words(app)


# -- uploads ------------------------------------------------------------------------------------------------------------------


def test_an_upload_is_read_and_its_link_finds_it_again(models: Path) -> None:
    app = upload(opened(**{"from": "upload"}), ("boot.png", shop_picture(0)))
    name = decode(shop_picture(0)).id
    assert app.query_params["set"] == name
    expected = analyse(load_classifier(folder=models), prepare(decode(shop_picture(0))).image)
    again = opened(**app.query_params)
    for one in (app, again):
        assert CLASSES[expected.likeliest] in one.header[0].value
        assert "300 x 400 pixels" in words(one)


def test_a_picture_given_later_is_the_one_answered_and_a_links_too(models: Path) -> None:
    app = upload(opened(**{"from": "upload"}), ("first.png", shop_picture(0)))
    app.segmented_control(key="from").set_value("gallery").run()
    assert "set" not in app.query_params and app.query_params.get("from") is None
    app.segmented_control(key="from").set_value("upload").run()
    assert app.query_params["set"] == decode(shop_picture(0)).id  # though the uploader itself has forgotten the file
    upload(app, ("second.png", shop_picture(1)))
    assert app.query_params["set"] == decode(shop_picture(1)).id and "second.png" in words(app)
    third = STORE.keep(decode(shop_picture(2), name="third.png"))
    app.query_params["set"] = third  # as a link of the front page leads here
    app.run()
    assert "third.png" in words(app) and app.query_params["set"] == third


def frames() -> bytes:
    buffer = io.BytesIO()
    pictures = [Image.fromarray(255 - IMAGES[i]).resize((84, 84)) for i in range(3)]
    pictures[0].save(buffer, "GIF", save_all=True, append_images=pictures[1:])
    return buffer.getvalue()


def test_a_bad_upload_gets_a_sentence_and_a_good_one_is_read_after_it(models: Path) -> None:
    app = opened(**{"from": "upload"})
    (said,) = upload(app, ("empty.png", b"")).error
    assert said.value.startswith("empty.png: ") and "0 bytes" in said.value and not app.header
    upload(app, ("moving.gif", frames()))
    assert "animated: the first of its frames is taken" in words(app)
    assert app.header[0].value and not app.error


@pytest.mark.parametrize("size", [(4_000, 40), (4_000, 3), (3, 4_000), (1, 700)])
def test_a_long_thin_picture_is_shown_and_read(models: Path, size: tuple[int, int]) -> None:
    """Streamlit reduces an image that is wider than its place, and at 4,000 x 3 pixels came to a height of 0."""
    width, height = size
    levels = np.full((height, width), 255, np.uint8)
    levels[height // 4 : max(1, height // 2), width // 4 : max(1, width // 2)] = 30
    app = upload(opened(**{"from": "upload"}), ("belt.png", png(levels)))
    assert f"{width:,} x {height:,} pixels" in words(app) and app.header[0].value


def test_a_picture_that_shows_nothing_gets_no_class(models: Path) -> None:
    app = upload(opened(**{"from": "upload"}), ("empty.png", png(np.full((60, 80), 255, np.uint8))))
    assert "nothing to see in this picture" in words(app) and "Answered by" not in words(app)
    assert not any(name in words(app) for name in CLASSES)
    assert not app.header


@pytest.mark.usefixtures("models")
def test_what_is_measured_of_the_threshold_is_said(vit_with: Callable[..., Path]) -> None:
    metrics = {"photographs": {"samples": 290, "accuracy": 0.3724, "flagged": 0.6828}}
    vit_with(metrics=metrics, strangeness={"threshold": -99.0, "known_share": 0.95})
    text = words(opened(item="4"))
    assert "95% of the data set's own validation images stay under" in text
    assert "Of 290 photographs that people took of garments, 68% are over it too." in text


def test_a_link_whose_picture_is_gone_says_so(models: Path) -> None:
    app = opened(**{"from": "upload", "set": "0123456789ab"})
    assert "What this link held is gone" in words(app) and "No picture is chosen yet" in words(app)
    picture = STORE.keep(decode(shop_picture(3), name="first.png"))
    app = opened(**{"from": "upload", "set": f"{picture},0123456789ab"})  # as links named several pictures once
    assert "first.png" in words(app) and app.query_params["set"] == picture


def test_a_camera_is_offered(models: Path) -> None:
    app = opened(**{"from": "camera"})
    assert app.button(key="garments_camera").label == "Camera" and not app.header
    picture = STORE.keep(decode(shop_picture(2), name="kept"))
    app = opened(**{"from": "upload", "set": picture})
    assert app.header[0].value
    app.button(key="garments_camera").click().run()
    assert not app.header and "set" not in app.query_params
    app.button(key="garments_sample_2").click().run()
    assert app.query_params["item"] == "55"
    app.button(key="classify_gallery_3").click().run()
    assert app.query_params["item"] == str(np.flatnonzero(LABELS == 0)[3])
    app.button(key="garments_sample_2").click().run()
    assert app.header[0].value and app.query_params["item"] == "55"


# -- two models ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def two_models(models: Path, vit_with: Callable[..., Path]) -> Path:
    """The small ViT, and an untrained CCT whose card says that it reads photographs as they are and doubts everything."""
    torch.manual_seed(0)
    model = CCT(CCTConfig(width=32, heads=2, layers=2, hidden=64, stem=4, stages=(4, 4, 4, 4, 4))).eval()
    card = checkpoints.read_card("vit", folder=models) | {"name": "cct"}
    entries = {
        "model": "cct",
        "config": model.config.to_dict(),
        "preparation": {"manner": "photograph"},
        "classes": list(KINDS.values()),
    }
    folder = vit_with()
    checkpoints.save("cct", model, card | entries | {"strangeness": {"threshold": -99.0}}, folder=folder)
    return folder


WHERE = "GPU" if torch.cuda.is_available() else "processor"
OF_VIT, OF_CCT = "the report's ViT, Fashion-MNIST, ten classes", "CCT, photographs, ten kinds"


def test_what_looks_like_the_data_set_is_asked_about(two_models: Path) -> None:
    """An image of it, enlarged; one of 28 x 28 pixels is no photograph."""
    enlarged = png(IMAGES[4].repeat(10, axis=0).repeat(10, axis=1))
    upload(app := opened(**{"from": "upload"}), ("boot.png", enlarged))
    assert "Is it a photograph?" in words(app) and f"Answered by {OF_VIT}, {WHERE}." in words(app)
    app.button(key="vit_photograph").click().run()
    assert f"Answered by {OF_CCT}, {WHERE}." in words(app) and "Is it a photograph?" not in words(app)
    upload(app := opened(**{"from": "upload"}), ("boot.png", png(IMAGES[4])))
    assert "Is it a photograph?" not in words(app)


def test_photographs_and_the_data_sets_kind_are_answered_by_the_model_trained_on_them(two_models: Path) -> None:
    app = opened(item="4")
    assert f"Answered by {OF_VIT}, {WHERE}." in words(app)
    photograph = photograph_gallery()[0].data
    framed = png(np.asarray(ImageOps.expand(Image.fromarray(decode(photograph).rgb), 9, "white")))
    for given in (shop_picture(0), framed):
        upload(app := opened(**{"from": "upload"}), ("given.png", given))
        assert f"Answered by {OF_CCT}, {WHERE}." in words(app)
    assert "a uniform border cut off" in words(app)
    upload(app := opened(**{"from": "upload"}), ("blouse.jpg", photograph))
    assert f"Answered by {OF_CCT}, {WHERE}." in words(app) and "vit" not in app.query_params
    expected = analyse(load_classifier("cct", folder=two_models), prepare(decode(photograph), PHOTOGRAPH, side=128).image)
    assert app.header[0].value.startswith(f"{NAMES[expected.likeliest]}, perhaps ")
    assert "I am unsure: this may be none of the ten garments I know" in words(app)
    app.selectbox(key="vit").set_value("vit").run()
    chosen = analyse(load_classifier("vit", folder=two_models), prepare(decode(photograph)).image)
    assert CLASSES[chosen.likeliest] in app.header[0].value and app.query_params["vit"] == "vit"


def test_a_photograph_of_the_sheet_is_answered_and_marked_right_or_wrong(two_models: Path) -> None:
    row = photograph_gallery()[13]
    image = prepare(decode(row.data), PHOTOGRAPH, side=128).image
    expected = analyse(load_classifier("cct", folder=two_models), image)
    app = opened()  # on a photograph, where there is a model of photographs
    assert app.segmented_control(key="from").value == "photos" and app.session_state["photo"] == "13"
    verdict = "as labelled" if NAMES[expected.likeliest] == row.name else "wrong: it is labelled Dress"
    assert verdict in words(app) and NAMES[expected.likeliest] in app.header[0].value
    app = opened(**{"from": "photos", "photo": "4"})
    assert "labelled" in words(app)
    app.selectbox(key="vit").set_value("vit").run()
    assert "labelled" not in words(app)  # the documented ViT has no long sleeves


def test_shoes_are_shoes() -> None:
    """They were sandals, boots too, before photographs had kinds of their own."""
    shoes = [i for i, one in enumerate(photograph_gallery()) if one.kind == "shoes"]
    assert all(answered(lambda _picture: load_classifier("cct"), photograph_gallery()[i]).right for i in shoes)
    app = opened(**{"from": "photos", "photo": str(shoes[0])})
    assert app.header[0].value.startswith("Shoes ") and "as labelled" in words(app)


def test_the_steps_read_a_photograph_with_the_shipped_model_that_answered_it() -> None:
    app = opened(**{"from": "photos", "photo": "9", "inside": "tokens", "stage": "embedding"})
    row = photograph_gallery()[9]
    expected = analyse(load_classifier("cct"), prepare(decode(row.data), PHOTOGRAPH, side=128).image)
    assert NAMES[expected.likeliest] in app.header[0].value and "The patch" in words(app)


def test_a_press_while_a_pasted_picture_is_read_does_not_lose_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """It stops the run at its next look at the session; the browser tells of a pasted picture once."""
    data, read = shop_picture(0), list[str]()

    def pressed_at_first(given: bytes, name: str) -> Picture:
        read.append(name)
        context = get_script_run_ctx()
        if len(read) == 1 and context is not None and context.script_requests is not None:
            context.script_requests.request_stop()
        return decode(given, name=name)

    app = opened()
    pasted = f"data:image/png;base64,{base64.b64encode(data).decode()}"
    component = "pages.shared.browser_component.browser_component"
    monkeypatch.setattr(component, lambda _name: lambda **_options: {"picture": pasted})
    monkeypatch.setattr(brought, "picture", pressed_at_first)
    app.session_state[picture_source.GIVEN] = "paste"
    app.run()
    app.run()
    assert app.session_state[picture_source.OWN] == decode(data, name="").id and len(read) == 2
    app.run()
    assert len(read) == 2
