"""What is noted of one turn while it runs, in the two places where it counts: its step, and the current second."""

from headworks.server.load.tally import Ending, State, Tally


class Second:
    """The tally of the second that runs."""

    def __init__(self) -> None:
        self.tally = Tally()

    def take(self) -> Tally:
        """Return what the second came to, and begin the next one."""
        tally, self.tally = self.tally, Tally()
        return tally


class Notes:
    """Told of one turn's events, times in seconds. The end is noted once; what comes after it is not."""

    __slots__ = ("_second", "_tally", "has_ended")

    def __init__(self, tally: Tally, second: Second) -> None:
        self._tally = tally
        self._second = second
        self.has_ended = False
        for one in (tally, second.tally):
            one.offered += 1

    def sent(self, delay: float) -> None:
        """The turn left this client for the first time, so long after it was due."""
        self._tally.send_delay.add(delay)

    def tried(self) -> None:
        """A call begins."""
        self._tally.tries += 1
        self._second.tally.tries += 1

    def refused(self, limit: str, seconds: float) -> None:
        """A call was refused so long after it began."""
        self._tally.note_refusal(limit, seconds)
        self._second.tally.note_refusal(limit, seconds)

    def first_token(self, seconds: float) -> None:
        """The first token came so long after the turn was due."""
        self._tally.first_token.add(seconds)
        self._second.tally.first_token.add(seconds)

    def gap(self, seconds: float) -> None:
        """A message with tokens came so long after the one before."""
        self._tally.gap.add(seconds)
        self._second.tally.gap.add(seconds)

    def ended(self, ending: Ending) -> None:
        """The turn is over."""
        if self.has_ended:
            return
        self.has_ended = True
        self._tally.note_end(ending)
        self._second.tally.note_end(ending)

    def cut(self) -> None:
        """This client ended the turn."""
        self.ended(Ending(State.CUT))
