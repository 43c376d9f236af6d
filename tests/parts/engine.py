"""A container engine that answers."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass


class EngineMissingError(Exception):
    """No container engine answers here; the message says why."""


@dataclass(frozen=True, slots=True)
class Engine:
    """The command line of a working engine."""

    command: str
    version: str

    def run(
        self,
        *arguments: str,
        input: bytes | None = None,
        check: bool = True,
        timeout: float = 120,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run one engine command to its end.

        Raises:
            RuntimeError: ``check`` is set and it did not exit with 0; the message holds its stderr.
        """
        done = subprocess.run(
            [self.command, *arguments],
            input=input,
            stdin=subprocess.DEVNULL if input is None else None,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
        if check and done.returncode != 0:
            problem = done.stderr.decode(errors="replace").strip()
            raise RuntimeError(f"{self.command} {' '.join(arguments)} exited {done.returncode}: {problem}")
        return done

    def lines(self, *arguments: str) -> list[str]:
        """What a command printed, line by line."""
        return self.run(*arguments).stdout.decode().split("\n")[:-1]


def find_engine(command: str = "docker") -> Engine:
    """The engine behind ``command``, once its server has answered.

    Raises:
        EngineMissingError: the client is not installed, or its server does not answer within five seconds.
    """
    question = [command, "version", "--format", "{{.Server.Version}}"]
    try:
        answer = subprocess.run(question, capture_output=True, text=True, timeout=5, check=False)
    except FileNotFoundError:
        raise EngineMissingError(f"{command} is not installed") from None
    except subprocess.TimeoutExpired:
        raise EngineMissingError(f"no container engine answered {command} within 5 seconds") from None
    if answer.returncode != 0:
        last_line = (answer.stderr.strip() or f"exit code {answer.returncode}").splitlines()[-1]
        raise EngineMissingError(f"no container engine answers {command}: {last_line}")
    return Engine(command, answer.stdout.strip())
