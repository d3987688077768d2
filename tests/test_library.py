"""The library a user imports: each answer equals the one of the code that the app's pages and commands use."""

import json
from io import BytesIO
from pathlib import Path
from shutil import copyfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from PIL import Image

import attention_observatory as library
from core.checkpoints import CheckpointError
from core.market.book import FILE_COLUMNS, BookError
from core.market.predictor import load_predictor
from core.market.store.index import recordings
from core.signs import samples
from core.vision.classifier import load_classifier
from core.vision.gallery import photograph_gallery
from core.vision.sight_files import SIGHT_FILES
from lab.vision.photograph_scores import answered

ROOT = Path(__file__).resolve().parents[1]


def test_a_book_is_answered_alike_as_a_file_a_frame_and_an_array() -> None:
    recording = recordings()[0]
    answer = library.predict_book(recording.path)
    predictor = load_predictor("tlob")
    frame = pd.read_parquet(recording.path)
    market = predictor.market(recording.path.name)
    levels = library.answers._rows(frame).levels
    expected = predictor.predict(levels[None, -128:], market)
    np.testing.assert_allclose(answer.probabilities, expected.probabilities[0], atol=1e-5)
    assert answer.market == market.name and len(answer.calls) == len(predictor.heads)
    for book in (frame, pa.Table.from_pandas(frame), levels):  # what hands itself over by Arrow's C interface, as polars does
        np.testing.assert_allclose(
            library.predict_book(book, market=recording.path.name).probabilities, answer.probabilities, atol=1e-5
        )
    assert f"{answer.probabilities[0, 2]:.3f}" in repr(answer) and len(answer.plot().data) == 3
    table = answer.to_frame()
    np.testing.assert_array_equal(table[["down", "stationary", "up"]], answer.probabilities)
    likeliest = table[["down", "stationary", "up"]].idxmax(axis=1).str.upper()
    by_threshold = [line for line in repr(answer).splitlines() if "by its fitted threshold" in line]
    assert len(by_threshold) == (likeliest != table.call).sum()


@pytest.mark.parametrize(
    ("book", "says"),
    [
        (np.ones((200, 39)), "an array of a book is (rows, 40), not (200, 39)"),
        (pd.DataFrame({"timestamp": [1]}), "lacks the column 'ask_price_1'"),
    ],
)
def test_a_book_of_another_form_is_refused_with_a_sentence(book: object, says: str) -> None:
    with pytest.raises(BookError) as refused:
        library.predict_book(book)  # type: ignore[arg-type]
    assert says in str(refused.value)


def test_a_book_with_a_gap_in_its_last_window_is_refused() -> None:
    frame = pd.read_parquet(recordings()[0].path)
    frame.loc[len(frame) - 10 :, "timestamp"] += 60_000
    with pytest.raises(BookError, match="must follow each other without a gap"):
        library.predict_book(frame)


BOOK = library.APP / "assets/recordings/binance_spot_btcusdt_2024-08-08.parquet"


def test_a_book_indexed_by_time_and_a_tensor_are_answered_alike_and_an_array_has_a_row_and_no_time() -> None:
    frame = pd.read_parquet(BOOK)
    levels = frame.drop(columns="timestamp")
    timed = library.predict_book(levels.set_index(pd.to_datetime(frame["timestamp"], unit="ms")))
    bare = library.predict_book(torch.tensor(frame[list(FILE_COLUMNS)].to_numpy()))
    assert timed.time == pd.Timestamp(int(frame["timestamp"].iloc[-1]), unit="ms")
    assert bare.time is None and f"at row {len(frame)}:" in str(bare) and "1970" not in str(bare)


def test_a_market_that_the_checkpoint_does_not_know_is_said_in_print_table_and_plot() -> None:
    answer = library.predict_book(BOOK, market="bitstmp BTC/USD")
    assert answer.note.startswith("'bitstmp BTC/USD' names none of its markets") and "bitstamp" in answer.note
    assert str(answer).startswith(answer.note) and set(answer.to_frame()["note"]) == {answer.note}
    assert answer.plot().layout.title.text == answer.note
    known = library.predict_book(BOOK, market="bitstamp BTCUSD")
    assert known.market != answer.market and not known.note and "note" not in known.to_frame()


