"""`python -m core evaluate MODEL`: prints one JSON object, or a table."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from functools import cache, partial
from itertools import chain, count
from pathlib import Path
from typing import Any

from core import checkpoints
from core.cli import evaluate_recordings, options
from core.market.answers.intervals import block_length
from core.market.answers.naive import BOOKLESS
from core.market.answers.predictions import RowPredictions, predict_scorable, score_head, summarise_value
from core.market.answers.recalibration import score_recalibrated
from core.market.answers.recordings import entry_of, find_recordings, trained_on
from core.market.answers.table import ahead, in_short, intervals
from core.market.book import BookRows, read_market
from core.market.forecasters.catalogue import find_forecaster
from core.market.forecasters.comparison import compare, names_of
from core.market.forecasters.protocol import task_of
from core.market.labels import LABEL_KINDS, UNKNOWN
from core.market.predictor import DEFAULT, MarketCard, Predictor, load_predictor
from core.training.cct import VALIDATION_SPLIT
from core.training.iiga import is_photos
from core.training.progress import counting_bar
from core.training.recipe import place
from core.training.tlob import VALIDATION_END
from core.training.vit import evaluate, fetch_missing, validation_part
from core.vision.classifier import DEFAULT as VIT
from core.vision.classifier import Classifier, classifier_names, default_name, load_classifier
from core.vision.idx import read_part
from core.vision.photographs import photograph_files, photographs


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the models, each with its options."""
    models = parser.add_subparsers(dest="model", required=True, metavar="MODEL")
    p = models.add_parser(
        "tlob",
        help="TLOB on order-book files",
        description="Score TLOB beside the naive rules. Label thresholds, constants and call rules are the card's. "
        "Files that the card was trained on are scored on their test part alone, others whole.",
    )
    p.add_argument(
        "--data",
        nargs="+",
        required=True,
        type=place,
        metavar="FILE_OR_FOLDER",
        help="Parquet or CSV files, folders or a store's URL (s3://...); of several recordings the mean is given",
    )
    p.add_argument("--horizon", type=int, default=None, help="steps ahead; the label's first on the card where left out")
    p.add_argument("--label", choices=LABEL_KINDS, default=None, help="forward where left out, if the card has it")
    options.add_checkpoint_input(p, default=DEFAULT)
    p.add_argument("--market", default=None, help="entry of the card to use; recognised from the files' names where left out")
    p.add_argument("--part", choices=("auto", "test", "all"), default="auto", help="score the last 20 %% or everything")
    p.add_argument(
        "--adaptive",
        action="store_true",
        help="recalibrate the probabilities from the file's own past, and score after the first 1,000 outcomes (docs/value.md)",
    )
    p.add_argument(
        "--thresholds",
        choices=("card", "past"),
        default="card",
        help="with --adaptive: label thresholds from the card, or from the file's own first quarter hour",
    )
    p.add_argument(
        "--forecaster",
        nargs="+",
        default=[],
        metavar="NAME_OR_FILE_OR_ADDRESS",
        help="score these beside TLOB: momentum, stationary, lightgbm, deeplob, an entry point, a .csv or .parquet file of "
        "probabilities, or http://127.0.0.1:PORT/ (docs/forecasters.md)",
    )
    evaluate_recordings.add_options(p)
    options.add_json(p)
    p.set_defaults(run=_run_tlob)
    _add_vit(models)
    _add_iiga(models)
    _add_letters(models)


