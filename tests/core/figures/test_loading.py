"""A figure while another thread is still importing pandas, as the server does when it starts."""

import subprocess
import sys

SCRIPT = """
import sys, threading, time
from importlib.abc import MetaPathFinder

class Slow(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "pandas.core.api":
            begun.set()
            time.sleep(2)

begun = threading.Event()
sys.meta_path.insert(0, Slow())
loading = threading.Thread(target=__import__, args=("pandas",))
loading.start()
begun.wait()
assert not hasattr(sys.modules["pandas"], "Series")
import core.figures
import plotly.graph_objects as go
go.Figure(go.Scatter(y=[1, 2]))
loading.join()
"""


def test_a_figure_waits_for_pandas() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
