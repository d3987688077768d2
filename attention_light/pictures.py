"""Pictures for a vision model: as it reads them, and where its patches lie."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from attention_light.layers import SceneError
from attention_light.stages import as_pixels

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Of ImageNet's channels, by which a picture is standardised where a model does not say by what."""
NAMES: Final = ("class token", "second token")


def picture_for(model: Any, inputs: Any) -> tuple[list[NDArray[np.uint8]] | None, Any]:
    """The pictures that are shown, and the model's inputs; None where the inputs are no picture.

    A tensor (batch, 3, height, width), or a mapping with `pixel_values`, goes in as it is and is shown between its darkest and
    its brightest value. A picture, as `as_pixels` takes it, is cut to a square, scaled and standardised as the model's
    configuration says.
    """
    tensor = inputs.get("pixel_values") if hasattr(inputs, "keys") else inputs
    if hasattr(tensor, "detach") and tensor.ndim == 4 and tensor.shape[1] in (1, 3):
        numbers = tensor.detach().float().cpu().numpy()
        low, high = numbers.min(axis=(1, 2, 3), keepdims=True), numbers.max(axis=(1, 2, 3), keepdims=True)
        return [as_pixels(one) for one in (numbers - low) / np.maximum(high - low, 1e-12)], inputs
    plain = np.asarray(inputs) if hasattr(inputs, "convert") or isinstance(inputs, np.ndarray) else inputs
    if not isinstance(plain, np.ndarray) or plain.ndim not in (2, 3):
        return None, inputs
    pixels = as_pixels(plain[..., :3] if plain.ndim == 3 and plain.shape[-1] == 4 else plain)
    square = _square(pixels if pixels.ndim == 3 else np.repeat(pixels[..., None], 3, axis=-1), _side(model))
    configured = getattr(model, "pretrained_cfg", None) or {}
    mean, deviation = np.float32(configured.get("mean", MEAN)), np.float32(configured.get("std", DEVIATION))
    from torch import from_numpy

    return [square], from_numpy(np.moveaxis((square / np.float32(255) - mean) / deviation, -1, 0)[None].copy())


def _side(model: Any) -> int:
    """Pixels of a side that a model reads, as timm, transformers and torchvision say it; 224 where nothing does."""
    configured = getattr(model, "pretrained_cfg", None) or {}
    size = getattr(getattr(model, "patch_embed", None), "img_size", None) or configured.get("input_size", (None,))[-1]
    size = size or getattr(getattr(model, "config", None), "image_size", None) or getattr(model, "image_size", None) or 224
    return int(size[-1] if isinstance(size, tuple | list) else size)


def _square(pixels: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    """The middle of a picture, scaled to side x side."""
    height, width = pixels.shape[:2]
    edge = min(height, width)
    top, left = (height - edge) // 2, (width - edge) // 2
    cut = pixels[top : top + edge, left : left + edge]
    if edge == side:
        return cut
    from PIL import Image

    return np.asarray(Image.fromarray(cut).resize((side, side), Image.Resampling.BICUBIC))


def patches_of(model: Any, size: tuple[int, ...], count: int) -> tuple[tuple[int, int], list[str]]:
    """Rows and columns of a model's patches, by its first convolution, and names of the tokens before them.

    Raises:
        SceneError: where its tokens are no patches of the picture.
    """
    for module in model.modules():
        if type(module).__name__ == "Conv2d" and module.kernel_size == module.stride and module.stride[0] > 1:
            rows, columns = (length // stride for length, stride in zip(size, module.stride, strict=True))
            if rows * columns <= count:
                extra = count - rows * columns
                names = [*NAMES, *(f"register {i + 1}" for i in range(extra))]
                return (rows, columns), [*names[: min(extra, 1)], *names[2 : 1 + extra]]
    raise SceneError(f"the maps are of {count} tokens, which are not the picture's patches: give tokens= and the model's inputs")
