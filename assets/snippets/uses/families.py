# Who may look at whom in BERT, GPT and T5, and how many parameters their published sizes make, with numpy alone.
import numpy as np

FAMILY = "bert"
N = 6  # words read
M = 5  # words written
masks = {}
if FAMILY != "gpt":
    masks["encoder"] = np.ones((N, N))
if FAMILY != "bert":
    masks["decoder"] = np.tri(M)
if FAMILY == "t5":
    masks["cross"] = np.ones((M, N))
found = {f"pairs, {name}": mask.sum() for name, mask in masks.items()}

# %% BERT-base, the smallest GPT-2 and T5-base: 12 layers of width 768 a side.
d, ffn = 768, 2 * 768 * 3072
with_biases = 4 * (d * d + d) + ffn + 3072 + d + 2 * 2 * d  # attention, feed-forward network, two norms
found["BERT"] = (30522 + 512 + 2 + 2) * d + 12 * with_biases + d * d + d
found["GPT"] = (50257 + 1024) * d + 12 * with_biases + 2 * d
found["T5"] = 32128 * d + 12 * (4 * d * d + ffn + 2 * d) + 12 * (8 * d * d + ffn + 3 * d) + 2 * d + 2 * 32 * 12
