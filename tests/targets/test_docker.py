"""Containers of a real engine: what it tells of them, the agent in them, and its complaints explained."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from overlaysync.errors import AgentLostError, LockedError, NoInterpreterError, OverlaysyncError, TargetError
from overlaysync.model.target import FileKind, InstalledPath
from overlaysync.remote.connecting import connect
from overlaysync.remote.session import AgentSession
from overlaysync.targets.docker import DockerTransport
from tests.agent.vocabulary import FILES, METADATA, NAME, Site
from tests.parts.containers import SESSION_LABEL, Container, ContainerFactory
from tests.parts.engine import Engine
from tests.parts.images import ImageFactory

pytestmark = pytest.mark.container

SITE = "/site"
EDITED = "GENERATION = 2\n"


@pytest.fixture(scope="module")
def image(images: ImageFactory) -> str:
    """An image that holds the distribution below ``/site``, with a second name of one of its files."""

    def prepare(container: Container) -> None:
        for path, text in FILES.items():
            container.exec("mkdir", "-p", os.path.dirname(f"{SITE}/{path}"), check=True)
            container.write(f"{SITE}/{path}", text)
        container.exec("ln", f"{SITE}/sample/helper.py", f"{SITE}/cache.py", check=True)

    labels = {"org.opencontainers.image.revision": "f" * 40, "only.image": "a=b"}
    return images.derived(images.venv(), prepare, labels=labels)


def open_site(session: AgentSession) -> object:
    return session.open(SITE, METADATA, NAME, "sha1")


def refused(action: Callable[[], object]) -> OverlaysyncError:
    with pytest.raises(OverlaysyncError) as error:
        action()
    assert error.value.next_step
    return error.value


def test_what_the_engine_tells(containers: ContainerFactory, image: str) -> None:
    container = containers.run(
        image,
        labels={"only.container": "1", "only.image": "changed"},
        environment={"MODE": "a=b=c", "EMPTY": ""},
        user="1000:1000",
        arguments=["--workdir=/tmp"],
    )
    transport = DockerTransport(container.name)
    identity, setting, labels = transport.describe(), transport.setting(), transport.labels()
    record = container.inspect()
    assert (identity.kind, identity.name) == ("docker", container.name)
    assert (identity.container_id, identity.image_id) == (record["Id"], record["Image"])
    assert identity.image_name == image
    assert identity.started_at.startswith("20")
    assert identity.platform.startswith("linux/")
    assert (setting.user, setting.working_directory) == ("1000:1000", "/tmp")
    assert (setting.environment["MODE"], setting.environment["EMPTY"]) == ("a=b=c", "")
    assert setting.command == ("/usr/bin/sleep", "infinity")
    assert labels["only.image"] == "a=b"
    assert "only.container" not in labels
    assert SESSION_LABEL in labels


def test_an_id_and_its_beginning_name_a_container(containers: ContainerFactory, image: str) -> None:
    container = containers.run(image)
    whole = str(container.inspect()["Id"])
    for name in (whole, whole[:12]):
        assert DockerTransport(name).describe().container_id == whole


def test_no_such_container(engine: Engine) -> None:
    error = refused(DockerTransport("overlaysync-absent").describe)
    assert (error.code, error.exit_code) == ("no-container", 7)
    assert refused(lambda: connect(DockerTransport("overlaysync-absent"))).code == "no-container"


def test_names_close_to_one_that_is_not_there(containers: ContainerFactory, image: str) -> None:
    """Also of a container that does not run; a name that is just gone is not close to itself."""
    container = containers.run(image)
    for _ in range(2):
        told = refused(DockerTransport(f"{container.name}x").describe).next_step or ""
        assert told.startswith("write ")
        assert container.name in told.partition(" if that is what is meant, or list them: docker ps --all")[0]
        container.stop()
    container.remove()
    assert f"write {container.name} " not in (
        refused(DockerTransport(container.name).describe).next_step or ""
    )


def test_a_stopped_and_a_paused_container(containers: ContainerFactory, image: str) -> None:
    container = containers.run(image)
    known = DockerTransport(container.name)
    known.describe()
    container.pause()
    try:
        assert refused(DockerTransport(container.name).describe).code == "target-paused"
        assert refused(lambda: connect(known)).code == "target-paused"
    finally:
        container.unpause()
    container.stop()
    assert refused(DockerTransport(container.name).describe).code == "target-stopped"
    assert refused(lambda: connect(known)).code == "target-stopped"
    container.start()
    with connect(DockerTransport(container.name)) as session:
        open_site(session)
    container.remove()
    assert refused(lambda: connect(known)).code == "no-container"


def test_a_name_that_stands_for_another_container_by_now(containers: ContainerFactory, image: str) -> None:
    """C15: what was described is what is talked to, or nothing."""
    container = containers.run(image)
    known = DockerTransport(container.name)
    known.describe()
    container.remove()
    containers.run(image, name=container.name)
    assert refused(lambda: connect(known)).code == "no-container"
    with connect(DockerTransport(container.name)) as session:
        open_site(session)


def test_a_user_that_is_not_there(containers: ContainerFactory, image: str) -> None:
    container = containers.run(image)
    error = refused(lambda: connect(DockerTransport(container.name, user="nobody-here")))
    assert "no user nobody-here" in error.message
    with connect(DockerTransport(container.name, user="dev")) as session:
        assert session.hello.uid == 1000


@pytest.mark.parametrize(
    ("interpreter", "told"),
    [
        ("/no/such/python", "no such file or directory"),
        ("no-such-python", "not found"),
        ("/etc/passwd", "permission denied"),
        ("/tmp", "permission denied"),
        ("/usr/bin/true", "it said nothing"),
        ("/usr/bin/cat", "for more information"),
    ],
)
def test_an_interpreter_that_is_none(
    containers: ContainerFactory, image: str, interpreter: str, told: str
) -> None:
    container = containers.run(image)
    error = refused(lambda: connect(DockerTransport(container.name, interpreter=interpreter)))
    assert isinstance(error, NoInterpreterError)
    assert told in error.message.lower()
    with connect(DockerTransport(container.name, interpreter="/opt/venv/bin/python3")) as session:
        assert session.hello.executable == "/opt/venv/bin/python3"


def test_no_python_at_all(containers: ContainerFactory, images: ImageFactory) -> None:
    def remove(container: Container) -> None:
        programs = ["/opt/venv/bin/python3", "/usr/local/bin/python3"]
        container.exec("rm", *programs, check=True)

    bare = images.derived(images.venv(), remove)
    error = refused(lambda: connect(DockerTransport(containers.run(bare).name)))
    assert isinstance(error, NoInterpreterError)
    assert error.message.startswith("no Python was found in container ")


def test_no_shell_and_no_tools(containers: ContainerFactory, images: ImageFactory) -> None:
    """D06: nothing but Python is needed."""
    container = containers.run(images.no_shell())
    with connect(DockerTransport(container.name)) as session:
        assert session.processes(None, []) == []
        assert session.read("/etc/passwd") is not None


def test_a_read_only_root_can_be_looked_at(containers: ContainerFactory, image: str) -> None:
    """D03; the lock holds there too."""
    container = containers.run(image, read_only=True)
    with (
        connect(DockerTransport(container.name)) as first,
        connect(DockerTransport(container.name)) as second,
    ):
        open_site(first)
        (file,) = first.look(
            [InstalledPath("sample/engine.py")], object_format="sha1", writable=True
        ).values()
        assert (file.kind, file.unwritable) == (
            FileKind.FILE,
            f"{SITE}/sample is on a read-only file system",
        )
        with pytest.raises(LockedError):
            open_site(second)


def test_a_posix_locale(containers: ContainerFactory, image: str) -> None:
    """D14: names are bytes."""
    odd = {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    container = containers.run(image, environment=odd)
    names = [InstalledPath("sample/café.py"), InstalledPath(os.fsdecode(b"sample/\xff.py"))]
    code = rf"open(b'{SITE}/sample/caf\xc3\xa9.py', 'w'); open(b'{SITE}/sample/\xff.py', 'w')"
    container.python(code)
    transport = DockerTransport(container.name)
    with connect(transport) as session:
        open_site(session)
        files = session.look(names, object_format="sha1")
        assert {file.kind for file in files.values()} == {FileKind.FILE}
        setting = transport.setting()
        setting.environment["PYTHONPATH"] = SITE
        (found,), _ = session.read_back("/opt/venv/bin/python3", setting, ["sample.café"], [])
        assert (found.error, found.origin) == (None, f"{SITE}/sample/café.py")


class InContainer(Site):
    """The vocabulary's edits on the files of a container."""

    def __init__(self, container: Container) -> None:
        super().__init__(Path(SITE))
        self.container = container

    def digest(self, path: str):  # type: ignore[no-untyped-def]
        entry = self.container.tree(SITE).get(path)
        return entry.content if entry is not None else None


