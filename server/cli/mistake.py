"""The one sentence that people are told when something is wrong; it says what to do."""

from collections.abc import Iterator
from contextlib import contextmanager

from headworks.server.client.client import CallFailed

USAGE = 2
"""Exit code: the command, or a file that it names, is wrong."""
FAILED = 1
"""Exit code: the command was right, and what it asked for did not work."""
_NOT_REACHED = ("failed to connect", "errors resolving", "DNS resolution failed")
"""How gRPC's messages begin when there never was a connection."""
INTERRUPTED = 130
"""Exit code: Ctrl-C (128 and SIGINT's number, as shells count)."""


class Mistake(Exception):
    """It carries one sentence for standard error, and the exit code."""

    def __init__(self, sentence: str, exit_code: int = USAGE) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code


def mistake_of(error: CallFailed, target: str) -> Mistake:
    """Say what to do about a failed call."""
    turn = f" (turn {error.turn_id})" if error.turn_id else ""
    match error.code, error.reason:
        case "PERMISSION_DENIED", "TURN_REFUSED":
            reasons = error.metadata.get("reasons", "") or "no reason given"
            decision = error.metadata.get("decision_id", "")
            return Mistake(f"Policy refused this turn ({reasons}); quote decision {decision} to ask why.", FAILED)
        case "UNAUTHENTICATED", _:
            return Mistake(
                f"{target} does not know you: {error.message}; give --api-key or set HEADWORKS_API_KEY.", FAILED
            )
        case "UNAVAILABLE", "" if not error.message.startswith(_NOT_REACHED):
            return Mistake(f"The connection to {target} broke off{turn}; try again.", FAILED)
        case "UNAVAILABLE", "":
            return Mistake(
                f"No Headworks server answers at {target}; start one with 'headworks serve', or name another with "
                "--target (and --tls or --ca-file if it speaks TLS).",
                FAILED,
            )
        case "UNIMPLEMENTED", _:
            return Mistake(f"{target} is not a Headworks server that this client knows: {error.message}.", FAILED)
        case "DEADLINE_EXCEEDED", "":
            return Mistake("No answer within --timeout; ask for less, or allow longer.", FAILED)
        case "INTERNAL", _:
            return Mistake(f"The server failed{turn}; report that to whoever runs {target}.", FAILED)
        case "CANCELLED", _:
            return Mistake(f"The server ended the call{turn}; try again.", FAILED)
    what = error.reason or error.code
    return Mistake(f"{_sentence(error.message)}{turn} [{what}]{_advice(error)}.", FAILED)


def _advice(error: CallFailed) -> str:
    if "try again" in error.message:
        return ""
    if error.retry_after_seconds is not None:
        return f"; try again in {error.retry_after_seconds:.3g} s"
    match error.reason:
        case "UNKNOWN_MODEL":
            return "; leave --model out for the served one"
        case "TOO_LARGE":
            return "; send less"
        case "BAD_MEDIA":
            return "; mend or replace that input"
    return ""


def _sentence(message: str) -> str:
    text = " ".join(message.split()).rstrip(".") or "The call failed"
    return text if "." in text.split()[0] else text[0].upper() + text[1:]  # a setting's name keeps its case


@contextmanager
def needs_extra(extra: str) -> Iterator[None]:
    """Turn a missing package into a sentence.

    Args:
        extra: What to install, as in "headworks[server,cpu]".
    Raises:
        Mistake: the body imported something that is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise Mistake(
            f"This needs the package {error.name}, which is not installed; run: pip install 'headworks[{extra}]'",
            FAILED,
        ) from error
