# Run it in the project's folder: what a shuffle of the tokens does to self-attention.
from core.lecture import attention_steps, permutation, tokens

SENTENCE = "the dog bites the man"
ORDER = [3, 4, 2, 0, 1]  # row i of PX is row ORDER[i] of X
HEADS = 1  # 1, 2 or 4
SEED = 0

x = tokens.embed(tokens.split_words(SENTENCE), 4, seed=SEED)
weights = attention_steps.random_weights(4, seed=SEED)

for (positions, causal), found in zip(
    permutation.SETTINGS, permutation.compare_settings(x, weights, ORDER, heads=HEADS), strict=True
):
    print(
        f"positions {positions!s:5} mask {causal:8}",
        f"|Z' - PZ| {found.rows:.1e}  equivariant {found.equivariant!s:5}",
        f"|mean Z' - mean Z| {found.pool:.1e}  invariant {found.invariant}",
    )
