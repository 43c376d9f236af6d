"""What a request answers when it cannot be done."""


class Failure(Exception):
    """A request failed for a reason that the host knows how to explain.

    ``kind`` is one of: locked, damaged, root, interpreter, stage, apply, unfinished, usage. ``path`` is the
    installed path in trouble, where there is one.
    """

    def __init__(self, kind, message, path=None):
        Exception.__init__(self, message)
        self.kind = kind
        self.message = message
        self.path = path
