"""The settings of GraphQL."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GraphqlSettings:
    """Every limit on a document, on the lists that it opens and on the answer."""

    max_tokens: int = 1_000
    """Tokens of the document; the longest query that the types make sense of has about 120, introspection 200."""
    max_nesting: int = 32
    """Brackets open at once in the document; the parser recurses, and introspection needs 14."""
    max_depth: int = 12
    """Selection sets inside each other, fragments opened; the types go 7 deep under `_entities`."""
    max_aliases: int = 15
    """Aliases with fragments opened; each one may run a field again."""
    max_entities: int = 50
    """Representations in one `_entities` call; each one may open a page of rows."""
    max_filters: int = 16
    """Filters on one page of rows."""
    max_first: int = 200
    """Rows in one page."""
    max_answer_bytes: int = 4 * 1024 * 1024
    """Of one answer, in JSON; as much as a gRPC message has. One page of rows is kept small by
    `intake.tables.max_page_characters`."""
    allow_introspection: bool = True
    """Whether the schema may be asked for (`__schema`, `__type`, `_service`). Where HTTP listens on another address
    than loopback, `server/settings.py` turns it off unless it was set."""
