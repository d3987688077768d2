# How far back a gradient reaches: an RNN, an LSTM and attention, by PyTorch's autograd.
import numpy as np
import torch

X = None  # the sequence, a row a step
RNN = {}
LSTM = {}
ATTENTION = {}  # q, k and v: (width, hidden)
rnn, lstm, head = ({name: torch.tensor(w) for name, w in one.items()} for one in (RNN, LSTM, ATTENTION))


def last_of_rnn(x):
    h = torch.zeros(len(rnn["b_h"]), dtype=x.dtype)
    for one in x:
        h = torch.tanh(rnn["W_hx"] @ one + rnn["W_hh"] @ h + rnn["b_h"])
    return h


def last_of_lstm(x):
    h = c = torch.zeros(len(lstm["b_f"]), dtype=x.dtype)
    for one in x:
        f, i, o, g = (lstm[f"W_{gate}"] @ one + lstm[f"U_{gate}"] @ h + lstm[f"b_{gate}"] for gate in "fioc")
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
    return h


def last_of_attention(x):
    q, k, v = (x @ head[name] for name in "qkv")
    return ((q @ k.T / k.shape[1] ** 0.5).softmax(dim=-1) @ v)[-1]


# %% The norm of the last output's gradient by each input.
found = {}
for name, model in (("RNN", last_of_rnn), ("LSTM", last_of_lstm), ("attention", last_of_attention)):
    jacobian = torch.autograd.functional.jacobian(model, torch.tensor(X))  # (hidden, steps, width)
    norms = jacobian.permute(1, 0, 2).flatten(1).norm(dim=1).numpy()
    under = norms[::-1] < 0.01 * norms.max()
    found[f"{name}: log10 of the first"] = np.log10(max(norms[0], 1e-300))
    found[f"{name} reaches back"] = int(under.argmax()) if under.any() else len(norms)
