"""Writes `assets/words/`: the commonest words of wordfreq's lists, in the 26 letters that a hand spells here.

pip install wordfreq==3.1.1 && python scripts/word_lists.py
"""

from __future__ import annotations

import unicodedata
from pathlib import Path

WORDS = 12_000
LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")


def main() -> None:
    """One file a language, a word a line, the commonest first; accents are taken off."""
    from wordfreq import top_n_list  # type: ignore[import-not-found, unused-ignore]  # only where the lists are made

    folder = Path(__file__).parents[1] / "assets" / "words"
    for language in ("en", "es"):
        spelled = (unicodedata.normalize("NFD", word).upper() for word in top_n_list(language, 10 * WORDS, wordlist="large"))
        bare = ("".join(sign for sign in word if not unicodedata.combining(sign)) for word in spelled)
        kept = [word for word in dict.fromkeys(bare) if len(word) > 1 and LETTERS.issuperset(word)][:WORDS]
        (folder / f"{language}.txt").write_text("\n".join(kept) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
