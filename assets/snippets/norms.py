"""Norms, an activation, dropout and the place of the LayerNorm, by the written formulas. Run it in the project's folder."""

import torch

from core.lecture import activations, norms

NORM = "layer"
LEVEL = 3.0
ACTIVATION = "gelu"
AT = 1.0
RATE = 0.3
LAYERS = 8

x = norms.example_batch(level=LEVEL)  # (samples, time, channels)
y = norms.normalise(x, NORM)
for groups, (mean, off) in norms.spread_by_group(y).items():
    print(f"after {NORM}: groups of {groups:8} largest |mean| {mean:.2e}, largest |std - 1| {off:.2e}")

print(ACTIVATION, activations.compared(ACTIVATION, AT))

draws = torch.rand(1000, 64, generator=torch.Generator().manual_seed(0))
print("mean of ones after dropout:", float(norms.dropout(torch.ones(1000, 64), RATE, draws).mean()))

for pre_norm in (False, True):
    study = norms.depth_gradients(LAYERS, pre_norm=pre_norm, seed=1)
    print("pre-norm " if pre_norm else "post-norm", "gradient by layer:", study.gradients.round(4))
