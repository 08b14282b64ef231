"""Preprocessors by behaviour."""

from collections.abc import AsyncGenerator, AsyncIterator

from headworks.intake.errors import BadMedia
from headworks.intake.finding import Finding, Heard
from headworks.intake.span import AudioOrigin, Modality, Span


class LetteredVoice:
    """Hears every byte of ASCII as a letter: a partial per chunk, and a final when its chunks end."""

    def __init__(self, part: int) -> None:
        self._part = part

    async def process(self, chunks: AsyncIterator[bytes]) -> AsyncGenerator[Finding, None]:
        heard = ""
        async for chunk in chunks:
            if not chunk.isascii():
                raise BadMedia(f"voice {self._part}: not a letter")
            heard += chunk.decode()
            yield self._heard(heard, is_final=False)
        yield self._heard(heard, is_final=True)

    def _heard(self, heard: str, *, is_final: bool) -> Heard:
        origin = AudioOrigin(0, 1)
        spans = (Span(Modality.VOICE, self._part, heard, origin, 1.0),) if is_final else ()
        return Heard(self._part, heard, is_final, 1.0, origin, spans)
