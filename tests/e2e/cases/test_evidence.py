"""What an image says of its commit, and what of that is believed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.cases.seen import Case
from tests.e2e.scenario import REVISION, Scenario, Stage, codes, second_commit

pytestmark = pytest.mark.container

ABSENT = "0123456789abcdef0123456789abcdef01234567"
VERSION = "org.opencontainers.image.version"


def labelled(stage: Stage, labels: dict[str, str], **run: Any) -> Scenario:
    """A container of an image with these labels, and a change to push."""
    project = stage.project()
    scenario = stage.start(project, stage.image(project, labels=labels), **run)
    scenario.edit_generation()
    return scenario


def refused_for(scenario: Scenario, code: str, *arguments: str) -> Any:
    answer = scenario.refused(*arguments)
    assert (answer["exit_code"], codes(answer)) == (4, [code])
    return answer


@pytest.mark.case("C02")
@pytest.mark.parametrize(
    ("revision", "evidence"),
    [
        (None, "a version label"),
        ("v1.0", "a tag as the revision"),
        ("v1.0-0-gCOMMIT", "what git describe says"),
        ("COMMIT-dirty", "a commit with a word behind it"),
        ("COMMIT COMMIT", "two words"),
    ],
)
def test_versions_and_tags_are_no_commit(
    stage: Stage, case: Case, revision: str | None, evidence: str
) -> None:
    """The tag is there in git, and names HEAD: even so it proves nothing of the image."""
    project = stage.project()
    labels = {VERSION: "1.0"}
    if revision is not None:
        labels[REVISION] = revision.replace("COMMIT", project.head)
    scenario = stage.start(project, stage.image(project, labels=labels))
    project.git("tag", "v1.0")
    assert project.git("rev-parse", "v1.0") == project.head
    scenario.edit_generation()
    answer = case.trap(
        refused_for(scenario, "no-image-commit"), f"{evidence}, and content that equals HEAD's"
    )
    assert answer["baseline"]["image_commit"] is None
    assert "no full commit" in answer["problems"][0]["message"]
    case.control(scenario.applied("--image-commit", project.head), "the full commit, given")


@pytest.mark.case("C02")
def test_a_version_beside_a_revision_of_another_commit(stage: Stage, case: Case) -> None:
    """The version agrees with the git tag, the revision is another commit's: the revision counts."""
    project = stage.project()
    tag = stage.image(project, labels={VERSION: "1.0", REVISION: project.head})
    image_commit = second_commit(project)
    project.git("tag", "v1.0")
    scenario = stage.start(project, tag)
    scenario.edit_generation()
    answer = case.trap(refused_for(scenario, "head-differs"), "the git tag of the image's version is HEAD")
    assert image_commit in answer["problems"][0]["message"]
    project.git("reset", "--quiet", "--mixed", image_commit)
    case.control(scenario.applied(), "HEAD at the revision")


@pytest.mark.case("C04")
def test_an_image_that_names_no_commit(stage: Stage, case: Case) -> None:
    scenario = labelled(stage, {})
    answer = case.trap(
        refused_for(scenario, "no-image-commit"), "told: all installed files equal those of HEAD"
    )
    [problem] = answer["problems"]
    assert "12 of 12 installed files equal those of HEAD" in problem["message"]
    assert "--image-commit" in problem["next_step"]
    status = scenario.ask("status")
    assert (status["exit_code"], codes(status)) == (1, ["no-image-commit"])
    refused_for(scenario, "unknown-commit", "--image-commit", ABSENT)
    answer = scenario.applied("--image-commit", scenario.project.head)
    case.control(answer, "the commit given, and confirmed by content")
    assert answer["baseline"]["content"]["equal"] == answer["baseline"]["content"]["compared"] == 12


