"""What a container was found to hold."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Contents:
    """The sound of a container, without what is no sound."""

    files: tuple[bytes, ...] = ()
    """Files that the decoder reads whole, one after the other. Empty when there is a fault."""
    fault: str = ""
    """What is wrong, for a sentence that begins with "the MP3 file"; "" when all is well."""
