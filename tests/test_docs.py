"""The documents name what exists: paths, modules, commands, pages, decisions and sections."""

import ast
import contextlib
import importlib
import io
import re
import shlex
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from core.cli import main
from core.lecture.equations import DOCUMENTS, equations
from pages.shared.navigation import ENTRIES

ROOT = Path(__file__).resolve().parents[1]
DOCS = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "CONTRIBUTING.md", ROOT / "README.md"]
CODE = [path for folder in ("core", "pages", "scripts", "tests") for path in sorted((ROOT / folder).rglob("*.py"))]
FOLDERS = ("core", "pages", "scripts", "tests", "assets", "docs", "deploy", ".streamlit", ".ci")
PLACEHOLDER = re.compile(r"NAME|SECTION|KIND|MODEL|LANGUAGE|\bxx\b")
BY_FILE = pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def code_spans(text: str) -> set[str]:
    return set(re.findall(r"`([^`\n]+)`", text))


def commands(text: str) -> list[str]:
    """Lines of indented or fenced blocks and code spans that run something, without their comments."""
    lines = [line.strip() for line in re.findall(r"^(?: {4,}|\t)(.+)$", text, flags=re.MULTILINE)]
    lines += [line for block in re.findall(r"```(?:sh)?\n(.*?)```", text, flags=re.DOTALL) for line in block.splitlines()]
    found = {re.sub(r"\s+#.*$", "", line) for line in (*lines, *code_spans(text))}
    return sorted(line for line in found if re.match(r"make |(\.venv/bin/)?python -m ", line))


def exists(path: str) -> bool:
    """Whether a path is there; with a placeholder, whether there is one like it."""
    pattern = PLACEHOLDER.sub("*", path.rstrip("/"))
    return any(ROOT.glob(pattern)) if pattern != path.rstrip("/") or "*" in pattern else (ROOT / pattern).exists()


@BY_FILE
def test_every_path_exists(path: Path) -> None:
    top = "|".join(re.escape(folder) for folder in FOLDERS)
    spans = code_spans(path.read_text(encoding="utf-8"))
    named = {one for one in spans if re.fullmatch(rf"(?:{top})/[\w.*/-]*|[\w-]+\.(?:md|py|cff|txt|toml)", one)}
    beside = {found.name for found in [*ROOT.glob("*"), *(ROOT / "core").rglob("*.py")]}
    missing = [one for one in sorted(named) if not exists(one) and one not in beside]
    assert not missing


@BY_FILE
def test_every_module_exists(path: Path) -> None:
    for span in code_spans(path.read_text(encoding="utf-8")):
        if not re.fullmatch(r"(?:core|lab|pages|scripts)(?:\.\w+)+(?::[\w.]+)?", span):
            continue
        name, _, member = span.partition(":")
        try:
            found: object = importlib.import_module(name)
        except ModuleNotFoundError:
            name, _, member = name.rpartition(".")
            found = importlib.import_module(name)
        for step in filter(None, member.split(".")):
            found = getattr(found, step)


@BY_FILE
def test_every_link_leads_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8")):
        if target.startswith("http"):
            continue
        file, _, anchor = target.partition("#")
        found = (path.parent / file).resolve() if file else path
        assert found.is_file(), f"{target} is not there"
        assert not anchor or f'<a id="{anchor}">' in found.read_text(encoding="utf-8"), f"no anchor for {target}"


@BY_FILE
def test_every_command_exists(path: Path) -> None:
    targets = set(re.findall(r"^([\w-]+):", read("Makefile"), flags=re.MULTILINE))
    for line in commands(path.read_text(encoding="utf-8")):
        words = shlex.split(line)
        if words[0] == "make":
            assert words[1] in targets, line
            continue
        module, arguments = words[2], words[3:]
        if module == "core":
            check_core_command(arguments, line)
        elif module == "pytest":
            check_tests(arguments, line)
        else:
            assert (ROOT / f"{module.replace('.', '/')}.py").is_file(), line


