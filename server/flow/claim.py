"""A claim: one turn that wants to run, and what is known of it."""

import asyncio
import math
from dataclasses import dataclass, field

from headworks.server.flow.fairness.order import Entry
from headworks.server.flow.service_class import ServiceClass


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Claim(Entry):
    """An entry of the line, with what admission itself looks at. Every turn makes one of its own."""

    peer: str = ""
    """The host it comes from; "" counts as no host."""
    service_class: ServiceClass = ServiceClass.INTERACTIVE
    deadline: float = math.inf
    """On the clock: when its caller gives up."""
    given: "asyncio.Future[None]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    """Done when the turn may run."""
