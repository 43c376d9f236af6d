"""A target whose agent lies: a clean error within bounds, nothing raw on the terminal, no false success."""

from __future__ import annotations

import resource
import subprocess
import sys
import time

import pytest

from tests.e2e import relay
from tests.e2e.scenario import LocalScenario, check_answer, set_locally
from tests.e2e.test_sequence import sources
from tests.parts.command_line import CommandLine, Result

EVIL = r"'\x1b[2J\x9b31m\x07\u202e\x7f\r\n\ud800'"
REPLIES = {
    "garbage": r"b'\x1b[2J garbage that is no frame'",
    "half a frame": "frame(reply)[:-1] + bytes(sys.exit(send(1, frame(reply)[:-1])) or 0)",
    "nothing": "sys.exit(0)",
    "a promise of 4 GiB": r"b'OVS1' + b'\xff' * 8",
    "another request's": "frame({**reply, 'id': 99})",
    "twice the same": "frame(reply) * 2",
    "no answer in it": "frame({'id': reply['id']})",
    "a list": "frame({'id': reply['id'], 'ok': []})",
    "deep JSON": "frame(b'{\"id\":' + b'[' * 500_000)",
    "many values": "frame(b'{\"id\":1,\"ok\":[' + b'[],' * 20_000_000 + b'[]]}')",
    "an endless number": "frame(b'{\"id\":' + b'9' * 1_000_000 + b'}')",
    "not a number": "frame(json.dumps(replaced(reply, (int, float), float('nan'))).encode())",
    "numbers beyond measure": "frame(replaced(reply, (int, float), 10**30))",
    "negative numbers": "frame(replaced(reply, (int, float), -1))",
    "no texts": "frame(replaced(reply, str, None))",
    "numbers for texts": "frame(replaced(reply, str, 7))",
    "terminal escapes": f"frame(replaced(reply, str, {EVIL}))",
    "paths above": "frame(replaced(reply, str, '../../../../etc/passwd'))",
    "absolute paths": "frame(replaced(reply, str, '/etc/passwd'))",
    "long texts": "frame(replaced(reply, str, 'x' * 200_000))",
    "empty lists": "frame(lists(reply, 0))",
    "everything twice": "frame(lists(reply, 2))",
    "an error with escapes": f"frame({{'id': reply['id'], 'error': {{'kind': 'apply', 'message': {EVIL}}}}})",
    "a long error": "frame({'id': reply['id'], 'error': {'kind': 'apply', 'message': 'x' * 30_000_000}})",
    "endless complaints": "os.write(2, b'\\x1b[31m' * 9_000_000) and sys.exit(1)",
}
"""What is sent in place of an answer, by what it is."""

REQUESTS = (
    "processes",
    "interpreters",
    "open",
    "look",
    "begin",
    "apply",
    "read_back",
    "write_record",
    "record",
)
SHARE = {"open": tuple(REPLIES)}
FEW = ("garbage", "no texts", "terminal escapes", "empty lists", "everything twice", "numbers beyond measure")
LIES = [(request, name) for request in REQUESTS for name in SHARE.get(request, FEW)]

MEBIBYTE = 1 << 20
ROOM = 1000 * MEBIBYTE
"""Of address space for the whole command."""

LIMITED = (
    "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, ({room}, {room}));"
    "from overlaysync.cli.main import main; sys.exit(main())"
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> LocalScenario:
    directory = tmp_path_factory.mktemp("hostile")
    work = set_locally(CommandLine(directory), directory)
    work.edit_generation()
    return work


def push(work: LocalScenario, room: int = ROOM) -> Result:
    line = ["-C", str(work.project.path), "push", "--json", "--container", work.target, *work.options]
    done = subprocess.run(
        [sys.executable, "-c", LIMITED.format(room=room), *line],
        cwd=work.cli.directory,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Result(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(("request_name", "lie"), LIES, ids=[f"{one}-{other}" for one, other in LIES])
def test_a_lie(shared: LocalScenario, request_name: str, lie: str) -> None:
    before = sources(shared.files())
    relay.install(shared.environment.prefix, request_name, REPLIES[lie])
    started = time.monotonic()
    result = push(shared)
    assert time.monotonic() - started < 30
    answer = check_answer(result)
    assert len(result.stdout + result.stderr) < 100_000
    relay.install(shared.environment.prefix, "", "")
    if answer["exit_code"] == 0:
        assert shared.answer() == "generation 2: 1.0"  # what was changed made no difference
        assert shared.ask("verify")["exit_code"] == 0
    else:
        assert answer["exit_code"] in (1, 4, 5, 6, 7, 8), answer
    if request_name != "record" and answer["exit_code"] != 0:
        assert sources(shared.files()) == before
    shared.ask("revert")
    assert sources(shared.files()) == before


def test_the_relay_alone_changes_nothing(local: LocalScenario) -> None:
    """The control, which also shows that the room is enough."""
    local.edit_generation()
    relay.install(local.environment.prefix, "", "")
    assert check_answer(push(local))["outcome"] == "applied"
    assert resource.getrlimit(resource.RLIMIT_AS)[0] != ROOM
