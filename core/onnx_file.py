"""A shipped checkpoint as an ONNX file with its attention maps, for programs without PyTorch.

The first output are the logits; each of the others is a map, (batch, heads, n, n), by the name that the network gives it. The
card lies in the metadata: how inputs are prepared, what the classes are and how a call is made stands there.
"""

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from core import checkpoints
from core.files import write_bytes
from core.messages import BadValue
from core.models import MODELS

READS = ("book", "picture", "clip")
"""Inputs of the models that have a file; of the others one reads two texts, and one is not shipped."""
FRAMES = 24
"""Frames of the clip by which a network is traced; the file takes any number."""


class WithMaps(nn.Module):
    """A network that returns its logits and then its maps, in the order of `names`."""

    def __init__(self, model: nn.Module, example: Tensor) -> None:
        super().__init__()
        self.model = model
        self.eval()
        with torch.no_grad():
            self.names = list(model(example, return_attention=True)[1])

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """Logits, and one map a name."""
        logits, maps = self.model(x, return_attention=True)
        return (logits, *(maps[name] for name in self.names))


def network(name: str, *, folder: Path = checkpoints.FOLDER) -> tuple[WithMaps, Tensor, dict[str, Any]]:
    """The network of a checkpoint with its maps, an input of its shape and its card.

    Raises:
        CheckpointError: where it is missing or damaged. BadValue: for one of another kind than `READS`.
    """
    checkpoint = checkpoints.load(name, folder=folder)
    kind = str(checkpoint.card["model"])
    if MODELS.input_of(kind) not in READS:
        raise BadValue("{name} has no file of one input: tlob, vit, cct and iiga_hands are right", name=name)
    model: Any = checkpoints.build_model(checkpoint, MODELS[kind][0])
    (example,) = model.config.example_inputs(model.config.sequence_length or FRAMES)
    return WithMaps(model, example), example, checkpoint.card


def export(name: str, path: Path, *, folder: Path = checkpoints.FOLDER) -> list[str]:
    """Write a checkpoint as an ONNX file; returns the names of its outputs. Takes some 15 s.

    Raises:
        CheckpointError, BadValue: as `network`. ModuleNotFoundError: without the extra `onnx`.
    """
    model, example, card = network(name, folder=folder)
    free = 1 if MODELS.input_of(str(card["model"])) == "clip" else 0  # frames of a clip, else the batch
    several = torch.cat([example, example], dim=0) if free == 0 else example  # a batch of one would be fixed to one
    outputs = ["logits", *model.names]
    program = torch.onnx.export(
        model,
        (several,),
        dynamo=True,
        dynamic_shapes={"x": {free: torch.export.Dim.DYNAMIC}},
        input_names=["x"],
        output_names=outputs,
        verbose=False,
    )
    assert program is not None
    program.model.metadata_props["card"] = json.dumps(card)
    write_bytes(path, program.model_proto.SerializeToString())
    return outputs
