# A text before its next word, by SmolLM2, through the library that the app stands on: `make writer` sets the network up.
import numpy as np
from attention_observatory import write_words

TEXT = ""

# %% The likeliest next tokens.
answer = write_words(TEXT)
for token, share in answer.next[:12]:
    print(f"{token!r} {share:.3f}")
others = 1 - sum(share for _, share in answer.next[:12])

# %% The same at other temperatures: the logarithms of the shares, divided by it.
scores = np.log([share for _, share in answer.next])
for temperature in (0.5, 1.0, 2.0):
    shares = np.exp(scores / temperature)
    print(temperature, answer.next[0][0], shares[0] / shares.sum())

# %% The first token, on which heads rest that have nothing to say.
first = answer.weights[:, :, 1:, 0].mean()
found = {"likeliest": [share for _, share in answer.next[:12]], "all others": others, "first token": first}
