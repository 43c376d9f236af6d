"""One image has several names and digests: which of them it is, and which say nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cases.seen import Case
from tests.e2e.scenario import Scenario, Stage, codes
from tests.parts.registry import registry_of

pytestmark = pytest.mark.container


def inspected(stage: Stage, image: str) -> Any:
    return json.loads(stage.images.engine.run("image", "inspect", image).stdout)[0]


def manifest_of(scenario: Scenario) -> Any:
    shown = scenario.cli("-C", scenario.project.path, "manifest", "show", "--json").json()
    return shown["details"]["manifest"]


def image_of(answer: Any) -> Any:
    """What an answer says of the image, checked to be what the container's manifest would hold."""
    image = answer["details"]["image"]
    assert image["image_id"] == answer["target"]["image_id"]
    return image


@pytest.mark.case("C01")
@pytest.mark.parametrize("other", ["another image", "none"])
def test_the_tag_moved_on(stage: Stage, case: Case, other: str) -> None:
    """The label of the image that the tag names by now is not the container's."""
    project = stage.project()
    own = stage.image(project)
    engine = stage.images.engine
    tag = f"{own}-nightly"
    engine.run("tag", own, tag)
    scenario = stage.start(project, tag)
    identity = image_of(case.control(scenario.ask("status"), "the tag is the container's image"))
    if other == "none":
        engine.run("rmi", "--no-prune", tag)
    else:
        wrong = stage.image(project, labels={"org.opencontainers.image.revision": "f" * 40})
        engine.run("tag", wrong, tag)
        assert inspected(stage, tag)["Id"] != identity["image_id"]
    assert scenario.container.inspect()["Config"]["Image"] == tag  # type: ignore[index]
    scenario.edit_generation()
    answer = case.trap(
        scenario.applied(), f"the tag names {other} by now; image and label are the container's"
    )
    assert image_of(answer) == identity
    assert answer["baseline"]["image_commit"] == project.head
    assert manifest_of(scenario)["target"]["image_id"] == scenario.container.inspect()["Image"]


@pytest.mark.case("C08")
def test_an_image_that_no_registry_has(scenario: Scenario, case: Case, stage: Stage) -> None:
    record = inspected(stage, str(scenario.container.inspect()["Image"]))
    scenario.edit_generation()
    answer = scenario.applied()
    image = image_of(answer)
    assert image["image_id"] == record["Id"]
    if "Descriptor" in record:  # the containerd image store calls it by its manifest, and makes a digest up
        assert image["config_digest"] == "unknown"
        assert record["Descriptor"]["digest"] in (image["manifest_digest"], image["index_digest"])
    else:
        assert record["RepoDigests"] == []
        assert (image["config_digest"], image["repo_digests"]) == (record["Id"], [])
        assert (image["manifest_digest"], image["index_digest"]) == ("unknown", "unknown")
    case.trap(answer, "image id told; what the engine does not tell is unknown, and no digest is made up")
    target = manifest_of(scenario)["target"]
    assert {name: target[name] for name in image if name != "name"} == {
        name: value for name, value in image.items() if name != "name"
    }
    with registry_of(record) as registry:
        stage.images.engine.run("pull", "--quiet", registry.name)
        pulled = stage.start(scenario.project, registry.name)
        answer = case.control(
            pulled.ask("status"), "pulled from a registry, its digest is told with the registry"
        )
        assert f"{registry.name}@{registry.index_digest}" in image_of(answer)["repo_digests"]
        assert image_of(answer)["image_id"] == image["image_id"]
        stage.images.engine.run("rmi", "--no-prune", registry.name)


@pytest.mark.case("C10")
def test_a_pull_that_recorded_the_index(stage: Stage, case: Case, tmp_path: Path) -> None:
    project = stage.project()
    engine = stage.images.engine
    record = inspected(stage, stage.image(project))
    file = tmp_path / "index.json"
    with registry_of(record) as registry:
        engine.run("pull", "--quiet", registry.name)
        assert f"{registry.name}@{registry.index_digest}" in inspected(stage, registry.name)["RepoDigests"]
        by_tag = stage.start(project, registry.name)
        engine.run("pull", "--quiet", f"{registry.name}@{registry.manifest_digest}")
        by_digest = stage.start(project, f"{registry.name}@{registry.manifest_digest}")
    by_tag.edit_generation()

    file.write_bytes(registry.index.replace(b"s390x", b"ppc64"))
    answer = by_tag.refused("--image-index", str(file))
    assert (answer["exit_code"], codes(answer)) == (2, ["usage"])
    assert registry.index_digest in answer["problems"][0]["message"]

    file.write_bytes(registry.index)
    answer = case.trap(
        by_tag.applied("--image-index", str(file)),
        "index and platform's manifest are told apart, and both kept",
    )
    image = image_of(answer)
    assert (image["index_digest"], image["manifest_digest"]) == (
        registry.index_digest,
        registry.manifest_digest,
    )
    assert manifest_of(by_tag)["target"]["manifest_digest"] == registry.manifest_digest

    case.control(by_digest.applied(), "pulled by the manifest's digest: the same image")
    line = ("-C", project.path, "manifest", "diff", "--json")
    first, second = (item["id"] for item in reversed(listed(by_tag)))
    facts = {
        fact["name"] for fact in by_tag.cli(*line, first, second).json()["details"]["difference"]["facts"]
    }
    assert "container" in facts
    assert facts.isdisjoint({"image", "config digest", "repo digests", "index digest", "manifest digest"})
    engine.run("rmi", "--no-prune", registry.name)