def _run_tlob(o: argparse.Namespace) -> None:
    o.data = options.here(o.data)
    if o.out is not None or o.ray is not None or any(place.is_dir() for place in o.data) or _several(o):
        scored, _ = evaluate_recordings.scored(o)
        print(json.dumps(scored) if o.json else evaluate_recordings.table(scored))
        return
    predictor = load_predictor(o.checkpoint, folder=o.folder)
    head = predictor.head_or_first(o.label, o.horizon)
    rows = read_market(o.data)
    entry = entry_of(predictor, o.market or o.data[0].name, named=o.market is not None)
    seen = trained_on(predictor.card, [checkpoints.sha256(path) for path in o.data])
    part = o.part if o.part != "auto" else ("test" if seen else "all")
    # the first row whose window starts after the last validation label is known (D10)
    first = int(len(rows) * VALIDATION_END) + predictor.window + max(h for _, h in predictor.heads) if part == "test" else 0
    predicted = predict_scorable(predictor, rows, entry, first=first, heads=[head], progress=counting_bar("window"))
    if o.adaptive:
        result = score_recalibrated(predicted, rows, entry, head, thresholds=o.thresholds)
    else:
        result = score_head(predicted, entry, head).summary()
    known = predicted.truth[:, head] != UNKNOWN
    recording = evaluate_recordings.recording_entry(
        o.data[0].stem, entry.name, part, entry.alphas[head], predicted.timestamps[known], predicted.score_apart(head)
    )
    answer: dict[str, Any] = {
        "model": "tlob",
        "checkpoint": o.checkpoint,
        "market": entry.name,
        "part": part,
        "alpha": entry.alphas[head],
        **result,
        "recordings": [recording],
    }
    table = predicted.of_head(head)
    answer["ahead"] = {rule: in_short(ahead(table, "tlob", rule)) for rule in BOOKLESS}
    if not o.adaptive:
        bounds = intervals(table, "tlob")
        answer["interval"] = {name: [round(low, 4), round(high, 4)] for name, (low, high) in bounds.items()}
    answer |= summarise_value(predicted, head)
    if o.forecaster:
        answer["forecasters"] = _forecasters(predictor, rows, entry, o, first=first, head=head, predicted=predicted)
    print(json.dumps(answer) if o.json else _table(answer))


def _several(o: argparse.Namespace) -> bool:
    """Tells whether the files are of several recordings. With `--adaptive` they are one market's, joined in time order."""
    return len(o.data) > 1 and not o.adaptive and len(find_recordings(o.data)) > 1


def _forecasters(
    predictor: Predictor,
    rows: BookRows,
    market: MarketCard,
    o: argparse.Namespace,
    *,
    first: int,
    head: int,
    predicted: RowPredictions,
) -> dict[str, Any]:
    """Every forecaster's scores on one head, TLOB's first, as JSON's objects.

    Raises:
        ForecasterError: where a forecaster cannot be used.
    """
    spelling = o.market or o.data[0].name
    task = task_of(predictor, market, spelling)
    peers = {name: find_forecaster(wanted, task) for wanted, name in names_of(o.forecaster).items()}
    comparison = compare(
        predictor, rows, market, peers, spelling=spelling, first=first, known=predicted, progress=counting_bar("window")
    )
    boards = comparison.scores(head)
    for board in boards:
        if board.reason:
            print(board.reason, file=sys.stderr)
    fit_rows = int(comparison.fit.sum())
    fitted_on = "validation rows" if first else "the first fifth of the rows"
    return {
        "rules_fitted_on": fitted_on if fit_rows else "nothing, as there are too few rows",
        "fit_rows": fit_rows,
        "block": block_length(boards[0].scores.samples, predictor.heads[head][1]),
        "coverage": 0.95,
        "scores": {board.name: board.summary() for board in boards},
    }


def _table(answer: dict[str, Any]) -> str:
    lines = [
        f"{answer['checkpoint']} on {answer['market']} ({answer['part']}, {answer['samples']:,} samples), "
        f"{answer['label']} label, {answer['horizon']} steps"
    ]
    lines += evaluate_recordings.score_lines({"tlob": answer, **answer["baselines"]})
    lines += evaluate_recordings.ahead_lines(answer["ahead"])
    lines += [*evaluate_recordings.worse_than_nothing(answer), *evaluate_recordings.apart_lines(answer)]
    if answer.get("adaptive"):
        lines += _adaptive_lines(answer)
    if "forecasters" in answer:
        lines += forecaster_lines(answer["forecasters"])
    return "\n".join(lines)


def _adaptive_lines(answer: dict[str, Any]) -> list[str]:
    """Calibration before and after, and coverage, as lines of text."""
    lines = [
        f"  {name:<12} log-loss {one['log_loss']:.4f}   calibration error {one['ece']:.4f}"
        for name, one in (("as written", answer["before"]), ("recalibrated", answer))
    ]
    lines.append("  weights      " + "   ".join(f"{name} {weight:.0%}" for name, weight in answer["weights"].items()))
    c = answer["coverage"]
    lines.append(
        f"  sets         promised {c['promised']:.0%}   delivered {c['delivered']:.1%}, lately {c['delivered_last']:.1%}"
        f"   {c['mean_size']:.2f} classes on average"
    )
    return lines


