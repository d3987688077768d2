"""`python -m lab.bundle.transformers_writer MODEL.gguf`: SmolLM2's numbers by transformers' LlamaForCausalLM.

Needs transformers, gguf and accelerate, which nothing else here does. Writes tests/fixtures/smollm2/transformers.json: of some
texts the ids, logits of the last token and rows of the maps.
"""

import argparse
import json
from pathlib import Path
from typing import Final

import torch

FILE: Final = Path(__file__).resolve().parents[1] / "tests" / "fixtures" / "smollm2" / "transformers.json"
TEXTS: Final = (
    "Paris is in France, Madrid is in Spain, Rome is in",
    "The wizard Zorblax lives in a tower. One day, the wizard Zor",
    "En 2024 mi niña comió 12 uvas 🍇 y dijo:",
)
EVERY: Final = 997
"""One logit in so many is kept, and those of the ten likeliest tokens."""


def numbers(path: Path) -> list[dict[str, object]]:
    """Each text's numbers, rounded to five places."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    place = {"pretrained_model_name_or_path": str(path.parent), "gguf_file": path.name}
    tokenizer = AutoTokenizer.from_pretrained(**place)
    model = AutoModelForCausalLM.from_pretrained(**place, dtype=torch.float32, attn_implementation="eager").eval()
    kept = []
    for text in TEXTS:
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        with torch.no_grad():
            answer = model(torch.tensor([ids]), output_attentions=True)
        logits = answer.logits[0, -1]
        chosen = sorted({*logits.topk(10).indices.tolist(), *range(0, len(logits), EVERY)})
        rows = torch.stack([one[0, :, -1] for one in answer.attentions])  # (layers, heads, n), of the last token
        kept.append(
            {
                "text": text,
                "ids": ids,
                "chosen": chosen,
                "logits": [round(float(logits[one]), 5) for one in chosen],
                "rows": [[[round(float(x), 5) for x in head] for head in layer] for layer in rows],
            }
        )
    return kept


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    FILE.write_text(json.dumps(numbers(parser.parse_args().model)) + "\n", encoding="utf-8")
