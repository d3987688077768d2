"""The ledger: every live prediction, written down and chained before its outcome is known (D28).

One folder a market holds hourly Parquet segments of book rows and of predictions, `<market>/<day>/<hour>/rows_*.parquet` and
`predictions_*.parquet`, the journal of the open hour (`journal.jsonl`) and `ledger.json`, which names the market and the heads.
Outcomes and scores are never stored: they are computed from the rows.
"""
