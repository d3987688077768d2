"""The two model files of the hand finder, and their licence, out of MediaPipe's package.

The models are Google's, under Apache-2.0, and are not part of this project: `make hands` fetches the package once from the
package registry and takes the files out. The package itself is not installed, as it needs an older numpy.
"""

from pathlib import Path
from typing import Final

from core.messages import compose
from core.package_files import MAKE, ModelFiles

MEMBERS: Final = {
    "palm_detection_full.tflite": (
        "mediapipe/modules/palm_detection/palm_detection_full.tflite",
        "1b14e9422c6ad006cde6581a46c8b90dd573c07ab7f3934b5589e7cea3f89a54",
    ),
    "hand_landmark_full.tflite": (
        "mediapipe/modules/hand_landmark/hand_landmark_full.tflite",
        "11c272b891e1a99ab034208e23937a8008388cf11ed2a9d776ed3d01d0ba00e3",
    ),
    "LICENSE": (
        "mediapipe-0.10.21.dist-info/LICENSE",
        "8707eef0533987efc5b155d64761eeb6e20793f50b9bd1a68dad1cf4719d0ed8",
    ),
}
HAND_FILES: Final = ModelFiles(
    folder=Path(__file__).parents[3] / "assets" / "hands",
    target="hands",
    package="mediapipe==0.10.21",
    platform=(
        "--platform",
        "manylinux_2_28_x86_64",
        "--python-version",
        "3.11",
        "--implementation",
        "cp",
    ),  # any: files are equal
    members=MEMBERS,
    digests={name: digest for name, (_, digest) in MEMBERS.items()},
    missing=compose("hands are found by models that are not set up here: run `{make} hands` once", make=MAKE),
    runner="ai_edge_litert",
)
