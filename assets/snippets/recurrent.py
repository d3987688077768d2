# Run it in the project's folder: an RNN and an LSTM unrolled, PyTorch's own as witnesses, and gradients back through time.
import numpy as np

from core.lecture import recurrence

SEQUENCE = "wave"  # wave or letters
LENGTH = 40  # steps of the wave
PERIOD = 12.0  # steps
SENTENCE = "the cat sat on the mat"
FACTOR = 1.0  # on W_hh
FORGET_BIAS = 2.0  # added to b_f
SEED = 0

x = recurrence.wave(LENGTH, period=PERIOD) if SEQUENCE == "wave" else recurrence.letters(SENTENCE, seed=SEED)[1]
rnn = recurrence.scale_weight(recurrence.random_rnn(x.shape[1], seed=SEED), "W_hh", FACTOR)
lstm = recurrence.shift_weight(recurrence.random_lstm(x.shape[1], seed=SEED), "b_f", FORGET_BIAS)

np.set_printoptions(precision=3, suppress=True)
print("last state of the RNN:", recurrence.run_rnn(x, rnn).h[-1])
states = recurrence.run_lstm(x, lstm)
print("last cell of the LSTM:", states.c[-1], "its forget gates:", states.f[-1])
print("against torch.nn.RNN: ", recurrence.rnn_deviation(x, rnn))
print("against torch.nn.LSTM:", recurrence.lstm_deviation(x, lstm))

back = recurrence.gradients_through_time(x, rnn, lstm, seed=SEED)
for name in ("rnn", "lstm", "attention"):
    norms = getattr(back, name)
    print(f"{name:9} gradient of the last output by the first input {norms[0]:.1e}, by the last {norms[-1]:.1e}")