def forecaster_lines(forecasters: dict[str, Any]) -> list[str]:
    """The scores of `--forecaster` as lines of text."""
    lines = [f"on equal terms (rules fitted on {forecasters['rules_fitted_on']}):"]
    for name, one in forecasters["scores"].items():
        missing = f"   missing {sum(one['missing'].values()):,}" if one["missing"] else ""
        if not one["rows"]:
            lines.append(f"  {name:<12} no answer to score{missing}")
            continue
        line = f"  {name:<12} Matthews {one['matthews']:.4f}   log-loss {one['log_loss']:.4f}   rows {one['rows']:,}"
        for score, d in one["less_tlob"].items():
            line += f"   {score} less TLOB {d['value']:+.4f} [{d['low']:+.4f}, {d['high']:+.4f}]"
        lines.append(line + missing)
    return lines


def _add_vit(models: Any) -> None:
    """Add the model to `evaluate`'s."""
    p = models.add_parser(
        "vit",
        help="ViT on Fashion-MNIST's test images, or on photographs of garments",
        description="Score the ViT with the temperature and the threshold of its card: on the 10,000 test images of a folder of "
        "IDX files, or on the photographs of a folder of Parquet files with the columns file, kind and jpeg.",
    )
    p.add_argument(
        "--data",
        required=True,
        type=Path,
        metavar="DIR",
        help="folder or file of photographs (Parquet), or folder of the IDX files, which are fetched where missing",
    )
    p.add_argument(
        "--split",
        default=None,
        help="the Parquet file of this name, all where left out; "
        f"{VALIDATION_SPLIT} of IDX files: the images that trainings hold out",
    )
    options.add_checkpoint_input(p, default=None, note=f"; {VIT} for IDX files, the one that answers uploads for photographs")
    options.add_json(p)
    p.set_defaults(run=_run_vit)


def _run_vit(o: argparse.Namespace) -> None:
    held_out = o.split == VALIDATION_SPLIT and not any(o.data.glob("*.parquet"))
    files = [] if held_out else photograph_files(o.data, o.split)
    names = classifier_names(o.folder)
    name = o.checkpoint or default_name(names, photograph=bool(files))
    classifier = load_classifier(name, folder=o.folder)
    answer: dict[str, Any] = {"model": "vit", "checkpoint": name}
    if files:
        from core.vision.photograph_scores import evaluate_photographs  # decodes by Pillow, which training machines lack
        from core.vision.preprocessing import model_for

        loaded = cache(partial(load_classifier, folder=o.folder))
        rows = list(chain.from_iterable(map(photographs, files)))
        counted, bar = count(1), counting_bar("photograph")
        answer |= {"files": [path.name for path in files]}
        answer |= evaluate_photographs(
            lambda picture: loaded(o.checkpoint or model_for(picture, names)),
            rows,
            progress=lambda: bar(next(counted), len(rows)),
        )
    else:
        if held_out:
            answer |= {"split": o.split}
        fetch_missing(o.data, "train" if held_out else "t10k")
        part = validation_part(o.data) if held_out else read_part(o.data, "t10k")
        answer |= evaluate(classifier, part, progress=counting_bar("image"))
        answer |= {"flagged": answer["strange"], "ece": answer["calibration_error"]}
    print(json.dumps(answer) if o.json else _vit_table(answer, classifier))


def _vit_table(answer: dict[str, Any], classifier: Classifier) -> str:
    images = "the training file's validation images" if "split" in answer else "the test images"
    what = ", ".join(answer["files"]) if "files" in answer else images
    lines = [
        f"{answer['checkpoint']} on {what}: {answer['samples']:,} images",
        f"  accuracy {answer['accuracy']:.4f}   flagged {answer['flagged']:.4f}   expected calibration error {answer['ece']:.4f}",
    ]
    if "files" not in answer:
        rows = zip(classifier.class_names, answer["confusion"], strict=True)
        return "\n".join([*lines, *(f"  {name:<12} {'  '.join(f'{count:>4}' for count in row)}" for name, row in rows)])
    for kind, scores in answer["by_kind"].items():
        lines.append(
            f"  {kind:<12} {scores['samples']:>6,}   accuracy {scores['accuracy']:.4f}   flagged {scores['flagged']:.4f}"
        )
    if answer["left_out"]:
        lines.append(f"  {answer['left_out']:,} photographs of other kinds were left out")
    return "\n".join(lines)


