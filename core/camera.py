"""Pictures of a camera as the browser sends them."""

import io
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from core.messages import BadValue, compose
from core.vision.picture_files import MAX_SCANS, jpeg_scans

Picture = NDArray[np.uint8]
"""(H, W, 3) RGB."""
MAX_BYTES: Final = 400_000
MAX_SIDE: Final = 1_280
"""Of a frame as it is sent: bytes, and pixels a side."""


def decoded(data: bytes) -> Picture:
    """A frame (H, W, 3) of a JPEG.

    Raises:
        ValueError: for anything else, or one of more than `MAX_SIDE` pixels a side.
    """
    if len(data) > MAX_BYTES:
        raise BadValue("a frame has {size} bytes: {most} at most", size=len(data), most=MAX_BYTES)
    try:
        with Image.open(io.BytesIO(data), formats=("JPEG",)) as image:
            if max(image.size) > MAX_SIDE:
                raise BadValue("a frame has more than {most} pixels a side", most=MAX_SIDE)
            if jpeg_scans(data, most=MAX_SCANS + 1) > MAX_SCANS:
                raise BadValue("a frame has more than {most} scans", most=MAX_SCANS)
            return np.asarray(image.convert("RGB"))
    except (UnidentifiedImageError, OSError) as error:
        raise ValueError(compose("a frame is no JPEG picture")) from error
