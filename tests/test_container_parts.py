"""Images and containers of the tests are what they are said to be."""

from __future__ import annotations

import hashlib
import uuid
from pathlib import Path

import pytest

from tests.parts.containers import SESSION_LABEL, Container, ContainerFactory, sweep
from tests.parts.engine import Engine
from tests.parts.images import ImageFactory
from tests.parts.interpreters import installed_interpreters
from tests.parts.packages import SampleProject

pytestmark = pytest.mark.container

REVISION = "org.opencontainers.image.revision"
USE_PACKAGE = "import sample_pkg, sample_pkg.ops as ops; print(sample_pkg.answer(), ops.queue_of(7).get())"
USED = "generation 1: 1.0 7"
FIND_PACKAGE = "import os, sample_pkg; print(os.path.dirname(sample_pkg.__file__))"


@pytest.fixture
def sample(tmp_path: Path) -> SampleProject:
    return SampleProject(tmp_path / "repository")


def install(images: ImageFactory, sample: SampleProject, image: str, *options: str) -> str:
    wheel = sample.build_wheel(sample.path.parent / "wheels", extension=images.extension(image))
    return images.installed(image, wheel, options=options, labels={REVISION: sample.head})


@pytest.fixture
def container(images: ImageFactory, containers: ContainerFactory, sample: SampleProject) -> Container:
    return containers.run(install(images, sample, images.venv()))


def check_installed(container: Container, sample: SampleProject, site_packages: str) -> None:
    """The package runs, and lies where and as pip puts it."""
    assert container.python(USE_PACKAGE) == USED
    assert container.python(FIND_PACKAGE) == f"{site_packages}/sample_pkg"
    tree = container.tree(f"{site_packages}/sample_pkg")
    committed = sample.committed_package()["sample_pkg/layers/norm.py"]
    assert tree["layers/norm.py"].content == hashlib.sha256(committed).hexdigest()
    assert [name for name in tree if name.startswith("layers/__pycache__/norm.")]
    information = container.tree(f"{site_packages}/sample_pkg-1.0.dist-info")
    assert {"METADATA", "WHEEL", "RECORD", "INSTALLER"} <= information.keys()
    assert container.tree("/mnt").keys() == {"."}


@pytest.mark.parametrize(
    ("kind", "site_packages"),
    [
        ("venv", "/opt/venv/lib/python{}/site-packages"),
        ("no_shell", "/opt/venv/lib/python{}/site-packages"),
        ("system", "/usr/local/lib/python{}/site-packages"),
        ("dist_packages", "/usr/local/lib/python{}/dist-packages"),
    ],
)
def test_every_kind_of_image_runs_the_installed_package(
    images: ImageFactory, containers: ContainerFactory, sample: SampleProject, kind: str, site_packages: str
) -> None:
    container = containers.run(install(images, sample, getattr(images, kind)()))
    version = container.python("import sys; print('%d.%d' % sys.version_info[:2])")
    check_installed(container, sample, site_packages.format(version))


def test_a_wheel_goes_where_it_is_told(
    images: ImageFactory, containers: ContainerFactory, sample: SampleProject
) -> None:
    place = "/usr/lib/python3/dist-packages"
    container = containers.run(install(images, sample, images.dist_packages(), f"--target={place}"))
    check_installed(container, sample, place)


def test_another_interpreter_of_this_machine_makes_an_image(
    images: ImageFactory, containers: ContainerFactory, sample: SampleProject
) -> None:
    interpreters = installed_interpreters()
    version = next((version for version in ("3.8", "3.9", "3.13", "3.12") if version in interpreters), None)
    if version is None:
        pytest.skip("this machine has no other interpreter")
    container = containers.run(images.venv(interpreters[version]))
    assert container.python("import ssl, sys; print('%d.%d' % sys.version_info[:2])") == version


@pytest.mark.network
@pytest.mark.parametrize(
    ("suite", "version"), [("bullseye", "3.9"), ("bookworm", "3.11"), ("trixie", "3.13")]
)
def test_debian_suites_bring_their_python(
    images: ImageFactory, containers: ContainerFactory, sample: SampleProject, suite: str, version: str
) -> None:
    container = containers.run(install(images, sample, images.debian(suite)))
    check_installed(container, sample, f"/usr/local/lib/python{version}/dist-packages")


def test_the_main_process_is_no_python(container: Container) -> None:
    command = container.python("print(open('/proc/1/cmdline').read().split('\\0'))")
    assert command == "['/usr/bin/sleep', 'infinity', '']"


