"""One recording measured honestly and with mistakes. Run it in the project's folder."""

from pathlib import Path

from core.lecture import leakage
from core.market.book import read_rows

RECORDING = "binance_spot_nexousdt_2024-07-24.parquet"
HORIZON = 20
MISTAKES = ["shuffle"]
EPOCHS = 1

rows = read_rows(Path("assets/recordings") / RECORDING)
for mistakes in ([], MISTAKES):
    lab = leakage.run(rows, HORIZON, leakage.TRAINED.intersection(mistakes), epochs=EPOCHS)
    score = leakage.measure(lab, mistakes)
    print(mistakes or "honest", f"Matthews {score.network.mean():.3f}, linear peer {score.peer.mean():.3f},",
          f"momentum {score.momentum:.3f}, {score.rows:,} rows")  # fmt: skip
