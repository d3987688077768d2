"""Any photograph: what the page says is what the network gives, and a patch that is rubbed out is asked without."""

from pathlib import Path

import pytest

from core.vision import seen_samples
from core.vision.sight import sight_reader
from core.vision.sight_files import SIGHT_FILES
from pages.shared.language import percent
from tests.pages.open_page import open_page, words

PAGE = Path(__file__).parents[3] / "pages" / "images" / "see.py"
THERE = pytest.mark.skipif(not SIGHT_FILES.available(), reason="needs `make sight`")


@THERE
@pytest.mark.parametrize("sample", ["cup", "nothing"])
def test_the_share_that_stands_out_is_the_networks(sample: str) -> None:
    picture = seen_samples.sample(sample if sample in seen_samples.NAMES else next(iter(seen_samples.NAMES)))
    whole = sight_reader().read(picture, side=224)
    hidden = (1, 2, 3)
    rest = sight_reader().read(picture, side=224, erased=hidden)
    page = open_page(PAGE, sample=sample, side="224", hide_seen="1.2.3")
    assert f"**{percent(rest.standing_out)}** of the picture" in words(page) and percent(whole.standing_out) in words(page)


@THERE
def test_a_garment_of_garments_and_a_link_that_is_gone(links: dict[str, dict[str, str]]) -> None:
    open_page(PAGE, photo="19", side="224")
    assert links["pages/images/classify.py"] == {"photo": "19"}
    assert "What this link held is gone" in words(open_page(PAGE, set="0123456789ab"))


@THERE
def test_a_second_photograph_stands_beside_the_first() -> None:
    page = open_page(PAGE, sample="rocket", side="224", seen_below="pair", beside="shoes")
    messages = [
        one.proto.bytes for one in page if "attention_component" in str(getattr(getattr(one, "proto", 0), "component_name", ""))
    ]
    assert len(messages) == 2 and b'"grid":[16,32]' in messages[1]


def test_without_the_network_the_page_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(SIGHT_FILES), "available", lambda _self: False)
    assert "run `make sight` once" in words(open_page(PAGE))
