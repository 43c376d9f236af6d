"""A registry that serves one image of a local engine, as the entry of an index over two platforms."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
REPOSITORY = "sample"


def digest_of(document: bytes) -> str:
    return f"sha256:{hashlib.sha256(document).hexdigest()}"


@dataclass(frozen=True)
class Registry:
    """``name``: what to pull. The engine has the image already, so that no layer is ever asked for."""

    name: str
    index: bytes
    manifest: bytes

    @property
    def index_digest(self) -> str:
        return digest_of(self.index)

    @property
    def manifest_digest(self) -> str:
        return digest_of(self.manifest)


def _documents(image: dict[str, Any]) -> tuple[bytes, bytes]:
    """Index and manifest of an image, by the engine's record of it."""
    layer = {"mediaType": "application/vnd.docker.image.rootfs.diff.tar.gzip", "size": 1}
    configuration = {"mediaType": "application/vnd.docker.container.image.v1+json", "size": 1}
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": {**configuration, "digest": image["Id"]},
        "layers": [{**layer, "digest": digest} for digest in image["RootFS"]["Layers"]],
    }
    text = json.dumps(manifest).encode()
    here = {"os": image["Os"], "architecture": image["Architecture"]}
    entries = [
        {"digest": digest_of(content), "size": len(content), "mediaType": MANIFEST, "platform": platform}
        for content, platform in ((b"other", {"os": "linux", "architecture": "s390x"}), (text, here))
    ]
    index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": entries}
    return json.dumps(index, indent=1).encode(), text


@contextmanager
def registry_of(image: dict[str, Any]) -> Iterator[Registry]:
    """Serves index and manifest on this machine; ``image`` is what ``docker image inspect`` says."""
    index, manifest = _documents(image)
    documents = {digest_of(index): (index, INDEX), digest_of(manifest): (manifest, MANIFEST)}
    documents["latest"] = documents[digest_of(index)]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            reference = self.path.rpartition("/manifests/")[2]
            content, kind = documents.get(reference, (b"{}", "application/json"))
            self.send_response(200 if self.path == "/v2/" or reference in documents else 404)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Docker-Content-Digest", digest_of(content))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        do_HEAD = do_GET

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield Registry(f"localhost:{server.server_address[1]}/{REPOSITORY}", index, manifest)
    finally:
        server.shutdown()
        server.server_close()
