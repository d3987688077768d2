"""`python -m core tour FOLDER`: the lecture as plain files, which any file server hosts, and its handouts as PDF."""

from __future__ import annotations

import argparse
import shutil
import subprocess
from importlib import import_module
from pathlib import Path
from typing import Final

from core.messages import BadValue

BROWSERS: Final = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")
PRINT_S: Final = 120.0


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.description = (
        "Write every lesson with precomputed states of its main dial, in every language, and a handout of each lesson, which a "
        "Chromium prints as PDF where there is one."
    )
    parser.add_argument("folder", type=Path, help="where the files go; made where it is missing")
    parser.add_argument("--lesson", nargs="+", metavar="PAGE", help="only these pages, by their addresses, such as norms")
    parser.add_argument("--address", default="", metavar="URL", help="of an app that runs: the handouts then lead to its views")
    parser.add_argument("--browser", default=None, metavar="PATH", help="the Chromium that prints; searched for where left out")
    parser.add_argument("--no-pdf", action="store_true", help="leave the handouts out")
    parser.set_defaults(run=_run)


def _run(o: argparse.Namespace) -> None:
    # the lessons are pages, which no module of core imports: the command finds them where the app is installed
    handouts = import_module("pages.learn.tour").build(o.folder, lessons=o.lesson, address=o.address, handouts=not o.no_pdf)
    browser = o.browser or next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if handouts and browser is None:
        print("No Chromium was found: the handouts stay HTML, to print from a browser.")
    for page in handouts if browser else ():
        print_page(page, str(browser))
        page.unlink()
    written = [path for path in o.folder.rglob("*") if path.is_file()]
    print(f"{o.folder}: {len(written)} files, {sum(path.stat().st_size for path in written) / 1e6:.1f} MB")


def print_page(page: Path, browser: str) -> Path:
    """Print an HTML file as PDF beside it.

    Raises:
        ValueError: where the browser does not.
    """
    made = page.with_suffix(".pdf")
    plain = ["--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"]
    arguments = [*plain, "--disable-pdf-tagging", f"--print-to-pdf={made.resolve()}"]  # tags would be four fifths of a file
    try:
        subprocess.run([browser, *arguments, page.resolve().as_uri()], capture_output=True, check=True, timeout=PRINT_S)
    except (OSError, subprocess.SubprocessError) as problem:
        raise BadValue("{browser} did not print {name}: {problem}", browser=browser, name=page.name, problem=problem) from problem
    return made