def check_core_command(arguments: list[str], line: str) -> None:
    """The command and the model are asked for their help, and the options are in it."""
    chosen = [one for one in arguments[:2] if re.fullmatch(r"[a-z-]+", one) and not one.startswith("-")]
    shown = io.StringIO()
    models = ["tlob"] if arguments[:1] == ["train"] and len(chosen) == 1 else []
    if chosen[:1] in (["record"], ["faithful"], ["bench"]):
        chosen = chosen[:1]
    with contextlib.redirect_stdout(shown), pytest.raises(SystemExit) as ended:
        main([*chosen, *models, "--help"])
    assert ended.value.code == 0, line
    for option in (one for one in arguments if one.startswith("--")):
        assert option in shown.getvalue(), f"{line}: no {option}"


def check_tests(arguments: list[str], line: str) -> None:
    for one in arguments:
        file, _, function = one.partition("::")
        if not file.startswith("tests"):
            continue
        assert (ROOT / file).exists(), line
        if function:
            tree = ast.parse(read(file))
            assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, line


def test_the_readme_begins_with_what_a_visitor_can_click_and_names_the_projects_own_addresses() -> None:
    text, urls = read("README.md"), tomllib.loads(read("pyproject.toml"))["project"]["urls"]
    assert len(text.split()) <= 900
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    assert links[0] == urls["Homepage"] and f"git clone {urls['Repository']} " in text
    raw = urls["Repository"].replace("github.com", "raw.githubusercontent.com") + "/main/"
    pictures = re.findall(r"!\[[^\]]+\]\(([^)\s]+)\)", text)
    assert pictures[0].endswith("light.gif") and len(pictures) == 6
    for one in pictures:
        assert one.startswith(raw)
        assert (ROOT / one.removeprefix(raw)).stat().st_size < 2 * 1024**2


# -- decisions and sections ---------------------------------------------------------------------------------------------------


def cited_texts() -> Iterator[tuple[str, str]]:
    """Every text that may cite a decision or a section, by file."""
    for path in [
        *(path for path in CODE if path != Path(__file__)),
        ROOT / "README.md",
        *sorted((ROOT / "assets" / "text").rglob("*.md")),
    ]:
        yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def test_every_decision_that_is_cited_is_written_down() -> None:
    known = set(re.findall(r'<a id="(d\d+a?)"></a>(D\d+a?)\. ', read("docs/decisions.md")))
    assert all(anchor == name.lower() for anchor, name in known) and len(known) >= 30
    names = {name for _, name in known}
    cited = {decision for entry in equations() for decision in entry.decisions}
    for _file, text in cited_texts():
        cited |= set(re.findall(r"(?<![\w{$\\])D\d{1,2}a?\b(?![\w(^])", text))
    cited -= {"D65", "D99"}  # a white point of colour science, and a number that a test makes up
    assert cited <= names, f"docs/decisions.md lacks {sorted(cited - names)}"


@cache
def sections() -> dict[str, set[str]]:
    """Sections by document, as the tables of docs/sources.md have them."""
    found: dict[str, set[str]] = {}
    for part in re.split(r'^## <a id="', read("docs/sources.md"), flags=re.MULTILINE)[1:]:
        found[part.partition('"')[0]] = set(re.findall(r'^\| <a id="[^"]+"></a>([^|]+) \|', part, flags=re.MULTILINE))
    return found


def known_section(document: str, section: str) -> bool:
    """A section itself, or a chapter of which there are sections."""
    return any(one == section or one.startswith(f"{section}.") for one in sections()[document])


NUMBERS = r"\d+(?:\.\d+)?(?: \([^)\n]*\))?(?:(?:, | and | to )\d+(?:\.\d+)?(?: \([^)\n]*\))?)*"
CITED = re.compile(rf"(tlob-architecture|vit-report|iiga-equations),? (?:sections? )?({NUMBERS})")
BARE = re.compile(rf"(?<!\d{{4}}, )(?<![\w-] )\b[Ss]ections? ({NUMBERS})")


def section_numbers(text: str) -> list[str]:
    return re.findall(r"\d+(?:\.\d+)?", re.sub(r"\([^)]*\)", "", text))


