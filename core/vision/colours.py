"""Brings a picture's colours to sRGB, as browsers do: by its ICC profile, the codes of ITU-T H.273, or PNG's gamma and primaries.

What would change no level by more than `SAME` counts as sRGB already, so that its pixels stay exactly what they were.
"""

from io import BytesIO
from typing import Final

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageCms

Floats = npt.NDArray[np.float64]

SAME: Final = 2
"""Levels by which a conversion from sRGB to itself may differ, by rounding."""
PROBE: Final = np.stack(np.meshgrid(*[np.arange(0, 256, 17, dtype=np.uint8)] * 3), axis=-1).reshape(64, 64, 3)
"""Colours by which that is seen."""
LONGEST_NAME: Final = 60
D65: Final = (0.3127, 0.3290)
SRGB: Final = ((0.64, 0.33), (0.30, 0.60), (0.15, 0.06))
PRIMARIES: Final = {
    1: SRGB,
    9: ((0.708, 0.292), (0.170, 0.797), (0.131, 0.046)),
    12: ((0.680, 0.320), (0.265, 0.690), (0.150, 0.060)),
}
"""H.273's ColourPrimaries with D65 as white: BT.709, BT.2020 and Display P3."""
PRIMARY_NAMES: Final = {1: "BT.709", 9: "BT.2020", 12: "Display P3"}
GAMMAS: Final = {1: None, 4: 2.2, 5: 2.8, 6: None, 8: 1.0, 13: None, 14: None, 15: None}
"""H.273's TransferCharacteristics as exponents; None is sRGB's curve, which browsers take for a camera's curve too."""


def from_profile(image: Image.Image, profile: bytes) -> tuple[Image.Image, str]:
    """The picture in sRGB, and the name of the profile; "" where it is none, is damaged, or changes nothing.

    Args:
        image: of mode L, RGB, CMYK or LAB; one that the profile does not speak of comes back as it is, as browsers have it.
    """
    try:
        given = ImageCms.ImageCmsProfile(BytesIO(profile))
        space = given.profile.xcolor_space.strip()
        if image.mode == "L" and space == "RGB":
            image = image.convert("RGB")
        if {"L": "GRAY", "RGB": "RGB", "CMYK": "CMYK", "LAB": "Lab"}[image.mode] != space:
            return image, ""
        transform = ImageCms.buildTransform(given, ImageCms.createProfile("sRGB"), image.mode, "RGB")
        if image.mode in ("L", "RGB") and _changes_nothing(transform, image.mode):
            return image, ""
        converted = ImageCms.applyTransform(image, transform)
        assert converted is not None  # it is None only in place
        name = "".join(one for one in ImageCms.getProfileDescription(given) if one.isprintable()).strip()
        return converted, name[:LONGEST_NAME] or "ICC"
    except (ImageCms.PyCMSError, OSError, ValueError, TypeError, KeyError):
        return image, ""


def from_lab(image: Image.Image) -> Image.Image:
    """A picture of mode LAB in sRGB."""
    transform = ImageCms.buildTransform(ImageCms.createProfile("LAB"), ImageCms.createProfile("sRGB"), "LAB", "RGB")
    converted = ImageCms.applyTransform(image, transform)
    assert converted is not None
    return converted


def _changes_nothing(transform: ImageCms.ImageCmsTransform, mode: str) -> bool:
    probe = np.repeat(PROBE[..., :1], 3, axis=-1) if mode == "L" else PROBE
    converted = ImageCms.applyTransform(Image.fromarray(probe[..., 0] if mode == "L" else probe), transform)
    return bool(np.abs(np.asarray(converted).astype(int) - probe).max() <= SAME)


def from_codes(rgb: npt.NDArray[np.uint8], primaries: int, transfer: int) -> tuple[npt.NDArray[np.uint8], str]:
    """Pixels (height, width, 3) in sRGB, and the name of their primaries; "" where the codes are sRGB's, or not known here."""
    if primaries not in PRIMARIES or transfer not in GAMMAS:
        return rgb, ""
    return _converted(rgb, GAMMAS[transfer], (*PRIMARIES[primaries], D65), PRIMARY_NAMES[primaries])


def from_gamma(
    rgb: npt.NDArray[np.uint8], exponent: float | None, chromaticities: tuple[tuple[float, float], ...] | None
) -> tuple[npt.NDArray[np.uint8], str]:
    """Pixels in sRGB by what a PNG says of them: levels are light to the power `exponent`, with these primaries and white.

    Args:
        exponent: sRGB's curve where None. chromaticities: red, green, blue and white, (x, y) each; sRGB's where None.
    """
    decoding = None if exponent is None else 1 / exponent
    return _converted(rgb, decoding, chromaticities or (*SRGB, D65), "gAMA, cHRM" if chromaticities else "gAMA")


def _converted(
    rgb: npt.NDArray[np.uint8], gamma: float | None, chromaticities: tuple[tuple[float, float], ...], name: str
) -> tuple[npt.NDArray[np.uint8], str]:
    if gamma is not None and not 0.1 <= gamma <= 10:
        return rgb, ""
    levels = np.arange(256) / 255
    light = np.where(levels <= 0.04045, levels / 12.92, ((levels + 0.055) / 1.055) ** 2.4) if gamma is None else levels**gamma
    try:
        matrix = np.linalg.inv(_to_d50(*SRGB, D65)) @ _to_d50(*chromaticities)
    except (np.linalg.LinAlgError, ZeroDivisionError, TypeError):
        return rgb, ""
    if np.abs(_encoded(light[PROBE] @ matrix.T).astype(int) - PROBE).max() <= SAME:
        return rgb, ""
    return _encoded(light[rgb] @ matrix.T), name


def _encoded(light: Floats) -> npt.NDArray[np.uint8]:
    light = np.nan_to_num(light).clip(0, 1)
    return np.rint(255 * np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)).astype(np.uint8)


def _to_d50(*chromaticities: tuple[float, float]) -> Floats:
    """(3, 3): linear red, green and blue to XYZ under a white of 5000 K, for primaries and a white (x, y), as Bradford does."""
    xyz = np.array([(x / y, 1.0, (1 - x - y) / y) for x, y in chromaticities]).T
    matrix = xyz[:, :3] * np.linalg.solve(xyz[:, :3], xyz[:, 3])
    cones = np.array([(0.8951, 0.2664, -0.1614), (-0.7502, 1.7135, 0.0367), (0.0389, -0.0685, 1.0296)])
    d50 = np.array([0.96422, 1.0, 0.82521])
    adapted = np.linalg.inv(cones) @ np.diag((cones @ d50) / (cones @ xyz[:, 3])) @ cones
    return np.asarray(adapted @ matrix)
