"""A server that speaks the part of the Hugging Face Hub's protocol by which a model is pushed and fetched."""

import base64
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

TOKEN = "hf_of_the_test"


class HubServer(ThreadingHTTPServer):
    """Repositories in memory, by name: file -> bytes at the newest commit. `asked` lists the requests."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.repositories: dict[str, dict[str, bytes]] = {}
        self.commits: dict[str, str] = {}
        self.objects: dict[str, bytes] = {}
        self.asked: list[str] = []


class _Handler(BaseHTTPRequestHandler):
    server: HubServer

    def do_POST(self) -> None:
        body, words = self._body(), self.path.strip("/").split("/")
        self.server.asked.append(f"POST {self.path}")
        if self.path == "/api/validate-yaml":
            return self._json({"errors": [], "warnings": []})
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            return self._json({"error": "Invalid username or password."}, status=401)
        if self.path == "/api/repos/create":
            asked = json.loads(body)
            name = f"{asked.get('organization') or 'me'}/{asked['name']}"
            self.server.repositories.setdefault(name, {})
            return self._json({"url": f"{self.server.url}/{name}", "name": name})
        if words[-1] == "batch":
            return self._json({"transfer": "basic", "objects": [self._transfer(one) for one in json.loads(body)["objects"]]})
        name, act = "/".join(words[2:4]), words[4]
        if act == "preupload":
            modes = {True: "lfs", False: "regular"}
            files = [
                {"path": f["path"], "shouldIgnore": False, "uploadMode": modes[f["path"].endswith("tensors")]}
                for f in json.loads(body)["files"]
            ]
            return self._json({"files": files})
        assert act == "commit", self.path
        self._commit(name, [json.loads(line) for line in body.splitlines()])
        commit = self.server.commits[name]
        return self._json({"success": True, "commitOid": commit, "commitUrl": f"{self.server.url}/{name}/commit/{commit}"})

    def do_PUT(self) -> None:
        self.server.asked.append("PUT object")
        data = self._body()
        self.server.objects[hashlib.sha256(data).hexdigest()] = data
        self._answer(200)

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        self.server.asked.append(f"{self.command} {self.path}")
        name, resolves, place = self.path.strip("/").partition("/resolve/")
        files = self.server.repositories.get(name)
        file = place.partition("/")[2]  # after the revision
        if resolves and files is not None and file in files:
            etag = hashlib.sha256(files[file]).hexdigest()
            self._answer(200, files[file], ETag=f'"{etag}"', **{"X-Repo-Commit": self.server.commits[name]})
        else:
            self._answer(404, **{"X-Error-Code": "RepoNotFound" if files is None else "EntryNotFound"})

    def _transfer(self, one: dict[str, Any]) -> dict[str, Any]:
        known = one["oid"] in self.server.objects
        actions = {} if known else {"actions": {"upload": {"href": f"{self.server.url}/objects/{one['oid']}"}}}
        return {"oid": one["oid"], "size": one["size"], **actions}

    def _commit(self, name: str, lines: list[dict[str, Any]]) -> None:
        files = self.server.repositories[name]
        for line in lines:
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                files[value["path"]] = self.server.objects[value["oid"]]
        self.server.commits[name] = hashlib.sha1(repr(sorted(files.items())).encode()).hexdigest()

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def _json(self, value: Any, status: int = 200) -> None:
        self._answer(status, json.dumps(value).encode(), **{"Content-Type": "application/json"})

    def _answer(self, status: int, data: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@contextmanager
def hub_server() -> Iterator[HubServer]:
    """A server for a block of code."""
    server = HubServer()
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
