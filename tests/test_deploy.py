"""The files of `deploy/` against the project and each other. No container is run here."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from core.cli.setup import KINDS
from core.market.store import places
from core.service import access, logs

ROOT = Path(__file__).resolve().parents[1]
DEPLOY = ROOT / "deploy"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
NGINX = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
VARIABLES = {
    access.HOSTS_VARIABLE,
    access.OPEN_VARIABLE,
    access.PROXIES_VARIABLE,
    access.TOKEN_VARIABLE,
    access.USERS_VARIABLE,
    logs.LOGS_VARIABLE,
}


def instructions(name: str) -> list[str]:
    return re.findall(rf"^\s*{name}\s+(.+)$", DOCKERFILE, re.MULTILINE)


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return dict(yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8")))


VISIT = """
import sys
from functools import cache
from pathlib import Path
import streamlit as st
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest
import core
from pages.shared import search
from pages.shared.navigation import ENTRIES

assert Path(core.__file__).is_relative_to(Path.cwd())
for language in ("en", "es"):
    assert search.index(language, language).find("softmax")
st.page_link = lambda *_, **__: None  # needs the frame around the page
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)  # of all packages, at each page
for entry in sorted(ENTRIES, key=lambda one: "markets" in one.file):  # last: their sessions go on while others are opened
    app = AppTest.from_file(entry.file, default_timeout=120).run()
    assert not app.exception, (entry.file, app.exception[0].value)
"""


def image(folder: Path) -> Path:
    """What `COPY` takes, less what `.dockerignore` names, as the image has it."""
    ignored = [line for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if "*" not in line]
    for line in instructions("COPY"):
        *sources, target = line.split()
        for source in sources:
            listed = subprocess.run(
                ["git", "ls-files", "-co", "--exclude-standard", source], cwd=ROOT, capture_output=True, text=True, check=True
            )
            names = [n for n in listed.stdout.splitlines() if not any(n == i or n.startswith(f"{i}/") for i in ignored)]
            assert names, f"{source} is not there, or ignored"
            for name in names:
                inside = Path(target, Path(name).name) if target.endswith("/") else Path(target, Path(name).relative_to(source))
                (folder / inside).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, folder / inside)
    return folder


def test_the_images_own_files_open_every_page_and_answer_the_search(tmp_path: Path) -> None:
    made = image(tmp_path)
    fetched = [words for line in instructions("RUN") for words in re.findall(r"for one in ([\w ]+);", line)]
    assert [set(words.split()) for words in fetched] == [set(KINDS)]
    assert "scripts/pins.py hands writer sign-in" in DOCKERFILE
    environment = (
        os.environ | set_in_the_image() | {"HOME": str(tmp_path), "OBSERVATORY_RECORDINGS": str(tmp_path / "recordings")}
    )
    done = subprocess.run([sys.executable, "-c", VISIT], cwd=made, env=environment, capture_output=True, text=True, timeout=170)
    assert done.returncode == 0, done.stderr[-3000:]


def test_the_container_is_a_plain_user_and_answers_where_it_is_asked() -> None:
    assert instructions("USER") == ["observatory"]
    (port,) = instructions("EXPOSE")
    assert json.loads(instructions("CMD")[-1]) == ["sh", "start.sh"] and "deploy/start.sh ./" in instructions("COPY")
    assert f"${{PORT:-{port}}}" in (DEPLOY / "start.sh").read_text(encoding="utf-8")
    assert f"'http://localhost:{port}', base, 'healthz'" in DOCKERFILE
    assert instructions("VOLUME") == ["/data"]


def set_in_the_image() -> dict[str, str]:
    return dict(pair.split("=", 1) for line in instructions("ENV") for pair in line.split())


def path_variables() -> set[str]:
    """Environment variables that our code makes a path of, by the functions that read them."""
    named: set[str] = set()
    for path in sorted((ROOT / "core").rglob("*.py")):
        module = ast.parse(path.read_text(encoding="utf-8"))
        values = {
            target.id: node.value.value
            for node in module.body
            if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Constant)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name) and str(node.value.value).startswith("OBSERVATORY_")
        }
        for function in (node for node in ast.walk(module) if isinstance(node, ast.FunctionDef)):
            body = ast.unparse(function)
            if "environ" in body and re.search(r"\bPath\(", body) and function.name != "folders":  # those are read alone
                named |= {value for name, value in values.items() if re.search(rf"\b{name}\b", body)}
    return named


def test_every_path_that_is_written_has_its_variable_in_the_image(monkeypatch: pytest.MonkeyPatch) -> None:
    given = set_in_the_image()
    assert path_variables() == {name for name in given if name.startswith("OBSERVATORY_")}
    for name in [one for one in os.environ if one.startswith("OBSERVATORY_")]:
        monkeypatch.delenv(name)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    written = [places.library_folder(), Path.home()]
    assert all(path is not None and path.is_relative_to("/data") for path in written)


def test_every_service_is_bounded_and_has_no_rights_to_spare(compose: dict[str, Any]) -> None:
    for name, one in compose["services"].items():
        assert one["read_only"] and one["cap_drop"] == ["ALL"] and one["security_opt"] == ["no-new-privileges:true"], name
        assert one["pids_limit"] <= 512 and re.fullmatch(r"\d+[mg]", one["mem_limit"]), name
        assert one["tmpfs"] and all(":size=" in place for place in one["tmpfs"]), name
        assert set(one.get("cap_add", [])) <= {"CHOWN", "SETGID", "SETUID"}, name
    assert "cap_add" not in compose["services"]["app"]


def test_compose_names_what_there_is(compose: dict[str, Any]) -> None:
    app, nginx = compose["services"]["app"], compose["services"]["nginx"]
    assert (DEPLOY / app["build"]["context"] / app["build"]["dockerfile"]).samefile(DEPLOY / "Dockerfile")
    assert set(app["environment"]) <= VARIABLES
    assert all(volume.split(":")[0] in compose["volumes"] for volume in app["volumes"])
    assert (DEPLOY / nginx["volumes"][0].split(":")[0]).samefile(DEPLOY / "nginx.conf")
    assert nginx["depends_on"] == ["app"]


def test_a_space_serves_the_port_of_the_image() -> None:
    front = (DEPLOY / "space" / "README.md").read_text(encoding="utf-8").split("---")[1]
    values = yaml.safe_load(front)
    assert values["sdk"] == "docker" and str(values["app_port"]) == instructions("EXPOSE")[0]


def test_nginx_passes_sockets_and_uploads_to_the_app(compose: dict[str, Any]) -> None:
    (port,) = instructions("EXPOSE")
    assert set(re.findall(r"proxy_pass http://([^;]+);", NGINX)) == {f"app:{port}"}
    (listen,) = re.findall(r"listen (\d+);", NGINX)
    assert compose["services"]["nginx"]["ports"] == [f"{listen}:{listen}"]
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    (largest,) = re.findall(r"client_max_body_size (\d+)m;", NGINX)
    assert 1 <= int(largest) - settings["server"]["maxUploadSize"] <= 8  # a file comes in a form, which is a little larger
    assert "proxy_set_header Upgrade $http_upgrade;" in NGINX and "Host $http_host" in NGINX
