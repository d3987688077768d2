"""Builds the static site: the attention view on what seven readings saw, each a file of its own: `make site`.

    python -m scripts.site [FOLDER]

It needs the networks of `make words`, `make sight` and `make writer`; who opens it needs no server.
"""

import argparse
import shutil
import tomllib
from collections.abc import Callable
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Final

from attention_light import AttentionScene, PictureStage
from core.device import use_one_thread
from core.front import HEAD
from core.market.predictor import DEFAULT, load_predictor
from core.signs.recogniser import DIGITS, load_recogniser
from core.signs.samples import clip_samples
from core.vision.seen_samples import NAMES, sample
from core.vision.sight import MEASURE, sight_reader, square
from core.words import bundled
from core.words.causes import OPENINGS, fall_without_tokens
from core.words.desk import lit_scene
from core.words.writer import Writer
from pages.markets import attention_scene, attention_window, cached_results
from pages.markets.attention_inputs import Explained
from pages.markets.live_controls import OPENS_WITH
from pages.shared.language import speaking
from pages.signs import cached_results as readings
from pages.signs import clip_source, recognise_stage

ROOT: Final = Path(__file__).resolve().parents[1]
SIDE: Final = 140
"""Pixels of the photograph: 10 x 10 patches, of which the queries and keys of all 72 heads take 2.5 MB."""
STYLE: Final = """
.site { max-width: 1500px; margin: 0 auto 14px; line-height: 1.45; }
.site h1 { margin: 0; font-size: clamp(20px, 3.4vw, 30px); line-height: 1.2; }
.site p { margin: 4px 0 10px; max-width: 70ch; }
.site nav { display: flex; flex-wrap: wrap; gap: 6px; }
.site nav a { padding: 5px 10px; border: 1px solid #858c96; border-radius: 6px; color: inherit; text-decoration: none; }
.site nav a[aria-current] { border-color: var(--ao-orange); box-shadow: inset 0 0 0 1px var(--ao-orange); font-weight: 600; }
.site a { color: inherit; }
.site pre { overflow-x: auto; padding: 12px; border-radius: 8px; background: var(--ao-night); color: var(--ao-pale); }
#view { max-width: 1500px; margin: 0 auto; min-height: 100vh; /* so that nothing jumps */ }
"""
MORE: Final = (
    "Watch an exchange's order book live, with the network's call for the next seconds and how often it was right.",
    "Any photograph, film or sentence of your own under the same light; the camera, too.",
    "Erase a word, a patch or a frame on the stage, and the network is asked again.",
    "A lecture of 45 minutes on all this, in English and Spanish: turn a dial, and the equation and its numbers follow.",
)


def sentence(place: int) -> AttentionScene:
    """One of the three bundled sentences, as MiniLM reads it."""
    read = bundled.sentences()[bundled.TEXTS[place]]
    return read.scene(**bundled.opening(read), titles=layer_titles(6), answer=read.text)


def text() -> AttentionScene:
    """The first opening of the network that writes, lit by what its next word hangs on."""
    writer = Writer()
    state = writer.begin(writer.ids(OPENINGS[0]))
    falls = fall_without_tokens(writer, state.ids, token := int(state.scores.argmax()))
    titles = layer_titles(30) | {"occlusion": "What the next word loses without it"}
    return lit_scene(
        writer,
        state.ids,
        range(len(state.ids)),
        state,
        falls,
        titles=titles,
        rolled=False,
        answer=f"{OPENINGS[0]}{writer.names[token]}",
    )


def photograph() -> AttentionScene:
    """The photograph that `/see` opens with."""
    picture = sample(next(iter(NAMES)))
    seen = sight_reader().read(picture, side=SIDE)
    scene = seen.scene(titles=layer_titles(12) | {MEASURE: "What stands out"}, answer=f"{seen.standing_out:.0%} stands out")
    assert isinstance(scene.stage, PictureStage)
    return replace(scene, stage=replace(scene.stage, pixels=square(picture, 3 * SIDE)[0]))  # as sharp as a reader sees it


