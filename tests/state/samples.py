"""A manifest with everything in it, and a result."""

from __future__ import annotations

from msgspec import structs

from overlaysync.model.classified import ChangeClass
from overlaysync.model.evidence import Baseline, ContentCount, Difference, Evidence
from overlaysync.model.manifest import (
    Acknowledgement,
    FileRecord,
    InstalledDistribution,
    InterpreterRecord,
    Manifest,
    WorkloadRecord,
)
from overlaysync.model.plan import Action, Operation, Placement
from overlaysync.model.problem import Problem
from overlaysync.model.result import Result, ResultBaseline, ResultContent, ResultOperation, ResultProblem
from overlaysync.model.target import InstalledPath, Resolution, TargetIdentity
from overlaysync.model.worktree import ObjectId, RepoPath, Repository, Sha256

COMMIT = ObjectId("1" * 40)
BLOB = ObjectId("2" * 40)
OLD, NEW = Sha256("a" * 64), Sha256("b" * 64)
SOURCE, DESTINATION = RepoPath("src/sample/caf\udce9.py"), InstalledPath("sample/caf\udce9.py")

PLACEMENT = Placement(SOURCE, DESTINATION, ChangeClass.PYTHON, OLD, NEW, BLOB, 12)

MANIFEST = Manifest(
    id="20261129T161500.250Z-3f9c2a",
    tool="0.1.0",
    time="2026-11-29T16:15:00.250Z",
    command="push",
    repository=Repository("/home/dev/sample", COMMIT, "main", "https://example.org/sample", "sha1", False),
    diff_sha256=NEW,
    baseline=Baseline(
        COMMIT,
        COMMIT,
        (Evidence("label", "org.opencontainers.image.revision", COMMIT, COMMIT), Evidence("env", "COMMIT")),
        ContentCount(2, 1, (Difference(SOURCE, DESTINATION, BLOB, NEW, OLD, "overlay"),)),
    ),
    target=TargetIdentity("docker", "my-dev", container_id="c" * 64, repo_digests=("sample@sha256:1",)),
    interpreter=InterpreterRecord("/opt/venv/bin/python", "3.11.7", "/opt/venv", 0),
    distribution=InstalledDistribution("sample", "1.0", "/opt/venv/lib", "sample-1.0.dist-info", OLD),
    operations=(Operation(Action.REPLACE, SOURCE, DESTINATION, ChangeClass.PYTHON, OLD, NEW, "edited", 12),),
    overlay=(PLACEMENT,),
    files=(FileRecord(DESTINATION, NEW, 12, 0o644, 0, 0, 0o644, ("sample/__pycache__/caf.pyc",)),),
    imports=(Resolution("sample.café", "/opt/venv/lib/sample/café.py", runs_source=True),),
    workload=WorkloadRecord(3, ("jupyter-lab",)),
    acknowledged=(Acknowledgement("binding", ("src/sample/ops.py",)),),
    not_packaged=(RepoPath("docs/conf.py"),),
    left_out=(Problem("unproven-shipping", "not proven", "add it to ships", "src/sample/data.txt"),),
    previous="20261129T161400.000Z-000000",
    previous_sha256=OLD,
    timings_ms={"total": 12.5},
)

RESULT = Result(
    command="push",
    outcome="applied",
    exit_code=0,
    baseline=ResultBaseline(COMMIT, COMMIT, (Evidence("pep610", "direct_url.json"),), ResultContent(2, 2)),
    operations=(ResultOperation("add", "src/a.py", "/opt/venv/lib/a.py", "python", None, NEW, "new"),),
    problems=(ResultProblem("drift", "a.py", "it differs", None),),
    details={"anything": [1, None]},
)


def manifest(name: str, *, root: str = "/home/dev/sample", target: str = "my-dev") -> Manifest:
    """The sample under another id, of another repository or target."""
    return structs.replace(
        MANIFEST,
        id=name,
        repository=structs.replace(MANIFEST.repository, root=root),
        target=structs.replace(MANIFEST.target, name=target),
    )
