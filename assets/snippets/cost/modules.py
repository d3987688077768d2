# One model's cost, module by module, with numpy alone.
import numpy as np

ROWS = []  # module, kind, parameters, multiply-adds
T = 128
D = 40

# %% Sums by kind.
kinds = sorted({kind for _module, kind, _parameters, _macs in ROWS})
by_kind = {kind: sum(row[3] for row in ROWS if row[1] == kind) for kind in kinds}
for kind, macs in by_kind.items():
    print(f"{kind:14} {macs:>15,}")
found = {"parameters": sum(row[2] for row in ROWS), "multiply-adds": sum(by_kind.values())}

# %% A layer of attention of T tokens and width D by its formula: projections, then scores and mixture.
print("one layer of attention:", 4 * T * D**2 + 2 * T**2 * D)
