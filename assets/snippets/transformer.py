"""Read a date symbol by symbol with the shipped encoder-decoder. Run it in the project's folder."""

import torch

from core.lecture import dates
from core.lecture.date_reader import DateReader

TEXT = "3 de mayo de 1979"

reader = DateReader()
model = reader.model
source = torch.tensor([dates.encode_text(dates.normalise(TEXT))])

with torch.no_grad():
    memory, _ = model.encode(source)
    target = [dates.BEGIN]
    while target[-1] != dates.END and len(target) < 13:
        logits, maps = model.decode(torch.tensor([target]), memory, memory_mask=model.source_mask(source), return_attention=True)
        probability, symbol = logits[0, -1].softmax(dim=-1).max(dim=-1)
        looked_at = int(maps["cross 2"][0, :, -1].mean(dim=0).argmax())
        print(f"{dates.SYMBOLS[int(symbol)]}  {float(probability):.4f}  looks most at {dates.normalise(TEXT)[looked_at]!r}")
        target.append(int(symbol))

print(dates.decode_text(target))