HELD_OUT = "dev"


def _add_iiga(models: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the model to `evaluate`."""
    p = models.add_parser(
        "iiga",
        help="IIGA on photographed digits or tracked sentences",
        description="Score IIGA by the word error rate of its greedy answer, without a language model; wer_best_path counts the "
        "glosses that the card's least probability leaves out, too. "
        "A folder with manifest.csv holds photos, from which clips are put together with a committed seed: synthetic sentences "
        "of real photos. A folder with hands_condensed.csv holds tracked sentences.",
    )
    p.add_argument("--data", required=True, type=Path, metavar="DIR", help="a folder of photos or of tracked sentences")
    p.add_argument(
        "--split",
        default=None,
        help="part of the folder: all photos, or the test sentences, where left out; "
        f"{HELD_OUT} is what training holds out: of photos the dev signers, of tracked sentences the test sentences",
    )
    options.add_checkpoint_input(p, default=None, note="; the shipped one for this kind where left out")
    p.add_argument(
        "--clips", type=int, default=None, help="clips put together from photos, 500 where left out (of landmarks 100)"
    )
    p.add_argument("--hard", action="store_true", help="clips as varied as those that the model learnt from")
    p.add_argument(
        "--frame",
        type=float,
        default=None,
        metavar="SHARE",
        help="side of the hand's photo as a share of the frame's height, placed anywhere in it; about 0.8 to 1.2 where left out",
    )
    p.add_argument("--tilt", type=float, default=None, metavar="DEGREES", help="the hand is tilted up to so far either way")
    p.add_argument(
        "--backgrounds",
        type=Path,
        default=None,
        metavar="DIR",
        help="lay the hands over this folder's pictures, each clip over one",
    )
    p.add_argument(
        "--empty",
        action="store_true",
        help="films of the backgrounds without a hand, 30 where --clips is left out: count glosses",
    )
    options.add_json(p)
    p.set_defaults(run=run)


def run(o: argparse.Namespace) -> None:
    """Evaluate and print."""
    from core.signs.evaluation import evaluate_empty, evaluate_photos, evaluate_tracks
    from core.signs.recogniser import ASL, load_recogniser
    from core.signs.synthetic import clips
    from core.signs.tracks import read_sentences

    photos = is_photos(o.data)
    name = o.checkpoint or (_of_photos(o.folder) if photos else ASL)
    recogniser = load_recogniser(name, folder=o.folder)
    if (recogniser.front == "frames") is not photos:
        raise ValueError(f"the checkpoint {recogniser.name!r} reads {recogniser.front}, and {o.data.name} holds none")
    answer: dict[str, Any] = {"model": "iiga", "checkpoint": recogniser.name}
    if photos:
        from core.signs.synthetic.photos import read_photos, read_scenes

        scenes = None if o.backgrounds is None else read_scenes(o.backgrounds, recogniser.image_size)
        if o.empty:
            if scenes is None:
                raise ValueError("films without hands show pictures: name their folder by --backgrounds")
            count = 30 if o.clips is None else o.clips
            answer |= evaluate_empty(recogniser, scenes, count=count, progress=counting_bar("film"))
            print(json.dumps(answer) if o.json else f"{answer['films_with_gloss']} of {count} films without a hand got a gloss")
            return
        count = o.clips if o.clips is not None else 100 if recogniser.reads_hands else clips.SENTENCES
        if count < 1:
            raise ValueError(f"a word error rate takes one clip or more, not {count}")
        variety = clips.framed(clips.TRAINING if o.hard else clips.SCORING, side=o.frame, tilt=o.tilt)
        if scenes is not None:
            variety = replace(variety, replace=1.0)
        photo_set = read_photos(o.data, o.split)
        scores = evaluate_photos(
            recogniser, photo_set, count=count, variety=variety, scenes=scenes, progress=counting_bar("clip")
        )
        answer |= {"split": o.split or "all", "clips": "synthetic sentences of real photos", "seed": clips.SEED}
        answer |= {"frame": o.frame, "tilt": variety.turn, "backgrounds": o.backgrounds.name if o.backgrounds else None}
        answer |= scores.summary()
    else:
        if o.frame is not None or o.tilt is not None or o.backgrounds is not None or o.empty:
            raise ValueError(
                "--frame, --tilt, --backgrounds and --empty place photographed hands: tracked sentences take none of them"
            )
        split = "test" if o.split == HELD_OUT else o.split or "test"
        scores = evaluate_tracks(recogniser, read_sentences(o.data, split), progress=counting_bar("sentence"))
        answer |= {"split": split, **scores.summary()}
        unseen = scores.unseen(set(recogniser.card.get("training_sentences", ())))
        answer["unseen_sentences"] = len(unseen)
        answer["wer_unseen"] = round(scores.wer_of(unseen), 6) if unseen else None
    print(json.dumps(answer) if o.json else _iiga_table(answer))


def _of_photos(folder: Path) -> str:
    """The checkpoint that reads photographed hands best: on landmarks, where it is there and hands can be found."""
    from core import checkpoints
    from core.signs.hands import model_files
    from core.signs.recogniser import DIGITS, HANDS

    there = HANDS in checkpoints.names("iiga", folder=folder)
    return HANDS if there and model_files.available() else DIGITS


def _iiga_table(answer: dict[str, Any]) -> str:
    lines = [
        f"{answer['checkpoint']} ({answer['split']}, {answer['sentences']} sentences, {answer['words']} words): "
        f"WER {answer['wer']:.2%}, {answer['sentences_right']} sentences right"
    ]
    lines.append(f"  {answer['substitutions']} substitutions, {answer['deletions']} deletions, {answer['insertions']} insertions")
    if answer.get("wer_unseen") is not None:
        lines.append(f"  {answer['unseen_sentences']} sentences that training did not hold: WER {answer['wer_unseen']:.2%}")
    if "clips" in answer:
        lines.append(f"  {answer['clips']}, seed {answer['seed']}")
    return "\n".join(lines)


def _add_letters(models: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the model to `evaluate`."""
    p = models.add_parser(
        "letters",
        help="IIGA on hands that spell letters",
        description="Score the letters of American Sign Language on hands given as 21 landmarks, and words spelled by random "
        "hands of their letters: the word of the list with the largest sum of log-probabilities is the answer.",
    )
    p.add_argument("--data", required=True, type=Path, metavar="FILE", help="hands (.npz: points (n, 21, 2 or 3), letter (n,))")
    p.add_argument("--words", type=Path, default=None, metavar="FILE", help="a word a line; the bundled English list if left out")
    p.add_argument("--count", type=int, default=400, help="words drawn")
    p.add_argument("--aspect", type=float, default=None, help="width over height of the pictures; found out where left out")
    p.add_argument("--seed", type=int, default=0, help="of the words and hands that are drawn")
    options.add_checkpoint_input(p, default=None, note="; the shipped one where left out")
    options.add_json(p)
    p.set_defaults(run=_run_letters)


def _run_letters(o: argparse.Namespace) -> None:
    """Evaluate and print."""
    from core.signs.letters import evaluate_letters, read_hands
    from core.signs.lexicon import bundled, read_words
    from core.signs.recogniser import LETTERS, load_recogniser

    recogniser = load_recogniser(o.checkpoint or LETTERS, folder=o.folder)
    if not recogniser.spells:
        raise ValueError(f"the checkpoint {recogniser.name!r} does not read letters")
    words = bundled("en") if o.words is None else read_words(o.words)
    scores = evaluate_letters(recogniser.model, read_hands(o.data), words, count=o.count, seed=o.seed, aspect=o.aspect)
    answer = {"model": "letters", "checkpoint": recogniser.name, "seed": o.seed, **scores}
    if o.json:
        print(json.dumps(answer))
        return
    shown = "no word of the list can be spelled" if scores["words"] is None else f"words {scores['words']:.1%}"
    print(f"{recogniser.name}: {scores['samples']} hands, letters {scores['letters']:.1%}, {shown}")
    print("  " + "  ".join(f"{letter} {share:.0%}" for letter, share in scores["by_letter"].items()))
