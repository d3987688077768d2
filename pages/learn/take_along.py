"""Things to take along from a view: its notebook, and a QR code of its link."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from html import escape
from typing import Any, Final

import segno

from core.lecture import notebooks
from pages.shared import controls
from pages.shared.language import _

MASK: Final = 2


@lru_cache(maxsize=256)
def qr_code(text: str) -> str:
    """A QR code as an image, HTML, black on white, its quiet zone included: Streamlit leaves no SVG in HTML.

    One of the eight masks is taken, as any is legible: to compare them all took up to a fifth of a dial's time. Empty for an
    address of more than some 2,300 characters, as of a long text: no code holds it.
    """
    try:
        code = segno.make(text, error="m", micro=False, mask=MASK)
    except segno.DataOverflowError:
        return ""
    return f'<img alt="" src="{code.svg_data_uri(border=4, light="white", scale=8)}" style="width:100%">'


def offer(page: str, part: str, title: str, values: Callable[[], Mapping[str, Any]] | None) -> None:
    """The button of a part's notebook, which is made at the press, and the view's link with its QR code.

    Args:
        page, part: names of the view's template. title: the notebook's heading.
        values: for the template; None for a part without a notebook.
    """
    name, address = f"{page}-{part}" if part else page, controls.view_address()
    if values is not None:

        def made() -> bytes:
            code = notebooks.fill(notebooks.template(page, part), values())
            return notebooks.notebook(code, f"# {title}\n\n{address}").encode()

        mime = "application/x-ipynb+json"
        controls.download_bytes(_("Notebook (.ipynb)"), made, key=f"{name}_notebook", filename=f"{name}.ipynb", mime=mime)
    label, code = escape(_("QR code of this view")), qr_code(address)
    controls.link_to_view(picture=f'<figure style="margin:0;width:9rem" aria-label="{label}">{code}</figure>' if code else "")
