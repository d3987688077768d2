"""Parameters and multiply-adds of a model by formula, by count and in time. Run it in the project's folder."""

from statistics import median

from core.lecture import cost, cost_count, cost_growth

SETUP = "tlob-lean"
TOKENS = 128
WIDTH = 40

setup = cost_growth.sized(cost_count.setups()[SETUP], TOKENS, WIDTH)
rows = cost_count.rows(setup.config, setup.tokens)
for row in rows:
    print(f"{row.part.module:28} {row.part.parameters:>10,} {row.parameters:>10,} {row.part.macs:>13,} {row.macs:>13,}")
total = cost.total([row.part for row in rows])
print(f"{total.parameters:,} parameters, {total.macs / 1e6:.2f} M MACs, maps {total.map_bytes / 2**20:.2f} MiB; all equal:",
      all(row.equal for row in rows))  # fmt: skip

seconds = median(cost_count.pass_times(setup.config, setup.tokens, runs=3))
print(f"one forward pass here: {1000 * seconds:.1f} ms, {total.macs / seconds / 1e9:.2f} G MACs a second")

layer = cost_growth.layer(TOKENS, WIDTH, 1)
print(f"one layer: {layer.macs:,} by formula, {layer.counted:,} counted")
print("scores pass projections at T =", cost.crossing_attention(WIDTH), "and the whole rest at T =", cost.crossing_layer(WIDTH))
