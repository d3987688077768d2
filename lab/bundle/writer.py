"""The card of the network that writes, and its deletion test: `python -m lab.bundle.writer`, after `make writer`.

Writes assets/explain/smollm2.json (roles of the heads, what counts for the openings of the page) and faithfulness_smollm2.json.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attention_light.rollout import rollout
from core.device import use_one_thread
from core.explain import faithfulness
from core.explain.attribution import Report, unreported
from core.explain.faithfulness import ExplainedInput, deletion_curves
from core.words.causes import CARD, OPENINGS, ROLES, fall_without_heads, fall_without_tokens, next_scores
from core.words.writer import Writer, writer
from core.words.writer_files import MEMBERS, WEIGHTS, WRITER_FILES

COMMAND: Final = "python -m lab.bundle.writer"
HALF: Final = 48
"""Random tokens that are repeated once."""
SEQUENCES: Final = 64
FIRST_WORD: Final = 17
"""Tokens below are the model's own signs."""
TEXTS: Final = (
    "The capital of France is",
    "Paris is in France, Madrid is in Spain, Rome is in",
    "The wizard Zorblax lives in a tower. One day, the wizard Zor",
    "Two, four, six, eight,",
    "Monday, Tuesday, Wednesday,",
    "The opposite of hot is",
    "She opened the door with her",
    "The sun rises in the",
    "He was born in Germany, so he speaks",
    "Water freezes at zero degrees",
    "The dog chased the cat, and the cat ran up the",
    "My name is Anna. Nice to meet you, Anna. My name is",
    "A triangle has three",
    "To be or not to be, that is the",
    "The doctor told the nurse that the patient needed more",
    "In the morning I drink a cup of",
    "The keys to the cabinet",
    "Once upon a time there was a",
    "The largest planet in the solar system is",
    "Tom gave the ball to Mary, and Mary gave the ball back to",
    "Red, green and",
    "The spider has eight",
    "When it rains, people open their",
    "The teacher wrote the answer on the",
)
"""Texts of the deletion test."""


@torch.inference_mode()
def measured_roles(writer: Writer, *, seed: int = 0, report: Report = unreported) -> dict[str, NDArray[np.float64]]:
    """Role -> (layers, heads), the share of a head's weight on the token of that role.

    Sequences of random tokens are repeated once; shares are means over the repeated tokens, for which all four roles exist
    (Olsson et al. 2022, "In-context Learning and Induction Heads").
    """
    random, model = np.random.default_rng(seed), writer.model
    sums = {role: np.zeros((model.config.layers, model.config.heads)) for role in ROLES}
    rows = torch.arange(HALF, 2 * HALF)
    keys = {"before": rows - 1, "induction": rows - HALF + 1, "first": torch.zeros_like(rows), "same": rows - HALF}
    for number in range(SEQUENCES):
        once = random.integers(FIRST_WORD, model.config.vocabulary, HALF)
        ids = torch.from_numpy(np.concatenate([once, once]))[None].to(writer.placement.device)
        _x, maps = model.through(model.embedded(ids), return_attention=True)
        for layer, weights in enumerate(maps.values()):
            for role, at in keys.items():
                sums[role][layer] += weights[0, :, rows, at].mean(dim=-1).double().cpu().numpy() / SEQUENCES
        report((number + 1) / SEQUENCES)
    return sums


def importance(writer: Writer, ids: Sequence[int], token: int) -> dict[str, NDArray[np.float64]]:
    """Method -> (n,) importance of a text's tokens for a next token."""
    weights = writer.begin(ids).weights.astype(np.float64)
    return {
        "attention": weights[-1, :, -1].mean(axis=0),
        "rollout": rollout(list(weights))[-1].astype(np.float64),
        "occlusion": fall_without_tokens(writer, ids, token),
    }


def sample(writer: Writer, texts: Sequence[str]) -> Iterator[ExplainedInput]:
    """The deletion test's inputs: each text with its likeliest next token, whose probability falls while tokens are taken out."""
    for text in texts:
        ids = writer.ids(text)
        token = int(writer.begin(ids).scores.argmax())

        def probability(copies: Tensor, token: int = token) -> Tensor:
            return _shares_of_what_is_left(writer, copies, token)

        n = len(ids)
        yield ExplainedInput(
            function=probability,
            inputs=torch.tensor(ids, dtype=torch.float32),
            baseline=torch.full((n,), -1.0),
            parts=torch.arange(n),
            importance=importance(writer, ids, token),
        )


@torch.inference_mode()
def _shares_of_what_is_left(writer: Writer, copies: Tensor, token: int) -> Tensor:
    """(copies,): probabilities of a next token after what is left, -1 being out; after nothing, by the sign of an end of text."""
    texts = [[int(one) for one in copy if one >= 0] or [0] for copy in copies.tolist()]
    found = torch.zeros(len(texts))
    for length in sorted({len(one) for one in texts}):
        places = [i for i, one in enumerate(texts) if len(one) == length]
        found[places] = next_scores(writer, [texts[i] for i in places])[:, token].exp().cpu()
    return found


def write_card(one: Writer) -> None:
    """Measure the roles, and what the likeliest next word of each opening hangs on."""
    heads = {}
    for text in OPENINGS:
        state = one.begin(one.ids(text))
        heads[text] = fall_without_heads(one, state.ids, int(state.scores.argmax()))
    about = {
        "name": "SmolLM2-135M-Instruct",
        "trained_by": "HuggingFaceTB",
        "changed": "put into 4 bits (embeddings 8) by QuantFactory; here the same numbers in another order",
        "licence": "Apache-2.0",
        "package": WRITER_FILES.package,
        "file": MEMBERS["model.gguf"][0],
        "sha256": MEMBERS["model.gguf"][1],
        "kept_sha256": WRITER_FILES.digests[WEIGHTS],
        "command": COMMAND,
    }
    parts = {"roles": measured_roles(one), "heads": heads}
    rounded = {part: {name: np.round(one, 4).tolist() for name, one in found.items()} for part, found in parts.items()}
    CARD.write_text(json.dumps({"about": about, **rounded}, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> None:
    """Write both files."""
    use_one_thread()
    one = writer()
    write_card(one)
    curves = [deletion_curves(explained, seed=place) for place, explained in enumerate(sample(one, TEXTS))]
    faithfulness.write("smollm2", WRITER_FILES.digests[WEIGHTS], COMMAND, curves)


if __name__ == "__main__":
    main()