def test_without_a_shell_there_is_no_tar_either(images: ImageFactory, containers: ContainerFactory) -> None:
    bare, full = containers.run(images.no_shell()), containers.run(images.venv())
    for argv in (["sh", "-c", "exit 0"], ["tar", "--version"], ["cat", "/etc/passwd"]):
        assert full.exec(*argv).returncode == 0
        assert bare.exec(*argv).returncode != 0


def test_labels_of_image_and_container_are_apart(
    engine: Engine, images: ImageFactory, containers: ContainerFactory, sample: SampleProject
) -> None:
    image = install(images, sample, images.venv())
    container = containers.run(image, labels={"note": "mine"})
    show = "{{index .Config.Labels %s}}"
    of_image = engine.run("image", "inspect", "--format", show % f'"{REVISION}"', image).stdout
    assert of_image.decode().strip() == sample.head
    assert engine.run("inspect", "--format", show % '"note"', container.name).stdout == b"mine\n"


def test_a_tree_shows_owner_mode_content_and_time(container: Container) -> None:
    package = container.python(FIND_PACKAGE)
    before = container.tree(package, times=True)
    assert container.tree(package, times=True) == before
    container.exec("chown", "1000:1000", f"{package}/config.py", check=True)
    container.exec("chmod", "600", f"{package}/engine.py", check=True)
    container.exec("touch", f"{package}/ops.py", check=True)
    container.write(f"{package}/models/tiny.py", "LAYERS = []\n")
    after = container.tree(package, times=True)

    changed = {name for name in after if name != "." and after[name] != before[name]}
    assert changed == {"config.py", "engine.py", "ops.py", "models/tiny.py"}
    assert (before["config.py"].uid, after["config.py"].uid, after["config.py"].gid) == (0, 1000, 1000)
    assert (before["engine.py"].mode, after["engine.py"].mode) == (0o100644, 0o100600)
    assert before["ops.py"]._replace(mtime_ns=None) == after["ops.py"]._replace(mtime_ns=None)
    assert before["models/tiny.py"].content != after["models/tiny.py"].content


def test_commands_run_as_a_user_with_input_and_environment(container: Container) -> None:
    assert container.exec("cat", input="caf\u00e9\n").stdout == "caf\u00e9\n"
    assert container.exec("sh", "-c", "exit 7").returncode == 7
    answer = container.exec(
        "sh", "-c", "id -u; pwd; echo $X", user="dev", environment={"X": "1"}, directory="/tmp"
    )
    assert answer.stdout == "1000\n/tmp\n1\n"


def test_run_takes_user_environment_mounts_and_a_read_only_root(
    images: ImageFactory, containers: ContainerFactory, tmp_path: Path
) -> None:
    (tmp_path / "note").write_text("mounted")
    tmp_path.chmod(0o755)
    container = containers.run(
        images.venv(), user="dev", environment={"A": "b"}, mounts=[f"{tmp_path}:/data:ro"], read_only=True
    )
    code = "import os; print(os.getuid(), os.environ['A'], open('/data/note').read())"
    assert container.python(code) == "1000 b mounted"
    with pytest.raises(RuntimeError, match="Read-only file system"):
        container.write("/tmp/note", "x")


def test_a_container_stops_pauses_and_goes(engine: Engine, container: Container) -> None:
    state = ("inspect", "--format", "{{.State.Status}}", container.name)
    seen = []
    for step in (container.pause, container.unpause, container.stop, container.start, container.kill):
        step()
        seen += engine.lines(*state)
    assert seen == ["paused", "running", "exited", "running", "exited"]
    container.remove()
    assert engine.run(*state, check=False).returncode != 0


def test_a_sweep_takes_its_own_session_only(
    engine: Engine, images: ImageFactory, container: Container
) -> None:
    session = uuid.uuid4().hex
    base = images.venv()
    image = ImageFactory(engine, session).derived(base, lambda inside: inside.write("/tmp/note", "x"))
    left_over = ContainerFactory(engine, session).run(image)
    assert left_over.exec("cat", "/tmp/note").stdout == "x"
    sweep(engine, session)
    mine = f"label={SESSION_LABEL}={session}"
    assert engine.lines("ps", "--all", "--quiet", "--filter", mine) == []
    assert engine.lines("images", "--quiet", "--filter", mine) == []
    assert engine.run("image", "inspect", base, check=False).returncode == 0
    assert container.exec("true").returncode == 0
