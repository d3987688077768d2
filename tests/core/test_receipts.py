"""Receipts: reports made again, found by their hashes, and compared number by number."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from core.cli import main
from core.receipts import Receipt, ReceiptError, compare, make_again, read_receipt
from tests.core.market.helpers import EXCERPTS, real_rows, save_tiny


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a report on two excerpts by a tiny checkpoint, with `data` and `models` beside it."""
    folder = tmp_path_factory.mktemp("report")
    save_tiny(folder / "models", real_rows(1), name="tiny")
    (folder / "data" / "deep").mkdir(parents=True)
    shutil.copy(EXCERPTS[1], folder / "data" / "deep" / "venue_abc_2024-01-01.parquet")
    shutil.copy(EXCERPTS[2], folder / "data" / "venue_xyz_2024-01-01.parquet")
    arguments = ["--checkpoint", "tiny", "--folder", str(folder / "models"), "--label", "forward", "--horizon", "5"]
    assert main(["evaluate", "tlob", "--data", str(folder / "data"), *arguments, "--out", str(folder / "out"), "--json"]) == 0
    return folder


def verified(file: Path, folder: Path, capsys: pytest.CaptureFixture[str], *, direct: bool = False) -> dict[str, Any]:
    capsys.readouterr()
    arguments = [str(file), "--data", str(folder), "--checkpoints", str(folder / "models"), "--json"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("core.cli.verify.RECORDINGS", folder / "data")
        patch.setattr("core.checkpoints.FOLDER", folder / "models")
        try:
            code = main(["verify", *([] if direct else ["receipt"]), *arguments])
        except SystemExit as end:
            code = int(end.code or 0)
    answer: dict[str, Any] = json.loads(capsys.readouterr().out) | {"code": code}
    return answer


def test_a_report_is_made_again_though_its_files_were_renamed(
    report: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for index, path in enumerate(sorted((report / "data").rglob("*.parquet"))):
        shutil.copy(path, tmp_path / f"renamed-{index}.parquet")
    shutil.copytree(report / "models", tmp_path / "models")
    shutil.copy(report / "out" / "report.json", tmp_path / "r.json")
    answer = verified(tmp_path / "r.json", tmp_path, capsys, direct=True)
    assert answer["ok"] and answer["code"] == 0 and answer["numbers"] > 100
    assert answer["tolerance"] == 0.0 and answer["versions"] == {}


def test_a_number_that_was_changed_is_named(report: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = json.loads((report / "out" / "report.json").read_text())
    answer["receipt"]["results"]["forecasters"][0]["matthews"] += 0.01
    (tmp_path / "report.json").write_text(json.dumps(answer))
    found = verified(tmp_path / "report.json", report, capsys)
    assert not found["ok"] and found["code"] == 1
    assert found["at"] == "/forecasters/0/matthews" and found["largest"] == pytest.approx(0.01)


def test_the_tables_are_there_as_csv_and_parquet(report: Path) -> None:
    import pandas as pd

    for name in ("forecasters", "groups", "pairs", "worst", "calibration", "losses"):
        csv, parquet = pd.read_csv(report / "out" / f"{name}.csv"), pd.read_parquet(report / "out" / f"{name}.parquet")
        assert len(csv) == len(parquet) > 0 and list(csv) == list(parquet)
    answer = json.loads((report / "out" / "report.json").read_text())
    assert len(pd.read_parquet(report / "out" / "rows.parquet")) == answer["samples"]


def test_a_file_that_is_gone_or_another_is_one_sentence(report: Path, tmp_path: Path) -> None:
    receipt = read_receipt(report / "out" / "report.json")
    with pytest.raises(ReceiptError, match=r"deep/venue_abc_2024-01-01\.parquet .* is in none of the folders"):
        make_again(receipt, [tmp_path], lambda arguments: {})
    with pytest.raises(ReceiptError, match="the checkpoint tiny with weights .* is in none of the folders"):
        make_again(receipt, [report / "data"], lambda arguments: {})
    (tmp_path / "none.html").write_text("<p>nothing</p>")
    with pytest.raises(ReceiptError, match=r"none\.html carries no receipt"):
        read_receipt(tmp_path / "none.html")


def test_tolerances_are_relative_above_one_and_a_missing_number_is_no_agreement() -> None:
    assert compare({"a": 1.0, "b": [1000.0]}, {"a": 1.0, "b": [1000.0005]}).tolerance == 1e-6
    assert compare({"a": 0.2}, {"a": 0.2002}).tolerance == 1e-3
    assert not compare({"a": 0.2}, {"a": 0.3}).agrees
    assert not compare({"a": 0.2}, {}).agrees
    assert compare({"a": None, "b": "x"}, {"a": None, "b": "x"}).tolerance == 0.0


def test_a_figure_carries_its_receipt_into_html(tmp_path: Path) -> None:
    """As the page exports it: the figure's JSON within a script, `<` written as an escape."""
    import plotly.graph_objects as go

    from core.figures.style import with_receipt

    receipt = Receipt(kind="score", command=["<evaluate>"], data={}, weights={}, results={"x": [1], "y": 2})
    figure = with_receipt(go.Figure(), receipt.of("x")).to_dict()
    text = json.dumps({"data": [], "layout": {"a": 1, **figure["layout"]}}, separators=(",", ":")).replace("<", "\\u003c")
    (tmp_path / "f.html").write_text(f"<html><script>const figure={text};document.title</script></html>")
    found = read_receipt(tmp_path / "f.html")
    assert found.command == ["<evaluate>"] and found.results == {"x": [1]}
