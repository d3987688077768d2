# Adam on a surface with numpy alone.
import numpy as np

SURFACE = "rosenbrock"  # bowl, rosenbrock or saddle
NAME = "adam"  # adam, adam_plain (no bias correction) or adamw
RATE = 0.03
DECAY = 0.0  # adamw's
LARGEST = 0.0  # norm of a gradient; no limit where 0
STEPS = 60
START = None

# %% The surfaces' gradients, by hand.
GRADIENTS = {
    "bowl": lambda x, y: [x, 20 * y],
    "rosenbrock": lambda x, y: [-2 * (1 - x) - 400 * x * (y - x**2), 200 * (y - x**2)],
    "saddle": lambda x, y: [2 * x, -2 * y + y**3],
}

# %% The walk.
theta, m, v = START, np.zeros(2), np.zeros(2)
for t in range(1, STEPS + 1):
    g = np.array(GRADIENTS[SURFACE](*theta))
    if LARGEST:
        g = g * min(1.0, LARGEST / max(np.linalg.norm(g), 1e-300))
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
    m_hat, v_hat = (m, v) if NAME == "adam_plain" else (m / (1 - 0.9**t), v / (1 - 0.999**t))
    before, theta = theta, theta - RATE * (m_hat / (np.sqrt(v_hat) + 1e-8) + DECAY * theta)
found = {"g": g, "before": before, "theta": theta}
