"""What others do in the target of a watch, told by when a transaction last ended there."""

from __future__ import annotations

from overlaysync.app.contact import Contact
from overlaysync.errors import OverlaysyncError


class Others:
    """Whether somebody else changed the target since the last look at it.

    ``noticed``: that somebody did, and that no look has read it since.
    """

    def __init__(self) -> None:
        self.noticed = False
        self._changed_at: float | None = None  # as the last look left it
        self._is_read = False

    def forget(self) -> None:
        """The conversation is over; what comes to pass until the next look is that one's to find."""
        self._changed_at = None

    def look_begins(self) -> None:
        self._is_read = False

    def has_read(self) -> None:
        """The look has read the target."""
        self._is_read = True

    def look_ended(self, changed_at: float | None) -> None:
        """What changed there and was not read, since the look ended before that, is kept in mind.

        ``changed_at``: as letting go of the lock tells it; None where nothing was opened.
        """
        if changed_at is not None:
            self.noticed = self.noticed or self._changed_at not in (None, changed_at)
            self._changed_at = changed_at
        self.noticed = self.noticed and not self._is_read

    def have_changed(self, contact: Contact | None) -> bool:
        """Whether somebody changed the target, or it answers no more.

        One cheap question, and each change is told but once, whatever becomes of the look.
        """
        if contact is None or self._changed_at is None:
            return False
        before = self._changed_at
        try:
            self._changed_at = contact.changed_at()
        except OverlaysyncError:
            self._changed_at = None
        changed = self._changed_at != before
        self.noticed = self.noticed or changed
        return changed
