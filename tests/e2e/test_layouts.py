"""Where sources stand, where packages are installed, and to whom they belong."""

from __future__ import annotations

import pytest

from tests.e2e.scenario import Scenario, Stage, own
from tests.parts.images import ImageFactory

pytestmark = pytest.mark.container

DEBIAN_ROOT = "/usr/lib/python3/dist-packages"


@pytest.mark.parametrize(
    ("layout", "image", "install", "site"),
    [
        ("", "venv", (), "/opt/venv/lib/python{}/site-packages"),
        ("src", "system", (), "/usr/local/lib/python{}/site-packages"),
        ("python", "dist_packages", (), "/usr/local/lib/python{}/dist-packages"),
        ("src", "dist_packages", (f"--target={DEBIAN_ROOT}",), DEBIAN_ROOT),
    ],
)
def test_every_source_root_onto_every_install_root(
    stage: Stage, images: ImageFactory, layout: str, image: str, install: tuple[str, ...], site: str
) -> None:
    scenario = stage.set(layout=layout, image=getattr(images, image)(), install=install)
    version = scenario.python("import sys; print('%d.%d' % sys.version_info[:2])")
    scenario.site = site.format(version)
    before = scenario.files()
    scenario.edit_generation()
    scenario.project.write(scenario.project.source("layers/drop.py"), "RATE = 0.5\n")
    answer = scenario.applied()
    assert {(item["action"], item["source"], item["destination"]) for item in answer["operations"]} == {
        ("replace", scenario.project.source("engine.py"), f"{scenario.site}/sample_pkg/engine.py"),
        ("add", scenario.project.source("layers/drop.py"), f"{scenario.site}/sample_pkg/layers/drop.py"),
    }
    assert answer["details"]["install_root"] == scenario.site
    assert scenario.answer() == "generation 2: 1.0"
    assert scenario.python("from sample_pkg.layers import drop; print(drop.RATE)") == "0.5"
    scenario.ask("revert")
    assert scenario.files() == before


def test_a_user_who_owns_the_environment(stage: Stage) -> None:
    scenario = stage.set(prepare=own("/opt/venv"), user="1000:1000")
    before = scenario.files()
    scenario.edit_generation()
    scenario.project.write("sample_pkg/layers/drop.py", "RATE = 0.5\n")
    scenario.applied()
    after = scenario.files()
    assert {after[f"sample_pkg/{name}"][1:3] for name in ("engine.py", "layers/drop.py")} == {(1000, 1000)}
    assert after["sample_pkg/engine.py"].mode == before["sample_pkg/engine.py"].mode
    assert scenario.answer() == "generation 2: 1.0"
    scenario.ask("revert")
    assert scenario.files() == before


def test_modes_are_kept_and_new_files_take_the_executable_bit(scenario: Scenario) -> None:
    place = f"{scenario.site}/sample_pkg/engine.py"
    scenario.container.exec("chmod", "0640", place, check=True)
    scenario.container.exec("chown", "1000:1000", place, check=True)
    before = scenario.files()
    scenario.edit_generation()
    script = scenario.project.write("sample_pkg/layers/tool.py", "#!/usr/bin/env python3\n")
    script.chmod(0o755)
    scenario.applied()
    after = scenario.files()
    assert after["sample_pkg/engine.py"][:3] == before["sample_pkg/engine.py"][:3] == (0o100640, 1000, 1000)
    assert after["sample_pkg/layers/tool.py"][:3] == (0o100755, 0, 0)
    scenario.ask("revert")
    assert scenario.files() == before
