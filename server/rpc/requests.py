"""From messages to steps. What a message may not hold is refused here."""

from headworks.intake.errors import TooLarge
from headworks.intake.span import Modality
from headworks.intake.voice.encoding import AudioEncoding, VoiceForm
from headworks.server.turn.errors import BadRequest
from headworks.server.turn.steps import Chunk, EndOfInput, Setup, Step
from headworks.v1 import turn_pb2 as pb

MAX_TEXT_BYTES = 64 * 1024
MAX_CHUNK_BYTES = 1024 * 1024
MAX_PURPOSE_BYTES = 64
_SAMPLE_RATES = range(8_000, 192_001)


def step_from(request: pb.ConverseRequest | pb.NormalizeRequest) -> Step:
    """Translate one message.

    Raises:
        BadRequest: no step, or a value outside the contract; names the field.
        TooLarge: a chunk over the contract's size.
    """
    match request.WhichOneof("step"):
        case "setup":
            return _setup(request.setup)
        case "text":
            data = request.text.text.encode()
            _check_size("text.text", MAX_TEXT_BYTES, data)
            return Chunk(Modality.TEXT, data, request.text.last)
        case "audio":
            return _chunk(Modality.VOICE, "audio.data", request.audio)
        case "image":
            return _chunk(Modality.IMAGE, "image.data", request.image)
        case "table":
            return _chunk(Modality.TABLE, "table.data", request.table)
        case "end_of_input":
            return EndOfInput()
        case _:
            raise BadRequest("a message without a step")


def _chunk(modality: Modality, field: str, chunk: pb.MediaChunk) -> Chunk:
    _check_size(field, MAX_CHUNK_BYTES, chunk.data)
    return Chunk(modality, chunk.data, chunk.last)


def _check_size(field: str, allowed: int, data: bytes) -> None:
    if len(data) > allowed:
        raise TooLarge(field, allowed, len(data))


def _setup(setup: pb.TurnSetup) -> Setup:
    generation = setup.generation
    _require(generation.max_output_tokens >= 0, "setup.generation.max_output_tokens must not be negative")
    _require(0 <= generation.temperature <= 2, "setup.generation.temperature must lie in [0, 2]")
    top_p = generation.top_p if generation.HasField("top_p") else 1.0
    _require(0 < top_p <= 1, "setup.generation.top_p must lie in (0, 1]")
    _require(len(setup.purpose.encode()) <= MAX_PURPOSE_BYTES, f"setup.purpose is over {MAX_PURPOSE_BYTES} bytes")
    return Setup(
        model=setup.model,
        instructions=setup.instructions,
        purpose=setup.purpose,
        voice=_voice(setup.voice),
        max_output_tokens=generation.max_output_tokens,
        temperature=generation.temperature,
        top_p=top_p,
        seed=generation.seed if generation.HasField("seed") else None,
    )


def _voice(voice: pb.VoiceSetup) -> VoiceForm:
    match voice.encoding:
        case pb.AUDIO_ENCODING_UNSPECIFIED | pb.AUDIO_ENCODING_CONTAINER:
            _require(voice.sample_rate_hertz == 0, "setup.voice.sample_rate_hertz is for LINEAR16 only")
            return VoiceForm(AudioEncoding.CONTAINER, 0, voice.partials)
        case pb.AUDIO_ENCODING_LINEAR16:
            rate = voice.sample_rate_hertz
            _require(rate in _SAMPLE_RATES, "setup.voice.sample_rate_hertz must lie in [8000, 192000] for LINEAR16")
            return VoiceForm(AudioEncoding.LINEAR16, rate, voice.partials)
        case other:
            raise BadRequest(f"setup.voice.encoding {other} is not one of the contract's")


def _require(holds: bool, sentence: str) -> None:
    if not holds:
        raise BadRequest(sentence)
