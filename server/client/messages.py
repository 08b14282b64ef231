"""The messages as a client sees them: steps to requests, replies to events. The inverse of requests and responses."""

from collections.abc import Iterable
from typing import Any

from google.protobuf.duration_pb2 import Duration

from headworks.intake.finding import Column, Heard, Label, Read, Seen, TableProfile, TextLine
from headworks.intake.span import AudioOrigin, ImageOrigin, Modality, Origin, Span, TableOrigin, TextOrigin
from headworks.intake.voice.encoding import AudioEncoding
from headworks.policy.trust.assess import Trust
from headworks.policy.verdict import CEILINGS, Obligations, Verdict
from headworks.server.engine.engine import FinishReason
from headworks.server.flow.allowance import Allowance
from headworks.server.flow.service_class import ServiceClass
from headworks.server.turn.steps import (
    Accepted,
    Chunk,
    Delta,
    Event,
    Finished,
    Found,
    Judgement,
    Normalized,
    Setup,
    Timings,
    Usage,
)
from headworks.v1 import turn_pb2 as pb

_MODALITIES: dict[int, Modality] = {
    pb.MODALITY_TEXT: Modality.TEXT,
    pb.MODALITY_VOICE: Modality.VOICE,
    pb.MODALITY_IMAGE: Modality.IMAGE,
    pb.MODALITY_TABLE: Modality.TABLE,
}
_FINISH = {pb.FINISH_REASON_STOP: FinishReason.STOP, pb.FINISH_REASON_LENGTH: FinishReason.LENGTH}
_ENCODINGS = {
    AudioEncoding.CONTAINER: pb.AUDIO_ENCODING_CONTAINER,
    AudioEncoding.LINEAR16: pb.AUDIO_ENCODING_LINEAR16,
}
_CLASSES = {
    ServiceClass.INTERACTIVE: pb.SERVICE_CLASS_INTERACTIVE,
    ServiceClass.BATCH: pb.SERVICE_CLASS_BATCH,
}


class UnknownReply(Exception):
    """A reply that this client's contract does not know; the server is newer, or not Headworks."""


def setup_message(setup: Setup) -> pb.TurnSetup:
    """Translate the first step."""
    voice = setup.voice
    return pb.TurnSetup(
        model=setup.model,
        voice=pb.VoiceSetup(
            encoding=_ENCODINGS[voice.encoding],
            sample_rate_hertz=voice.sample_rate_hertz,
            partials=voice.has_partials,
        ),
        generation=pb.Generation(
            max_output_tokens=setup.max_output_tokens,
            temperature=setup.temperature,
            top_p=setup.top_p,
            seed=setup.seed,
        ),
        instructions=setup.instructions,
        purpose=setup.purpose,
        service_class=_CLASSES[setup.service_class],
    )


def converse_chunk(chunk: Chunk) -> pb.ConverseRequest:
    """Translate a piece of a part for Converse."""
    match chunk.modality:
        case Modality.TEXT:
            return pb.ConverseRequest(text=_text(chunk))
        case Modality.VOICE:
            return pb.ConverseRequest(audio=_media(chunk))
        case Modality.IMAGE:
            return pb.ConverseRequest(image=_media(chunk))
        case Modality.TABLE:
            return pb.ConverseRequest(table=_media(chunk))


def normalize_chunk(chunk: Chunk) -> pb.NormalizeRequest:
    """Translate a piece of a part for Normalize."""
    match chunk.modality:
        case Modality.TEXT:
            return pb.NormalizeRequest(text=_text(chunk))
        case Modality.VOICE:
            return pb.NormalizeRequest(audio=_media(chunk))
        case Modality.IMAGE:
            return pb.NormalizeRequest(image=_media(chunk))
        case Modality.TABLE:
            return pb.NormalizeRequest(table=_media(chunk))


def event_from(response: pb.ConverseResponse) -> Event:
    """Translate one reply. What the wire does not carry is empty: a finding's spans, a verdict's judge.

    Raises:
        UnknownReply: no event, or a value outside the contract.
    """
    match response.WhichOneof("event"):
        case "accepted":
            accepted = response.accepted
            left = _allowances(accepted.allowances)
            return Accepted(accepted.turn_id, accepted.model, _judgement(accepted.verdict), left)
        case "heard":
            return Found(_heard(response.heard))
        case "seen":
            return Found(_seen(response.seen))
        case "read":
            return Found(_read(response.read))
        case "delta":
            return Delta(response.delta.text, tuple(response.delta.token_ids))
        case "finished":
            return _finished(response.finished)
        case _:
            raise UnknownReply(f"reply {response.sequence} holds no event of this client's contract")


def normalized_reply(response: pb.NormalizeResponse) -> Normalized:
    """Translate what Normalize returns.

    Raises:
        UnknownReply: a value outside the contract.
    """
    return Normalized(
        response.turn_id,
        tuple(_span(span) for span in response.spans),
        response.prompt_tokens,
        _judgement(response.verdict),
    )


