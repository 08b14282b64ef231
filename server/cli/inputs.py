"""The parts that a command line names. They are checked before anything is sent, then read in pieces."""

import asyncio
import re
import wave
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

from headworks.intake.span import Modality
from headworks.intake.voice.encoding import AudioEncoding, VoiceForm
from headworks.server.cli.mistake import Mistake
from headworks.server.cli.source import Source, check_read_once, look, pieces
from headworks.server.client.contract import MAX_TEXT_BYTES
from headworks.server.turn.steps import Chunk

MIC_CHUNK_SECONDS = 0.1
"""Length of sound that a microphone hands over at a time."""
_MIC_RATES = range(8_000, 192_001)
_OPTIONS = {Modality.VOICE: "--audio", Modality.IMAGE: "--image", Modality.TABLE: "--table"}
_SIGNS = {
    "a FLAC file": (Modality.VOICE, re.compile(rb"fLaC")),
    "an Ogg file": (Modality.VOICE, re.compile(rb"OggS")),
    "a WAV file": (Modality.VOICE, re.compile(rb"RIFF....WAVE", re.DOTALL)),
    "an MP3 file": (Modality.VOICE, re.compile(rb"ID3[\x02-\x04]")),
    "a PNG picture": (Modality.IMAGE, re.compile(rb"\x89PNG\r\n\x1a\n")),
    "a JPEG picture": (Modality.IMAGE, re.compile(rb"\xff\xd8\xff")),
    "a WebP picture": (Modality.IMAGE, re.compile(rb"RIFF....WEBP", re.DOTALL)),
    "a Parquet file": (Modality.TABLE, re.compile(rb"PAR1")),
}
"""First bytes that fit one option only. The server judges all others by their bytes; a file's name decides nothing."""
_CONVERT = "convert it with: ffmpeg -i {} -ac 1 -c:a pcm_s16le mono.wav"

Progress = Callable[[str, int, int | None], None]
"""It takes what is being sent, the bytes sent so far, and the bytes in all (None for a stream)."""


@dataclass(frozen=True, slots=True)
class FilePart:
    """A file or a stream that is sent to its end."""

    modality: Modality
    source: Source


@dataclass(frozen=True, slots=True)
class TextPart:
    """A question that was typed."""

    text: str


@dataclass(frozen=True, slots=True)
class MicPart:
    """A WAV file that is sent at the pace at which it was spoken."""

    path: Path
    sample_rate_hertz: int
    frames: int

    @property
    def seconds(self) -> float:
        """Its length."""
        return self.frames / self.sample_rate_hertz


Part = FilePart | TextPart | MicPart


def gather(
    question: str | None, audio: Sequence[Path], image: Sequence[Path], table: Sequence[Path], mic: Path | None
) -> tuple[Part, ...]:
    """Check all parts and put them in the order of sending: first what the question is about, then the question.

    Raises:
        Mistake: the first thing that is wrong.
    """
    if mic is not None and audio:
        raise Mistake("--mic and --audio cannot go together, because a turn's audio has one form; leave one out.")
    parts: list[Part] = []
    for modality, paths in ((Modality.TABLE, table), (Modality.IMAGE, image), (Modality.VOICE, audio)):
        parts += [_file(modality, path) for path in paths]
    check_read_once([part.source for part in parts if isinstance(part, FilePart)])
    if question is not None:
        parts.append(_text(question))
    if mic is not None:
        parts.append(_mic(mic))
    if not parts:
        raise Mistake("There is nothing to send; give a question, or --audio, --image, --table or --mic.")
    return tuple(parts)


def check_read_again(parts: Sequence[Part]) -> None:
    """Refuse what can be sent only once, where a turn may be tried again.

    Raises:
        Mistake: a part is a stream.
    """
    for part in parts:
        if isinstance(part, FilePart) and part.source.size_bytes is None:
            raise Mistake(f"{part.source.name} can be read only once, so --retries cannot send it again; name a file.")


def voice_setup(parts: Sequence[Part]) -> VoiceForm:
    """Return the form in which the turn's audio is sent; partial transcripts are asked for."""
    for part in parts:
        if isinstance(part, MicPart):
            return VoiceForm(AudioEncoding.LINEAR16, part.sample_rate_hertz, has_partials=True)
    return VoiceForm(has_partials=True)