def test_every_section_that_is_cited_is_in_the_sources() -> None:
    assert tuple(sections()) == DOCUMENTS
    for entry in equations():
        assert set(entry.section.split("; ")) <= sections()[entry.document], f"{entry.id}: {entry.section}"
    cited = 0
    for file, text in cited_texts():
        joined = re.sub(r'\s*\n\s*"?', " ", text)
        for document, numbers in CITED.findall(joined):
            for section in section_numbers(numbers):
                cited += 1
                assert known_section(document, section), f"{file}: {document} has no section {section}"
        for numbers in BARE.findall(joined):
            for section in section_numbers(numbers):
                known = any(known_section(document, section) for document in DOCUMENTS)
                assert known, f"{file}: no document has section {section}"
    assert cited > 100


def test_every_heading_that_is_cited_is_in_the_sources() -> None:
    text = read("docs/sources.md")
    quoted = re.compile(r'(?:sequence-modelling|attention-notebook),? ((?:"[^"\n]+"(?:,? and |, )?)+)')
    for file, source in cited_texts():
        for headings in quoted.findall(re.sub(r"\s*\n\s*", " ", source)):
            for heading in re.findall(r'"([^"]+)"', headings):
                assert heading in text, f"{file} cites {heading!r}"


SECTIONS = {"tlob-architecture": 24, "vit-report": 40, "iiga-equations": 52, "sequence-modelling": 7, "attention-notebook": 10}
"""How many sections each document has; its headings were counted by hand."""


def views() -> Iterator[tuple[str, list[str]]]:
    """Each section's anchor in docs/sources.md, and the views that show it."""
    for anchor, cell in re.findall(r'^\| <a id="([^"]+)">.*\| ([^|]*) \|$', read("docs/sources.md"), flags=re.MULTILINE):
        yield anchor, sorted(code_spans(cell))


def test_every_section_of_the_documents_has_a_view() -> None:
    assert {document: len(found) for document, found in sections().items()} == SECTIONS
    without = [anchor for anchor, found in views() if not found]
    assert not without, f"{len(without)} sections without a view"
    assert len(list(views())) == sum(SECTIONS.values())


def test_every_part_of_the_sources_is_one_of_its_page() -> None:
    """`page?part=code` names a part that the page offers. What a view shows: tests/pages/test_sources.py."""
    files = {entry.url: ROOT / entry.file for entry in ENTRIES}
    for _anchor, found in views():
        for url, _, query in (view.partition("?") for view in found):
            for name, _, code in (one.partition("=") for one in filter(None, query.split("&"))):
                if name == "part":
                    source = read(str(files[url].relative_to(ROOT)))
                    offered = source[max(source.find("open_page("), 600) - 600 :] + source.partition("PARTS")[2]
                    assert re.search(rf'"{code}": |[Pp]art\(\s*"{code}", ', offered), f"{url} has no part {code}"


def test_the_table_of_sources_agrees_with_the_index() -> None:
    """Each row names the module of every equation of its section."""
    rows = dict(re.findall(r'^\| <a id="([^"]+)"></a>(.*)$', read("docs/sources.md"), flags=re.MULTILINE))
    for entry in equations():
        for section in entry.section.split("; "):
            row = rows[f"{entry.document}-{re.sub(r'[^a-z0-9.]+', '-', section.lower()).strip('-')}"]
            for place in entry.code:
                assert f"`{place.partition(':')[0]}`" in row, f"{entry.document} {section}: no {place}"


def test_the_glossarys_spanish_is_that_of_the_screen() -> None:
    prose = [path.read_text(encoding="utf-8") for path in (ROOT / "assets" / "text" / "es").glob("*.md")]
    catalogue = re.sub(r'"\n"', "", read("assets/locale/es/LC_MESSAGES/messages.po"))
    shown = re.sub(r"\s+", " ", " ".join([catalogue, *prose])).lower()
    tables = read("assets/glossary.md").partition("</a>Symbols of the lecture")[0]
    terms = [row.split("|")[2] for row in re.findall(r"^\|.*\|$", tables, flags=re.MULTILINE)]
    spanish = [one.strip(" *") for cell in terms if not cell.strip().startswith(("---", "español")) for one in cell.split(",")]
    assert len(spanish) > 50
    stems = {one: [word[: max(4, len(word) - 2)] for word in one.lower().split() if len(word) > 3] for one in spanish}
    assert not [one for one, words in stems.items() if any(word not in shown for word in words)]
