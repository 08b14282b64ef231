"""From messages to steps. What a message may not hold is refused here."""

from headworks.intake.errors import TooLarge
from headworks.intake.span import Modality
from headworks.intake.voice.encoding import AudioEncoding, VoiceForm
from headworks.server.client.contract import MAX_CHUNK_BYTES, MAX_TEXT_BYTES
from headworks.server.flow.service_class import ServiceClass
from headworks.server.turn.errors import BadRequest
from headworks.server.turn.steps import Chunk, EndOfInput, Setup, Step
from headworks.v1 import turn_pb2 as pb

_ENCODINGS = {
    pb.AUDIO_ENCODING_UNSPECIFIED: AudioEncoding.CONTAINER,
    pb.AUDIO_ENCODING_CONTAINER: AudioEncoding.CONTAINER,
    pb.AUDIO_ENCODING_LINEAR16: AudioEncoding.LINEAR16,
}
_CLASSES: dict[int, ServiceClass] = {
    pb.SERVICE_CLASS_UNSPECIFIED: ServiceClass.INTERACTIVE,
    pb.SERVICE_CLASS_INTERACTIVE: ServiceClass.INTERACTIVE,
    pb.SERVICE_CLASS_BATCH: ServiceClass.BATCH,
}


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
    """Translate a setup, which checks its own ranges."""
    generation = setup.generation
    return Setup(
        model=setup.model,
        instructions=setup.instructions,
        purpose=setup.purpose,
        voice=_voice(setup.voice),
        max_output_tokens=generation.max_output_tokens,
        temperature=generation.temperature,
        top_p=generation.top_p if generation.HasField("top_p") else 1.0,
        seed=generation.seed if generation.HasField("seed") else None,
        service_class=_service_class(setup.service_class),
    )


def _service_class(number: int) -> ServiceClass:
    if number not in _CLASSES:
        raise BadRequest(f"setup.service_class {number} is not one of the contract's")
    return _CLASSES[number]


def _voice(voice: pb.VoiceSetup) -> VoiceForm:
    encoding = _ENCODINGS.get(voice.encoding)
    if encoding is None:
        raise BadRequest(f"setup.voice.encoding {voice.encoding} is not one of the contract's")
    return VoiceForm(encoding, voice.sample_rate_hertz, voice.partials)