async def chunks(parts: Sequence[Part], progress: Progress) -> AsyncGenerator[Chunk, None]:
    """Read the parts one after the other.

    Raises:
        Mistake: a file can no longer be read.
    """
    for part in parts:
        match part:
            case TextPart():
                for chunk in _text_chunks(part.text):
                    yield chunk
            case FilePart():
                sent = 0
                async for chunk in _file_chunks(part):
                    yield chunk
                    sent += len(chunk.data)
                    progress(part.source.name, sent, sent if chunk.is_last else part.source.size_bytes)
            case MicPart():
                start = asyncio.get_running_loop().time()
                for chunk, end_seconds in _mic_chunks(part):
                    # A microphone hands over what was spoken, so a piece leaves when its last sample would be spoken.
                    await asyncio.sleep(start + end_seconds - asyncio.get_running_loop().time())
                    yield chunk
                    progress(f"{part.path.name} (spoken)", round(end_seconds * 1000), round(part.seconds * 1000))


def _file(modality: Modality, path: Path) -> FilePart:
    source = look(path)
    _check_kind(modality, source.name, source.head)
    return FilePart(modality, source)


def _check_kind(modality: Modality, name: str, head: bytes) -> None:
    for what, (right, sign) in _SIGNS.items():
        if right is not modality and sign.match(head):
            raise Mistake(f"{name} is {what}; give it with {_OPTIONS[right]}, not {_OPTIONS[modality]}.")


def _text(question: str) -> TextPart:
    if not question.strip():
        raise Mistake("The question is empty; type one, or leave it out.")
    try:
        question.encode()
    except UnicodeEncodeError as error:
        raise Mistake("The question is not valid UTF-8; type it again.") from error
    return TextPart(question)


def _mic(path: Path) -> MicPart:
    if look(path).size_bytes is None:
        raise Mistake("--mic takes a file, whose length is known; give a pipe with --audio.")
    try:
        with path.open("rb") as file, wave.open(file) as reader:
            width, channels = reader.getsampwidth(), reader.getnchannels()
            rate, frames = reader.getframerate(), reader.getnframes()
    except (wave.Error, EOFError) as error:
        raise Mistake(f"--mic takes 16-bit PCM WAV, which {path.name} is not; {_CONVERT.format(path)}") from error
    if width != 2 or channels != 1:
        raise Mistake(
            f"--mic takes one channel of 16 bits, {path.name} has {channels} of {8 * width}; {_CONVERT.format(path)}"
        )
    if rate not in _MIC_RATES:
        raise Mistake(f"--mic takes 8,000 to 192,000 samples a second, {path.name} has {rate}; resample it.")
    if frames == 0:
        raise Mistake(f"{path.name} holds no sound; name a recording with something in it.")
    return MicPart(path, rate, frames)


def _text_chunks(text: str) -> Iterator[Chunk]:
    data = text.encode()
    start = 0
    while len(data) - start > MAX_TEXT_BYTES:
        end = start + MAX_TEXT_BYTES
        while data[end] & 0xC0 == 0x80:  # never half a character
            end -= 1
        yield Chunk(Modality.TEXT, data[start:end], is_last=False)
        start = end
    yield Chunk(Modality.TEXT, data[start:], is_last=True)


async def _file_chunks(part: FilePart) -> AsyncGenerator[Chunk, None]:
    """Cut a file into messages. One piece is held back, because the last message must be marked as the last."""
    held = b""
    async with aclosing(pieces(part.source)) as reading:
        async for data in reading:
            if held:
                yield Chunk(part.modality, held, is_last=False)
            else:
                _check_kind(part.modality, part.source.name, data)
            held = data
    yield Chunk(part.modality, held, is_last=True)


def _mic_chunks(part: MicPart) -> Iterator[tuple[Chunk, float]]:
    frames_each = max(1, round(part.sample_rate_hertz * MIC_CHUNK_SECONDS))
    done = 0
    try:
        with part.path.open("rb") as file, wave.open(file) as reader:
            while data := reader.readframes(frames_each):
                done += len(data) // 2
                is_last = len(data) < 2 * frames_each or done >= part.frames
                yield Chunk(Modality.VOICE, data, is_last), done / part.sample_rate_hertz
                if is_last:
                    return
    except (OSError, wave.Error, EOFError) as error:
        raise Mistake(f"{part.path} cannot be read any more ({error}); try again.") from error
