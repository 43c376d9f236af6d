"""Risks are accepted by name, and for as long as the content is the same."""

from __future__ import annotations

from msgspec import structs

from overlaysync.core.acknowledging import acknowledge, remembered, unique, unneeded
from overlaysync.core.planning import Desired
from overlaysync.model.classified import ChangeClass
from overlaysync.model.manifest import Acknowledgement
from overlaysync.model.problem import Problem
from overlaysync.model.worktree import RepoPath, Sha256
from tests.state.samples import MANIFEST, PLACEMENT

BINDING = Problem("binding-change", "calls _C.op", "--acknowledge binding", "pkg/ops.py")
JIT = Problem("jit-change", "a kernel", "--acknowledge jit", "pkg/kernel.py")
NATIVE = Problem("native-change", "C", "rebuild", "csrc/x.c")


def test_a_risk_that_is_named_is_lifted_and_no_other() -> None:
    standing, accepted = acknowledge([BINDING, JIT, NATIVE], frozenset({"binding"}), set())
    assert standing == (JIT, NATIVE)
    assert accepted == (Acknowledgement("binding", ("pkg/ops.py",)),)


def test_what_has_no_risk_to_accept_always_stands() -> None:
    standing, accepted = acknowledge([NATIVE], frozenset({"native-change", "native"}), set())
    assert (standing, accepted) == ((NATIVE,), ())


def test_an_accepted_risk_is_remembered_while_the_content_is_the_same() -> None:
    manifest = structs.replace(
        MANIFEST,
        overlay=(PLACEMENT,),
        acknowledged=(Acknowledgement("binding", (PLACEMENT.source,)),),
    )
    wanted = Desired(
        source=PLACEMENT.source,
        destination=PLACEMENT.destination,
        change_class=ChangeClass.BINDING,
        cause="modified",
        head=None,
        sha256=PLACEMENT.installed_sha256,
    )
    assert remembered(manifest, [wanted]) == {("binding", PLACEMENT.source)}
    assert remembered(manifest, [structs.replace(wanted, sha256=Sha256("0" * 64))]) == set()
    assert remembered(manifest, [structs.replace(wanted, source=RepoPath("other.py"))]) == set()
    assert remembered(None, [wanted]) == set()
    again = structs.replace(BINDING, path=PLACEMENT.source)
    assert acknowledge([again], frozenset(), {("binding", PLACEMENT.source)})[0] == ()


def test_two_looks_at_one_trouble_make_one_problem() -> None:
    other = structs.replace(BINDING, message="seen again")
    whole = Problem("workload", "process 1", "end it")
    assert unique([BINDING, other, whole, Problem("workload", "process 2", "end it")]) == [
        BINDING,
        whole,
        Problem("workload", "process 2", "end it"),
    ]


def test_what_was_accepted_and_not_met_is_known() -> None:
    met = (Acknowledgement("drift", ("a.py",)),)
    assert unneeded(frozenset({"jit", "drift", "binding"}), met, ()) == ("binding", "jit")
    assert unneeded(frozenset({"jit", "drift", "binding"}), met, [BINDING]) == ("jit",)
    assert unneeded(frozenset(), met, ()) == ()


def test_what_is_certain_nobody_can_accept() -> None:
    """Its control is the same problem where it is none."""
    error = Problem("syntax-error", "line 1: invalid syntax", "correct it", "a.py")
    accepted, before = frozenset({"syntax"}), {("syntax", "a.py")}
    assert acknowledge([error], accepted, set())[0] == ()
    certain = structs.replace(error, certain=True)
    [standing], lifted = acknowledge([certain], accepted, before)
    assert lifted == ()
    assert "cannot be acknowledged" in standing.message
    assert acknowledge([certain], frozenset(), set())[0] == (certain,)