def _text(chunk: Chunk) -> pb.TextChunk:
    return pb.TextChunk(text=chunk.data.decode(), last=chunk.is_last)


def _media(chunk: Chunk) -> pb.MediaChunk:
    return pb.MediaChunk(data=chunk.data, last=chunk.is_last)


def _heard(heard: pb.Heard) -> Heard:
    return Heard(heard.part, heard.transcript, heard.final, heard.confidence, _audio(heard.origin), ())


def _seen(seen: pb.Seen) -> Seen:
    lines = tuple(TextLine(line.text, line.confidence, _box(line.box)) for line in seen.lines)
    labels = tuple(Label(label.set, label.name, label.score) for label in seen.labels)
    return Seen(seen.part, seen.format, seen.width, seen.height, lines, labels, ())


def _read(read: pb.Read) -> Read:
    columns = tuple(
        Column(
            column.name,
            column.type,
            column.nulls,
            column.distinct,
            column.minimum if column.HasField("minimum") else None,
            column.maximum if column.HasField("maximum") else None,
        )
        for column in read.columns
    )
    return Read(read.part, read.table_id, TableProfile(read.format, read.rows, columns), ())


def _finished(finished: pb.Finished) -> Finished:
    usage = finished.usage
    left = usage.remaining_tokens_per_minute if usage.HasField("remaining_tokens_per_minute") else None
    timings = finished.timings
    if finished.reason not in _FINISH:
        raise UnknownReply(f"finish reason {finished.reason} is not one of this client's contract")
    return Finished(
        _FINISH[finished.reason],
        Usage(usage.input_tokens, usage.output_tokens, left, _allowances(usage.allowances)),
        Timings(
            accept=_seconds(timings.accept),
            queue=_seconds(timings.queue),
            policy=_seconds(timings.policy),
            intake=tuple((_modality(one.modality), _seconds(one.after_last_byte)) for one in timings.intake),
            first_token=_seconds(timings.first_token),
            generation=_seconds(timings.generation),
        ),
        _judgement(finished.verdict),
    )


def _judgement(verdict: pb.Verdict) -> Judgement:
    factors = tuple((factor.name, factor.value) for factor in verdict.trust_factors)
    return Judgement(
        Verdict(
            allow=verdict.allow,
            decision_id=verdict.decision_id,
            reasons=tuple(verdict.reasons),
            judge="",
            revision=verdict.revision,
            obligations=_obligations(verdict.obligations),
        ),
        Trust(verdict.trust, factors),
    )


def _obligations(held: pb.Obligations) -> Obligations:
    stated = {field.name: value for field, value in held.ListFields()}
    ceilings: dict[str, Any] = {name: stated.get(name) for name in CEILINGS}
    return Obligations(
        **ceilings,
        weight=stated.get("weight", 1.0),
        per_subject=held.per_subject,
        cut_answers=held.cut_answers,
        modalities=tuple(_modality(modality).value for modality in held.modalities),
        max_bytes=tuple((_modality(ceiling.modality).value, ceiling.bytes) for ceiling in held.max_bytes),
    )


def _allowances(allowances: Iterable[pb.Allowance]) -> tuple[Allowance, ...]:
    return tuple(
        Allowance(allowance.limit, allowance.allowed, allowance.remaining, _seconds(allowance.full_in))
        for allowance in allowances
    )


def _span(span: pb.Span) -> Span:
    return Span(
        _modality(span.modality),
        span.part,
        span.text,
        _origin(span),
        span.confidence if span.HasField("confidence") else None,
        token_ids=tuple(span.token_ids),
    )


def _origin(span: pb.Span) -> Origin:
    match span.WhichOneof("origin"):
        case "text_origin":
            return TextOrigin(span.text_origin.start_character, span.text_origin.end_character)
        case "audio_origin":
            return _audio(span.audio_origin)
        case "image_origin":
            return _box(span.image_origin)
        case "table_origin":
            table = span.table_origin
            return TableOrigin(table.first_row, table.end_row, tuple(table.columns))
        case _:
            raise UnknownReply("a span holds no origin of this client's contract")


def _modality(number: int) -> Modality:
    if number not in _MODALITIES:
        raise UnknownReply(f"modality {number} is not one of this client's contract")
    return _MODALITIES[number]


def _audio(origin: pb.AudioOrigin) -> AudioOrigin:
    return AudioOrigin(round(_seconds(origin.start) * 1000), round(_seconds(origin.end) * 1000))


def _box(box: pb.ImageOrigin) -> ImageOrigin:
    return ImageOrigin(box.left, box.top, box.right, box.bottom)


def _seconds(duration: Duration) -> float:
    return float(duration.seconds + duration.nanos / 1e9)
