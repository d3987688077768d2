"""A written gradient beside autograd's, for one part of a Transformer layer. Run it in the project's folder."""

from core.lecture import backprop

PART = "attention"  # softmax, linear, layer_norm, gelu, attention, multi_head, ffn or layer
ROWS = 4
SEED = 1
FIRST = 0.5
CAUSAL = False

found = backprop.example(PART, rows=ROWS, seed=SEED, first=FIRST, causal=CAUSAL)
for name, written in found.written.items():
    print(f"gradient by {name}, written:")
    print(written.round(4))
    print(f"largest difference from autograd: {found.gap(name):.1e}")
