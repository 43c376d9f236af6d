"""Gathers the evidence for the image commit from where the configuration says it stands."""

from __future__ import annotations

from overlaysync.app.contact import Contact
from overlaysync.core.evidence import commit_of_direct_url, weigh
from overlaysync.model.evidence import Evidence


def gather(contact: Contact, given: str | None) -> tuple[Evidence, ...]:
    """One piece of evidence for each configured place, and for the commit that the user gave."""
    found = [_read(contact, specification) for specification in contact.package.image_commit]
    if given is not None:
        found.append(weigh("given", "--image-commit", given))
    return tuple(found)


def _read(contact: Contact, specification: str) -> Evidence:
    kind, _, name = specification.partition(":")
    if kind == "label":
        return weigh(kind, name, contact.transport.labels().get(name))
    if kind == "file":
        return weigh(kind, name, contact.session.read(name))
    if kind == "env":
        return weigh(kind, name, contact.setting.environment.get(name))
    return weigh(kind, "direct_url.json", commit_of_direct_url(contact.distribution.direct_url))
