"""The System page in both languages."""

from streamlit.testing.v1 import AppTest

from pages.shared.navigation import ROOT


def test_everything_on_it_is_translated() -> None:
    """What stays the same in Spanish is a name, a number or a text of its own language."""

    def texts(locale: str) -> set[str]:
        app = AppTest.from_file(str(ROOT / "pages" / "system" / "status.py"), default_timeout=90)
        app.context = {"locale": locale, "timezone": "America/Lima"}
        app.run()
        assert not app.exception
        found = [element.value for element in [*app.title, *app.header, *app.markdown, *app.caption, *app.info, *app.error]]
        found += [element.label for element in [*app.button, *app.selectbox, *app.metric, *app.expander]]
        found += [str(column) for table in app.table for column in table.value.columns]
        return {text for text in found if any(character.isalpha() for character in text)}

    notices = (ROOT / "THIRD_PARTY.md").read_text(encoding="utf-8")
    same = {text for text in texts("en") & texts("es") if text[:200] not in notices.replace("\n## ", "\n##### ")}
    assert not same, same
