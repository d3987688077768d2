# IIGA's attention layers and convolutions by formula, beside what the document says.
import numpy as np

FRAMES = 12
CNN = 1  # multiply-adds of MobileNetV2 on one frame of 224 x 224
SAID = {}  # by name: the document's number
COUNTED = {}

# %% L = 2 layers are four attentions of width 1280 (D16).
layers = 4 * (12 * FRAMES * 1280**2 + 2 * FRAMES**2 * 1280)
for name, said in SAID.items():
    print(f"{name:20} said {said:>18,.0f}  counted {COUNTED[name]:>18,}  {COUNTED[name] / said:.3f}")
found = {"attention layers": layers, "convolutions": FRAMES * CNN}
