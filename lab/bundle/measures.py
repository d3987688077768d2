"""Computes what counted in the bundled clips of signs, and writes `assets/explain/bundled_clips.safetensors`.

Run `python -m lab.bundle.measures` after a checkpoint of signs or its deletion test changed; it takes half a minute.
"""

from core.signs.bundled_measures import write
from core.signs.recogniser import ASL, DIGITS, load_recogniser

if __name__ == "__main__":
    write([load_recogniser(DIGITS), load_recogniser(ASL)])
