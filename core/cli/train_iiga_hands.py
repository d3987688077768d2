"""`python -m core train iiga-hands`: digits and signs on the landmarks of hands."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from core import checkpoints
from core.cli import options


def add_parser(models: Any) -> None:
    """Add the model to `train`'s."""
    p = models.add_parser(
        "iiga-hands",
        help="IIGA on the landmarks of hands",
        description="Train IIGA on landmarks: of photographed digits (found once, by the models of `make hands`), of recorded "
        "signs, and of hands that are no signs.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    p.add_argument("--data", required=True, type=Path, metavar="DIR", help="folder of photographed digits (manifest.csv)")
    p.add_argument("--signs", required=True, type=Path, metavar="FILE", help="recorded signs (.npz: frames, offsets, labels)")
    p.add_argument("--others", required=True, type=Path, metavar="FILE", help="hands that are no signs (.npz: xy, label)")
    p.add_argument("--landmarks", type=Path, default=None, metavar="FILE", help="keep the photos' landmarks here, or read them")
    options.add_checkpoint_output(p, name="iiga_hands")
    p.add_argument("--epochs", type=int, default=30)
    p.add_argument("--steps", type=int, default=100, help="batches an epoch")
    p.add_argument("--batch", type=int, default=32)
    p.add_argument("--width", type=int, default=96, help="D")
    p.add_argument("--heads", type=int, default=4, help="N")
    p.add_argument("--layers", type=int, default=2, help="L")
    p.add_argument("--window", type=int, default=3, help="w of intra-gloss attention, frames to either side")
    p.add_argument("--dropout", type=float, default=0.1)
    options.add_optimiser(p, rate=2e-3, weight_decay=0.02, ema=0.99, warmup=100)
    p.add_argument("--held-out", type=float, default=0.12, help="share of signers and recordings to choose on")
    options.add_run(p)
    p.add_argument("--start", type=Path, default=None, help="begin with the weights of this card, or of the run with this state")
    p.set_defaults(run=_run)


def _run(o: argparse.Namespace) -> None:
    from core.models.iiga import IIGAConfig
    from core.signs.hands import photo_landmarks, tracks
    from core.signs.synthetic.photos import MANIFEST, read_photos
    from core.training.hand_clips import Material
    from core.training.iiga_hands import VOCABULARY, HandsTraining, read_others, read_signs, run_hands
    from core.training.loop import progress_bar

    if o.landmarks is not None and o.landmarks.exists():
        photos = photo_landmarks.load(o.landmarks)
    else:
        from core.cli.progress import counting_bar
        from core.signs.hands.finder import HandFinder
        from core.signs.hands.photo_finder import find_landmarks

        whole = read_photos(o.data, "train")
        bar = counting_bar("photo")
        photos = find_landmarks(HandFinder(), whole, on_photo=lambda done: bar(done, len(whole)))
        if o.landmarks is not None:
            photos.save(o.landmarks)
    config = IIGAConfig(
        front="tracks",
        vocabulary=len(VOCABULARY),
        width=o.width,
        heads=o.heads,
        layers=o.layers,
        window=o.window,
        expansion=2,
        dropout=o.dropout,
        track_features=tracks.FEATURES,
        track_convolutions=2,
    )
    loop = options.loop_settings(o, steps=o.steps)
    path = run_hands(
        o.name,
        Material(photos=photos, signs=read_signs(o.signs), others=read_others(o.others)),
        config,
        HandsTraining(batch=o.batch, steps=o.steps, seed=o.seed),
        loop,
        described=checkpoints.describe_files([o.data / MANIFEST, o.signs, o.others]),
        held_out=o.held_out,
        folder=o.folder,
        state=o.state,
        start=o.start,
        callbacks=[progress_bar(loop, title=o.name)],
    )
    print(f"wrote {path} and its weights")