@pytest.mark.case("C04")
@pytest.mark.parametrize("difference", ["one file", "every file"])
def test_a_given_commit_that_content_denies(stage: Stage, case: Case, difference: str) -> None:
    """The image was built before HEAD's last commit, and says nothing."""
    project = stage.project()
    tag = stage.image(project, labels={})
    paths = sorted((project.path / "sample_pkg").rglob("*.py"))
    for path in paths if difference == "every file" else paths[-1:]:
        path.write_text(f"# another time\n{path.read_text()}")
    project.commit("Later")
    scenario = stage.start(project, tag)
    scenario.edit_generation()
    answer = scenario.refused("--image-commit", project.head)
    assert answer["exit_code"] == 4
    assert set(codes(answer)) <= {"content-differs", "content-unproven", "original-differs"}
    case.trap(answer, f"a given commit, of which {difference} differs from the image")
    image_commit = project.git("rev-parse", "HEAD~1")
    project.git("switch", "--quiet", "--discard-changes", "--detach", image_commit)
    scenario.edit_generation()
    case.control(scenario.applied("--image-commit", image_commit), "the commit before it")


@pytest.mark.case("C05")
def test_a_labelled_commit_that_the_clone_lacks(stage: Stage, case: Case) -> None:
    """A merge commit that CI made for a pull request: same tree, subject and parent, and not HEAD."""
    project = stage.project()
    tree, head = project.git("rev-parse", "HEAD^{tree}"), project.head
    scenario = stage.start(project, stage.image(project, labels={REVISION: ABSENT}))
    scenario.edit_generation()
    with pytest.raises(RuntimeError):
        project.git("cat-file", "-e", ABSENT)
    answer = case.trap(refused_for(scenario, "unknown-commit"), "no nearby commit is taken")
    assert ABSENT in answer["problems"][0]["message"]
    assert answer["problems"][0]["next_step"] == f"git -C {project.path} fetch origin {ABSENT}"
    status = scenario.ask("status")
    assert (status["exit_code"], codes(status)) == (1, ["unknown-commit"])
    refused_for(scenario, "evidence-conflict", "--image-commit", head)

    merge = project.git("commit-tree", tree, "-p", head, "-m", "Sample project")
    merged = stage.start(project, stage.image(project, labels={REVISION: merge}))
    answer = case.trap(
        refused_for(merged, "head-differs"), "fetched, it is not HEAD, though its tree is the same"
    )
    project.git("switch", "--quiet", "--detach", merge)
    case.control(merged.applied(), "HEAD at the merge commit")


@pytest.mark.case("C05")
def test_a_labelled_object_that_is_no_commit(stage: Stage, case: Case) -> None:
    """An annotated tag of HEAD has an id of its own, which registries' tools take for the revision."""
    project = stage.project()
    project.git("tag", "--annotate", "--message", "One", "v1.0")
    for kind, name in (("blob", "HEAD:README.md"), ("tree", "HEAD^{tree}"), ("tag", "v1.0")):
        oid = project.git("rev-parse", name)
        assert project.git("cat-file", "-t", oid) == kind
        scenario = stage.start(project, stage.image(project, labels={REVISION: oid}))
        scenario.edit_generation()
        case.trap(refused_for(scenario, "unknown-commit"), "the id of a blob, a tree or a tag")
    scenario = stage.start(project, stage.image(project))
    case.control(scenario.applied(), "the id of HEAD")


@pytest.mark.case("C07")
@pytest.mark.parametrize("length", [7, 39, 41])
def test_a_short_id(stage: Stage, case: Case, length: int) -> None:
    """Upper case and a line feed at the end, in the control, make no other id of it."""
    project = stage.project()
    short = (project.head + project.head)[:length]
    if length < 40:
        assert project.git("rev-parse", short) == project.head  # it does name HEAD, in this clone
    scenario = stage.start(project, stage.image(project, labels={REVISION: short}))
    scenario.edit_generation()
    answer = refused_for(scenario, "no-image-commit")
    case.trap(answer, "shown as a hint; it is compared with nothing")
    assert short in answer["problems"][0]["message"]
    assert "--image-commit" in answer["problems"][0]["next_step"]
    assert scenario.refused("--image-commit", short)["exit_code"] == 4
    case.control(scenario.applied("--image-commit", f"{project.head.upper()}\n"), "the full id, given")