def listed(scenario: Scenario) -> list[Any]:
    shown = scenario.cli("-C", scenario.project.path, "manifest", "list", "--json").json()
    manifests: list[Any] = shown["details"]["manifests"]
    return manifests


@pytest.mark.case("C12")
def test_after_export_and_import(scenario: Scenario, case: Case, stage: Stage) -> None:
    engine = stage.images.engine
    archive = engine.run("export", scenario.container.name).stdout
    path = scenario.container.inspect()["Config"]["Env"][0]  # type: ignore[index]
    changes = ["--change", f"ENV {path}", "--change", 'CMD ["/usr/bin/sleep", "infinity"]']
    changes += ["--change", f"LABEL {session_label(stage)}"]
    flat = engine.run("import", *changes, "-", input=archive).stdout.decode().strip()
    assert set(inspected(stage, flat)["Config"]["Labels"]) == {session_label(stage).partition("=")[0]}
    imported = stage.start(scenario.project, flat)
    imported.edit_generation()
    answer = case.trap(imported.refused())
    assert (answer["exit_code"], codes(answer)) == (4, ["no-image-commit"])
    assert "12 of 12 installed files equal" in answer["problems"][0]["message"]
    assert image_of(answer)["image_id"] != image_of(scenario.ask("status"))["image_id"]
    case.control(
        imported.applied("--image-commit", scenario.project.head), "a given commit, confirmed by content"
    )
    assert imported.answer() == "generation 2: 1.0"

    other = stage.start(scenario.project, flat)
    other.container.write(f"{other.site}/sample_pkg/layers/norm.py", "def normalise(value):\n    return 0\n")
    other_answer = case.trap(
        other.refused("--image-commit", scenario.project.head), "a given commit, denied by content"
    )
    assert codes(other_answer) == ["drift"]


def session_label(stage: Stage) -> str:
    return f"overlaysync.test.session={stage.images.session}"


@pytest.mark.case("C14")
def test_what_docker_diff_does_not_show(stage: Stage, case: Case) -> None:
    """A file in a volume: changed, it does not show."""
    project = stage.project()
    tag = stage.image(project)
    plain = stage.start(project, tag)
    scenario = stage.start(project, tag, arguments=[f"--volume={plain.site}/sample_pkg/layers"])
    norm = f"{scenario.site}/sample_pkg/layers/norm.py"
    original = scenario.container.exec("cat", norm).stdout
    before = diff_of(scenario)
    scenario.container.write(norm, "def normalise(value):\n    return 0\n")
    assert diff_of(scenario) == before
    scenario.edit_generation()
    answer = case.trap(scenario.refused(), "a changed file in a volume, which docker diff does not list")
    assert answer["exit_code"] == 5
    assert [item["path"] for item in answer["problems"] if item["code"] == "drift"] == [
        "sample_pkg/layers/norm.py"
    ]
    scenario.container.write(norm, original)
    answer = scenario.refused()
    assert codes(answer) == ["mount"]
    case.trap(answer, "its bytes put back: a volume in the package is refused for itself")
    case.control(plain.applied(), "no volume")


@pytest.mark.case("C14")
def test_what_docker_diff_shows_and_is_no_change(scenario: Scenario, case: Case) -> None:
    """The same bytes, written again in place."""
    norm = f"{scenario.site}/sample_pkg/layers/norm.py"
    original = scenario.container.exec("cat", norm).stdout
    assert f"C {norm}" not in diff_of(scenario)
    scenario.container.write(norm, original)
    assert f"C {norm}" in diff_of(scenario)
    scenario.edit_generation()
    case.control(scenario.applied(), "the same bytes written again, which docker diff lists as a change")
    assert scenario.answer() == "generation 2: 1.0"
    scenario.container.write(norm, original.replace("/ 8", "/ 4"))
    answer = case.trap(scenario.refused(), "other bytes, where docker diff lists the same as before")
    assert codes(answer) == ["drift"]


def diff_of(scenario: Scenario) -> list[str]:
    return scenario.container.engine.lines("diff", scenario.container.name)


@pytest.mark.case("C15")
def test_a_container_made_anew_under_the_name(scenario: Scenario, case: Case, stage: Stage) -> None:
    container = scenario.container
    image = str(container.inspect()["Image"])
    scenario.edit_generation()
    scenario.applied()
    container.stop()
    container.start()
    answer = case.control(scenario.ask("verify"), "a restart: the same container, the overlay is there")
    assert (answer["exit_code"], codes(answer)) == (0, [])
    assert scenario.push()["outcome"] == "unchanged"
    old = answer["target"]["container_id"]

    container.remove()
    stage.containers.run(image, name=container.name)
    assert scenario.answer() == "generation 1: 1.0"
    answer = case.trap(scenario.ask("verify"))
    assert (answer["exit_code"], codes(answer)) == (1, ["other-container"])
    assert old[:12] in answer["problems"][0]["message"]
    scenario.applied()
    assert scenario.answer() == "generation 2: 1.0"
    assert scenario.ask("verify")["exit_code"] == 0
