"""The ledger: every row of a live feed and every prediction, written down and chained before its outcome is known (D28, D33).

One folder a market holds `ledger.json`, which the chain begins with; the journal of the open hour; and hourly Parquet segments,
`<day>/<hour>/rows_*.parquet` of rows with their predictions and `lost_*.parquet` of gaps and of rows that nothing confirmed.
Outcomes and scores are never stored: they are computed from the rows. docs/ledger.md has the format, and what it proves.
"""
