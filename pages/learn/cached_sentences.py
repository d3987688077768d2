"""Results of the network that reads, kept for everyone who reads the same sentence."""

from typing import Final

from core.words.sentences import ReadSentence, SentenceReader
from pages.shared.kept_results import Hashes, kept

HASHES: Final[Hashes] = {SentenceReader: lambda _reader: "", ReadSentence: lambda sentence: sentence.text}
"""Keys that tell two arguments apart: there is one reader, and a sentence is its text."""

read = kept(128, HASHES)(SentenceReader.read)
without = kept(128, HASHES)(SentenceReader.without)
order_of_change = kept(128, HASHES)(SentenceReader.order_of_change)
"""Up to two seconds of the processor for a sentence of 96 pieces; ends with who asked."""
remainder = kept(128, HASHES)(SentenceReader.remainder)
