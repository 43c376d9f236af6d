"""The script that git runs before a push."""

from __future__ import annotations

MARK = "# overlaysync pre-push hook"
KEPT = ".before-overlaysync"
"""What a foreign hook's name gets at its end; it runs first, with the same arguments and input."""

SCRIPT = f"""\
#!/bin/sh
{MARK}
refs=$(cat)
if [ -x "$0{KEPT}" ]; then
    printf '%s\\n' "$refs" | "$0{KEPT}" "$@" || exit $?
fi
overlaysync=@PROGRAM@
if ! command -v "$overlaysync" >/dev/null; then
    echo "overlaysync is not to be found, so nothing says that what is pushed is what ran" >&2
    echo "  → install it again, or push all the same: git push --no-verify" >&2
    exit 1
fi
printf '%s\\n' "$refs" | "$overlaysync" hook pre-push "$@"
"""


def script(program: str) -> str:
    """The hook; ``program`` is quoted for a shell."""
    quoted = "'" + program.replace("'", "'\\''") + "'"
    return SCRIPT.replace("@PROGRAM@", quoted)