def book() -> AttentionScene:
    """The first window of the recording that the live page opens with."""
    windows = attention_window.recorded(OPENS_WITH, load_predictor().window)
    window = windows.window(windows.first, predictor=DEFAULT)
    answered = cached_results.answer(window)
    head = answered.predictor.head(*HEAD)
    return attention_scene.scene_of(window, answered, Explained(head, answered.likeliest[head]))


def film() -> AttentionScene:
    """The first bundled clip of signs."""
    recogniser = load_recogniser(DIGITS)
    clip = clip_source.sample(recogniser, clip_samples()[0])
    recognition = readings.read(recogniser, clip)
    return recognise_stage.scene_of(recogniser, clip, recognition, (), answer=" ".join(recognition.greedy))


def layer_titles(count: int) -> dict[str, str]:
    """Names of a network's layers for readers."""
    return {f"layer {i}": f"Layer {i}" for i in range(1, count + 1)}


Page = tuple[str, str, Callable[[], AttentionScene]]
PAGES: Final[dict[str, Page]] = {
    "index": ("“it” is tired", "What does a network look at when it reads “it”? Point at a word: what it looks at lights up.",
              lambda: sentence(0)),
    "wide": ("“it” is wide", "One word is another one, and “it” looks elsewhere. Point at a word.", lambda: sentence(1)),
    "spanish": ("In Spanish", "A language that this network hardly learned. Point at a word.", lambda: sentence(2)),
    "rome": ("Rome is in …", "A network that writes, before its next word: the light is what that word hangs on.", text),
    "photograph": ("A photograph", "What stands out in a picture, and what each patch of it looks at.", photograph),
    "book": ("An order book", "32 seconds of a market, lit by what counted for the call. Point at a moment.", book),
    "film": ("A film", "Signs of a hand, read to numbers: each frame is lit by what counted for its sign.", film),
}  # fmt: skip
"""Pages by their file's name: the name in the menu, one sentence, and the scene."""


def page(name: str) -> str:
    """The HTML of a page: the view, with the menu above it, and what the app does more below."""
    title, lead, make = PAGES[name]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    code = project["urls"]["Repository"]
    with speaking("en"):
        head, _, rest = make().html().partition("<div id=view></div>")
    links = "".join(
        f'<a href="{one}.html"{" aria-current=page" if one == name else ""}>{escape(PAGES[one][0])}</a>' for one in PAGES
    )
    above = f"<header class=site><h1>Attention Observatory</h1><p>{escape(lead)}</p><nav>{links}</nav></header>"
    more = "".join(f"<li>{escape(one)}</li>" for one in MORE)
    below = (
        f"<footer class=site><h2>The app does more</h2><ul>{more}</ul>"
        f"<pre>git clone {code}\ncd {project['name']} &amp;&amp; make run</pre>"
        f'<p>Python 3.11 or newer; no account. <a href="{code}">Code, documents and results</a>.</p></footer>'
    )
    head = head.replace("<html>", "<html lang=en>", 1)
    begin, _, end = head.partition("<title>")
    title = escape(f"{title} · Attention Observatory")
    description = f'<meta name=description content="{escape(project["description"])}"><link rel=icon href=icon.svg>'
    head = f"{begin}{description}<title>{title}</title>{end.partition('</title>')[2]}".replace("</style>", f"{STYLE}</style>", 1)
    script, closing, end = rest.rpartition("</body>")
    return f"{head}{above}<main id=view></main>{script}{below}{closing}{end}"


def make(folder: Path) -> None:
    """Write all pages into a folder."""
    use_one_thread()
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "assets" / "pictures" / "icon.svg", folder)
    for name in PAGES:
        (folder / f"{name}.html").write_text(page(name), encoding="utf-8")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "site")
    make(parser.parse_args().folder)


if __name__ == "__main__":
    main()
