"""Results of a classifier for an image, kept for everyone who looks at the same image."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import streamlit as st

from core import checkpoints
from core.device import use_one_thread
from core.explain import faithfulness
from core.explain.faithfulness import Curves, Evidence
from core.explain.progress import Told, untold
from core.explain.queries_keys import JointSample
from core.explain.rollout import rollout
from core.models.vit import CLASSES
from core.vision import analysis as analyses
from core.vision import classifier as classifiers
from core.vision import evidence as evidences
from core.vision import joint_sample as joint_samples
from core.vision import photograph_scores, walkthrough
from core.vision.analysis import PictureAnalysis, TokenShares
from core.vision.classifier import Classifier
from core.vision.evidence import Probabilities
from core.vision.gallery import gallery, photograph_gallery
from core.vision.pictures import Bytes, Picture, decode, from_grey
from core.vision.preprocessing import PreparedPicture, Recipe
from core.vision.uprightness import prepare_upright
from core.vision.walkthrough import ViTWalkthrough
from pages.shared.kept_results import KeptResults
from pages.shared.load_ahead import load_ahead

ROLLOUT: Final = "rollout"
EVIDENCE_SHARE: Final = 0.7
"""Of the time of deletion curves, that for the evidence before them."""
HASHES: Final[dict[type | str, Any]] = {
    Classifier: lambda classifier: classifier.fingerprint,
    PictureAnalysis: lambda analysis: (analysis.classifier.fingerprint, analysis.image.tobytes()),
    Picture: lambda picture: picture.id,
    Recipe: repr,
}
"""Keys that tell two arguments apart: a classifier by its card, an image by its pixels, a picture by its file."""


def model_names() -> list[str]:
    """Names of the garment models' checkpoints."""
    return classifiers.classifier_names(checkpoints.FOLDER)


def classifier_of(name: str) -> Classifier:
    """A checkpoint by name, loaded again where its card has changed.

    Raises:
        CheckpointError: where it is missing or damaged.
    """
    card = checkpoints.FOLDER / f"{name}.json"
    return _loaded(name, checkpoints.FOLDER, checkpoints.sha256(card) if card.exists() else "")


def ready(name: str) -> None:
    """Load a checkpoint and all that its first answer would wait for.

    Raises:
        CheckpointError: as `classifier_of`.
    """
    classifier_of(name).warm_up()


@st.cache_resource(show_spinner=False, max_entries=4)
def _loaded(name: str, folder: Path, card_digest: str) -> Classifier:  # the digest is part of the cache's key
    use_one_thread()
    return classifiers.load_classifier(name, folder=folder)


@st.cache_resource(show_spinner=False, max_entries=256, hash_funcs=HASHES)
def analyse(classifier: Classifier, image: Bytes, unturned: Bytes | None = None) -> PictureAnalysis:
    """Probabilities, strangeness and all attention maps of an image, uint8 (side, side)."""
    use_one_thread()
    return analyses.analyse(classifier, image, unturned)


@st.cache_resource(show_spinner=False, max_entries=128, hash_funcs=HASHES)
def relevance(analysis: PictureAnalysis, label: int) -> TokenShares:
    """Gradient relevance to one class."""
    use_one_thread()
    return analysis.relevance(label)


@st.cache_resource(show_spinner=False, max_entries=64, hash_funcs=HASHES)
def maps(analysis: PictureAnalysis) -> dict[str, Any]:
    """Weights (heads, n, n) by the layer's number from 1; after the layers the "rollout", (1, n, n)."""
    layers = list(analysis.maps.values())
    return {str(i + 1): weights for i, weights in enumerate(layers)} | {ROLLOUT: rollout(layers)[None]}


@st.cache_resource(show_spinner=False, max_entries=4, hash_funcs=HASHES)
def joint_sample(classifier: Classifier) -> JointSample:
    """Queries and keys over the bundled images."""
    use_one_thread()
    return joint_samples.joint_sample(classifier)


_evidence: Final[KeptResults[Evidence]] = KeptResults(128)
_losses: Final[KeptResults[Any]] = KeptResults(128)
_curves: Final[KeptResults[Curves]] = KeptResults(128)