def test_the_lock_outlives_the_copying_up_of_the_root(containers: ContainerFactory, image: str) -> None:
    """On an overlay file system the first write gives the directory another place on the disk."""
    container = containers.run(image)
    site = InContainer(container)
    with (
        connect(DockerTransport(container.name)) as first,
        connect(DockerTransport(container.name)) as second,
    ):
        open_site(first)
        site.apply(first, [site.replace("sample/engine.py", EDITED)])
        with pytest.raises(LockedError):
            open_site(second)
        assert first.look([InstalledPath("sample/engine.py")], object_format="sha1")
        first.write_record('{"id": "first"}')
        first.record()
        with pytest.raises(LockedError):
            open_site(second)


def test_push_and_revert_on_files_of_the_image(containers: ContainerFactory, image: str) -> None:
    """D02, D08: files of lower layers, one of them with a second name."""
    container = containers.run(image)
    before = container.tree(SITE, times=True)
    site = InContainer(container)
    with connect(DockerTransport(container.name)) as session:
        open_site(session)
        edits = [
            site.replace("sample/helper.py", EDITED),
            site.add("sample/fresh/new.py", "NEW = 1\n"),
            site.remove("sample/lonely/only.py"),
        ]
        site.push(session, edits)
        after = container.tree(SITE)
        assert after["sample/helper.py"].content == edits[0].operation.after
        assert after["cache.py"].content == before["cache.py"].content
        assert "sample/lonely" not in after
        site.push_revert(session)
    done = container.tree(SITE, times=True)
    files = {path for path, entry in before.items() if entry.content}
    assert {path: done[path] for path in files} == {path: before[path] for path in files}
    assert {path: entry[:3] for path, entry in done.items()} == {
        path: entry[:3] for path, entry in before.items()
    }


