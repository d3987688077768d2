# Two sentences read by MiniLM, through the library that the app stands on: `make words` sets the network up.
import numpy as np
from attention_observatory import read_words

TEXT = ""
OTHER = ""
LAYER = 0  # all three counted from 0
HEAD = 0
TOKEN = 0  # the piece that looks

# %% What a piece looks at in one head of all.
one, other = read_words(TEXT), read_words(OTHER)
row = one.weights[LAYER, HEAD, TOKEN]
for place in np.argsort(-row)[:5]:
    print(f"{one.tokens[TOKEN]} looks at {one.tokens[place]} with {row[place]:.3f}, {row[place] * len(row):.1f} times as much as evenly")

# %% How alike the two sentences are: the cosine of the means of their pieces' vectors.
means = [read.vectors.mean(axis=0) for read in (one, other)]
cosine = means[0] @ means[1] / np.prod([np.linalg.norm(mean) for mean in means])
found = {"what the piece looks at": row, "cosine": cosine}