def _key(analysis: PictureAnalysis, label: int) -> tuple[object, ...]:
    return *HASHES[PictureAnalysis](analysis), label


def evidence(analysis: PictureAnalysis, label: int, *, told: Told = untold) -> Evidence:
    """Importance of every patch for one class, by each method; some seconds for a photograph."""
    use_one_thread()
    return _evidence.get(_key(analysis, label), lambda: evidences.evidence(analysis, label, told=told))


def losses(analysis: PictureAnalysis, label: int, *, told: Told = untold) -> Any:
    """(patches,): what one class's probability loses without each patch; a second for a photograph."""
    use_one_thread()
    return _losses.get(_key(analysis, label), lambda: evidences.losses_without(analysis, label, told=told))


def deletion_curves(analysis: PictureAnalysis, label: int, *, told: Told = untold) -> Curves:
    """One class's probability while patches are deleted in each method's order; the evidence takes most of the time."""

    def compute() -> Curves:
        importance = evidence(analysis, label, told=lambda share: told(EVIDENCE_SHARE * share))
        return faithfulness.deletion_curves(importance, told=lambda share: told(EVIDENCE_SHARE + (1 - EVIDENCE_SHARE) * share))

    use_one_thread()
    return _curves.get(_key(analysis, label), compute)


@st.cache_resource(show_spinner=False, max_entries=512, hash_funcs=HASHES)
def hidden_answer(analysis: PictureAnalysis, hidden: frozenset[int]) -> Probabilities:
    """(classes,) probabilities with some patches hidden, by their numbers from 1."""
    use_one_thread()
    return evidences.hidden_answer(analysis, evidences.mask_of(hidden, analysis.grid**2))


@st.cache_resource(show_spinner=False, max_entries=32, hash_funcs=HASHES)
def walk(classifier: Classifier, image: Bytes) -> ViTWalkthrough:
    """Every step of the forward pass for an image, uint8 (side, side)."""
    use_one_thread()
    return walkthrough.walk(classifier.model, classifier.normalise(image[None]), temperature=classifier.temperature)


@st.cache_resource(show_spinner=False, max_entries=256, hash_funcs=HASHES)
def prepare(classifier: Classifier, picture: Picture, recipe: Recipe) -> PreparedPicture:
    """All steps from a picture to what the model reads, which may set it upright first.

    Raises:
        ValueError: for a crop without room in it.
    """
    use_one_thread()
    return prepare_upright(classifier, picture, recipe)


@st.cache_resource(show_spinner=False, max_entries=64)
def gallery_picture(item: int) -> Picture:
    """One of the bundled test images."""
    images, labels, rows = gallery()
    return from_grey(images[item], name=f"{CLASSES[labels[item]]} {rows[item]}")


@st.cache_resource(show_spinner=False)
def photograph_pictures() -> list[Picture]:
    """The bundled photographs."""
    return [decode(one.data, name=one.kind) for one in photograph_gallery()]


@st.cache_resource(show_spinner=False, max_entries=4, hash_funcs=HASHES)
def photograph_hits(classifier: Classifier) -> list[bool]:
    """Tells whether each bundled photograph is answered rightly (D30)."""
    use_one_thread()
    answers = [photograph_scores.answered(lambda _picture: classifier, row) for row in photograph_gallery()]
    return [one.right for one in answers]


_hits: Final[KeptResults[list[bool]]] = KeptResults(4)


def photograph_hits_if_known(classifier: Classifier) -> list[bool] | None:
    """`photograph_hits`, which takes some seconds; None until a thread has them."""

    def count(_key: str) -> None:
        _hits.get(classifier.fingerprint, lambda: photograph_hits(classifier))

    load_ahead(count, [classifier.fingerprint])
    return _hits.known(classifier.fingerprint)


def gallery_labels() -> list[int]:
    """The true classes of the bundled test images."""
    return [int(label) for label in gallery()[1]]


def gallery_rows() -> list[int]:
    """The bundled test images' rows in the official test file."""
    return [int(row) for row in gallery()[2]]