def test_a_checkpoint_of_ones_own_is_read_by_its_path_and_another_kind_is_refused(tmp_path: Path) -> None:
    for ending in ("json", "safetensors"):
        copyfile(library.APP / f"assets/checkpoints/tlob.{ending}", tmp_path / f"tlob.{ending}")
    shipped = library.predict_book(BOOK)
    for name in (f"{tmp_path}/tlob", f"{tmp_path}/tlob.json"):
        np.testing.assert_array_equal(library.predict_book(BOOK, checkpoint=name).probabilities, shipped.probabilities)
    with pytest.raises(CheckpointError, match="there is no checkpoint mine in"):
        library.predict_book(BOOK, checkpoint=f"{tmp_path}/mine")
    with pytest.raises(ValueError, match="'vit' reads a picture, where one that reads a book is asked"):
        library.predict_book(BOOK, checkpoint="vit")


def test_a_photograph_is_answered_as_the_page_scores_it(tmp_path: Path) -> None:
    row = photograph_gallery()[0]
    expected = answered(lambda _picture: load_classifier("cct"), row)
    file = tmp_path / "photo.jpeg"
    file.write_bytes(row.data)
    for photo in (file, row.data):
        answer = library.classify_photo(photo)
        assert (answer.name, answer.unsure, answer.model) == (expected.name, expected.flagged, "cct")
        assert answer.probability == pytest.approx(expected.confidence, abs=1e-5)
    assert sum(answer.probabilities.values()) == pytest.approx(1, abs=1e-5)
    assert repr(answer).startswith(f"{expected.name} {expected.confidence:.1%}") and len(answer.plot().data) == 1
    assert library.classify_photo(Image.open(file)).name == library.classify_photo(np.asarray(Image.open(file))).name


@pytest.mark.skipif(not SIGHT_FILES.available(), reason="needs `make sight`")
def test_a_photograph_is_seen_patch_by_patch(tmp_path: Path) -> None:
    photo = Image.open(BytesIO(photograph_gallery()[0].data)).convert("RGB").resize((112, 112))
    photo.save(tmp_path / "photo.png")
    seen = library.see_photo(tmp_path / "photo.png", side=112)
    np.testing.assert_array_equal(seen.pixels, np.asarray(photo))
    assert (seen.grid, seen.weights.shape, seen.tokens.shape) == ((8, 8), (12, 6, 65, 65), (65, 384))
    assert seen.salience.shape == (112, 112) and 0 < seen.salience.min() < seen.salience.max() < 1
    table = seen.to_frame()
    np.testing.assert_allclose(table[["token_0", "token_383"]], seen.tokens[1:, [0, 383]])
    last = table[(table.row == 7) & (table.column == 6)]
    assert last.salience.item() == pytest.approx(seen.salience[98:, 84:98].mean(), rel=1e-5)
    assert f"{(seen.salience > 0.5).mean():.1%} of the picture stands out" in repr(seen)
    figure = seen.plot()
    np.testing.assert_allclose(figure.data[0].z, seen.salience)
    assert len(seen.scene().layers) == 12
    with pytest.raises(ValueError, match="a side of 110 pixels: a multiple of 14 from 112 to 518 is right"):
        library.see_photo(tmp_path / "photo.png", side=110)


def test_a_film_of_digits_is_read_as_it_was_signed() -> None:
    clip = next(one for one in samples.clip_samples() if one.path.name == "digits_314.mp4")
    reading = library.read_signs(clip.path, checkpoint="iiga_digits")
    assert reading.glosses == tuple(clip.glosses) and len(reading.spans) == 3
    assert [begin < end for _gloss, begin, end in reading.spans] == [True] * 3
    assert reading.plot().data and "0." in repr(reading)
    one = samples.track_samples()[0]
    assert library.read_signs(one.tracks).model == "iiga_asl"


def test_a_model_of_the_lecture_is_not_given_out() -> None:
    with pytest.raises(ValueError, match="answers in the lecture alone"):
        library.load("dates")


def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)  # it runs in any folder
    names: dict[str, object] = {}
    for cell in json.loads((ROOT / "docs" / "library.ipynb").read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    said = capsys.readouterr().out
    assert "steps: " in said and "labelled: " in said and "3 " in said
    assert [layer.weights.shape for layer in names["layers"]] == [(3, 50, 50)] * 2  # type: ignore[attr-defined]
