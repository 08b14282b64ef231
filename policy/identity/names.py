"""Names of callers that somebody else writes: text of a bounded length, and nothing else becomes a caller."""

from collections.abc import Sequence

from headworks.policy.errors import UnknownCaller

MAX_CHARACTERS = 256
"""Of a tenant, a subject, a role or an attribute."""
MAX_ROLES = 64


def name_from(value: object) -> str:
    """Return a name as it is.

    Raises:
        UnknownCaller: it is no text, is empty or is too long.
    """
    if not isinstance(value, str) or not 0 < len(value) <= MAX_CHARACTERS:
        raise UnknownCaller("the credentials are not valid")
    return value


def roles_from(values: Sequence[object]) -> tuple[str, ...]:
    """Return roles as they are.

    Raises:
        UnknownCaller: there are too many, or one of them is no name.
    """
    if len(values) > MAX_ROLES:
        raise UnknownCaller("the credentials are not valid")
    return tuple(name_from(value) for value in values)
