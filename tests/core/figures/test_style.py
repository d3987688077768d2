"""Colours, measured by the published formulas: WCAG contrast, CIE Lab distance, Machado's colour-blindness matrices."""

import re
import tomllib
from itertools import combinations
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest
from numpy.typing import NDArray

from core.figures.style import COLOURS, DIVERGING, SEQUENTIAL, SERIES, TEMPLATE, base_layout

CONFIG = tomllib.loads((Path(__file__).resolve().parents[3] / ".streamlit" / "config.toml").read_text())
THEMES = ("light", "dark")

# Machado, Oliveira and Fernandes 2009, severity 1.0, on linear RGB.
EYES = {
    "typical": np.eye(3),
    "protanopia": np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
    "deuteranopia": np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]),
    "tritanopia": np.array([[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]),
}


def linear(colour: str) -> NDArray[np.float64]:
    c = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """WCAG 2: (L1 + 0.05) / (L2 + 0.05)."""
    low, high = sorted(float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (one, other))
    return (high + 0.05) / (low + 0.05)


def lab(rgb: NDArray[np.float64]) -> NDArray[np.float64]:
    """CIE 1976 from linear sRGB, D65."""
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ np.clip(rgb, 0, 1) / [0.9505, 1, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("colour", SERIES)
def test_series_stand_off_the_page(theme: str, colour: str) -> None:
    assert contrast(colour, CONFIG["theme"][theme]["backgroundColor"]) >= 3


@pytest.mark.parametrize("theme", THEMES)
def test_text_is_legible(theme: str) -> None:
    colours = CONFIG["theme"][theme]
    side = CONFIG["theme"][theme]["sidebar"]
    for background in (colours["backgroundColor"], colours["secondaryBackgroundColor"], side["backgroundColor"]):
        assert contrast(colours["textColor"], background) >= 7
        assert contrast(colours["linkColor"], background) >= 4.5
        assert contrast(colours["primaryColor"], background) >= 4.5


@pytest.mark.parametrize("eye", EYES)
def test_classes_are_told_apart_by_every_eye(eye: str) -> None:
    assert list(COLOURS) == ["DOWN", "STATIONARY", "UP"]
    for one, other in combinations(COLOURS.values(), 2):
        assert np.linalg.norm(lab(EYES[eye] @ linear(one)) - lab(EYES[eye] @ linear(other))) > 25


def test_the_page_and_the_figures_share_one_palette() -> None:
    assert tuple(CONFIG["theme"]["chartCategoricalColors"]) == SERIES


def test_the_sequential_scale_grows_lighter_throughout() -> None:
    lightness = [lab(linear(colour))[0] for _, colour in SEQUENTIAL]
    assert np.all(np.diff(lightness) > 5)


@pytest.mark.parametrize("scale", [SEQUENTIAL, DIVERGING])
def test_plotly_takes_the_scales(scale: list[tuple[float, str]]) -> None:
    positions = [position for position, _ in go.Heatmap(colorscale=scale).colorscale]
    assert positions[0] == 0 and positions[-1] == 1 and positions == sorted(positions)


def test_backgrounds_and_inks_are_left_to_the_page() -> None:
    figure = go.Figure(layout=base_layout(x_title="steps", y_title="bps", height=300)).to_dict()["layout"]
    assert figure["xaxis"] == {"title": {"text": "steps"}} and figure["height"] == 300
    assert figure["uirevision"] == "keep"
    base = TEMPLATE.to_plotly_json()["layout"]
    assert base["paper_bgcolor"] == base["plot_bgcolor"] == "rgba(0,0,0,0)"
    assert "font" not in base and "gridcolor" not in base["xaxis"]


def test_colours_are_written_in_two_files() -> None:
    """The view's and the app's. Beside the theme, which Streamlit reads, and cividis, which is a published scale."""
    root = Path(__file__).resolve().parents[3]
    files = [
        *root.glob("core/**/*.py"),
        *root.glob("pages/**/*.py"),
        *root.glob("attention_light/*.py"),
        *root.glob("attention_light/s*/*"),
        *root.glob("assets/scripts/*.js"),
        *root.glob("assets/styles/*.css"),
    ]
    assert len(files) > 400
    written = {
        file.relative_to(root).as_posix(): found
        for file in files
        if (found := re.findall(r"#(?:[0-9a-fA-F]{3}){1,2}\b(?! \{)", re.sub(r"&#\w+;", "", file.read_text(encoding="utf-8"))))
    }
    assert set(written) == {"assets/styles/colours.css", "attention_light/styles/colours.css", "core/figures/style.py"}
    assert len(written["core/figures/style.py"]) == 9
