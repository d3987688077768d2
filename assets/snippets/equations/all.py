# Search the titles and formulas of the equations that were found.
import numpy as np

FOUND = []  # document, section, title, LaTeX
WORDS = ""

# %% Count them by document.
documents = sorted({entry[0] for entry in FOUND})
counts = {name: sum(entry[0] == name for entry in FOUND) for name in documents}
for document, section, title, latex in FOUND:
    print(f"{document:20} {section:30} {title}\n    {latex}")
found = {"equations": len(FOUND), "largest": max(counts.values(), default=0), "sum": np.sum(list(counts.values()))}
