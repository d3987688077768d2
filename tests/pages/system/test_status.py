"""The System page: an epoch is timed when asked for, on the devices there are."""

from __future__ import annotations

import torch
from streamlit.testing.v1 import AppTest

from pages.shared.navigation import ROOT


def test_an_epoch_is_timed_on_every_device() -> None:
    app = AppTest.from_file(str(ROOT / "pages" / "system" / "status.py"), default_timeout=90)
    app.run()
    assert not app.exception
    before = len(app.table)
    app.button(key="system_epoch").click().run()
    assert not app.exception
    assert len(app.table) == before + 1
    rows = next(table.value for table in app.table if "An epoch" in table.value.columns)
    assert list(rows["Device"]) == (["Processor", "GPU"] if torch.cuda.is_available() else ["Processor"])
    assert rows["Times as fast"].iloc[0] == "1.0"
    said = " ".join(caption.value for caption in app.caption)
    assert ("There is no CUDA device" in said) != torch.cuda.is_available()