@pytest.mark.parametrize("end", ["client killed", "client told to end", "container killed"])
def test_the_connection_breaks(containers: ContainerFactory, image: str, end: str) -> None:
    container = containers.run(image)
    before = container.tree(SITE)
    site = InContainer(container)
    session = connect(DockerTransport(container.name))
    open_site(session)
    site.apply(session, [site.replace("sample/engine.py", EDITED)])
    if end == "container killed":
        container.kill()
        container.start()
    else:
        child = session._channel.process._child  # type: ignore[attr-defined]
        child.kill() if end == "client killed" else child.terminate()
        child.wait()
    with pytest.raises(AgentLostError):
        session.record()
    session.close()
    deadline = time.monotonic() + 20
    while True:
        try:
            with connect(DockerTransport(container.name)) as second:
                open_site(second)
            break
        except LockedError:  # it is about to notice
            assert time.monotonic() < deadline
            time.sleep(0.2)
    assert container.tree(SITE) == before


def test_no_engine_to_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    error = refused(DockerTransport("name").describe)
    assert (error.code, error.message) == ("no-engine", "the docker command is not installed")


def test_an_engine_that_does_not_listen(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/absent.sock")
    error = refused(DockerTransport("name").describe)
    assert isinstance(error, TargetError)
    assert error.code == "no-engine"
