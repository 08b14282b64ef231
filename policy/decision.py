"""A decision: one answer to one question. Its id is what a refused caller quotes and what a log is searched for."""

import uuid


def new_decision_id() -> str:
    """Return an id that no other decision has. It is always made here, whatever a policy engine calls its answer."""
    return str(uuid.uuid4())
