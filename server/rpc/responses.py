"""From events to messages."""

from collections.abc import Iterable

from google.protobuf.duration_pb2 import Duration

from headworks.intake.finding import Finding, Heard, Noted, Read, Seen
from headworks.intake.span import AudioOrigin, ImageOrigin, Modality, Span, TableOrigin, TextOrigin
from headworks.policy.verdict import Obligations
from headworks.server.engine.engine import FinishReason
from headworks.server.flow.allowance import Allowance
from headworks.server.turn.steps import Accepted, Delta, Event, Finished, Found, Judgement, Normalized, Timings, Usage
from headworks.v1 import turn_pb2 as pb

_MODALITIES = {
    Modality.TEXT: pb.MODALITY_TEXT,
    Modality.VOICE: pb.MODALITY_VOICE,
    Modality.IMAGE: pb.MODALITY_IMAGE,
    Modality.TABLE: pb.MODALITY_TABLE,
}
_FINISH = {FinishReason.STOP: pb.FINISH_REASON_STOP, FinishReason.LENGTH: pb.FINISH_REASON_LENGTH}


def response_from(event: Event) -> pb.ConverseResponse | None:
    """Translate one event; None for what the contract has no event for (text noted as it came)."""
    match event:
        case Delta():
            return pb.ConverseResponse(delta=pb.Delta(text=event.text, token_ids=event.token_ids))
        case Found():
            return _found(event.finding)
        case Accepted():
            verdict = _verdict(event.judgement)
            left = _allowances(event.allowances)
            accepted = pb.Accepted(turn_id=event.turn_id, model=event.model, verdict=verdict, allowances=left)
            return pb.ConverseResponse(accepted=accepted)
        case Finished():
            return pb.ConverseResponse(
                finished=pb.Finished(
                    reason=_FINISH[event.reason],
                    usage=_usage(event.usage),
                    timings=_timings(event.timings),
                    verdict=_verdict(event.judgement),
                )
            )


def normalized_from(normalized: Normalized) -> pb.NormalizeResponse:
    """Translate the outcome of a normalisation."""
    return pb.NormalizeResponse(
        turn_id=normalized.turn_id,
        spans=[_span(span) for span in normalized.spans],
        prompt_tokens=normalized.prompt_tokens,
        verdict=_verdict(normalized.judgement),
    )


def _found(finding: Finding) -> pb.ConverseResponse | None:
    match finding:
        case Noted():
            return None
        case Heard():
            heard = pb.Heard(
                part=finding.part,
                transcript=finding.transcript,
                final=finding.is_final,
                confidence=finding.confidence,
                origin=_audio(finding.origin),
            )
            return pb.ConverseResponse(heard=heard)
        case Seen():
            return pb.ConverseResponse(seen=_seen(finding))
        case Read():
            return pb.ConverseResponse(read=_read(finding))


def _seen(finding: Seen) -> pb.Seen:
    return pb.Seen(
        part=finding.part,
        format=finding.format,
        width=finding.width,
        height=finding.height,
        lines=[pb.TextLine(text=line.text, confidence=line.confidence, box=_box(line.box)) for line in finding.lines],
        labels=[pb.Label(set=label.set_name, name=label.name, score=label.score) for label in finding.labels],
    )


def _read(finding: Read) -> pb.Read:
    columns = [
        pb.Column(
            name=column.name,
            type=column.type,
            nulls=column.nulls,
            distinct=column.distinct,
            minimum=column.minimum,
            maximum=column.maximum,
        )
        for column in finding.profile.columns
    ]
    profile = finding.profile
    return pb.Read(
        part=finding.part, table_id=finding.table_id, format=profile.format, rows=profile.rows, columns=columns
    )


def _span(span: Span) -> pb.Span:
    message = pb.Span(
        modality=_MODALITIES[span.modality],
        part=span.part,
        text=span.text,
        token_ids=span.token_ids,
        confidence=span.confidence,
    )
    match span.origin:
        case TextOrigin(start, end):
            message.text_origin.CopyFrom(pb.TextOrigin(start_character=start, end_character=end))
        case AudioOrigin():
            message.audio_origin.CopyFrom(_audio(span.origin))
        case ImageOrigin():
            message.image_origin.CopyFrom(_box(span.origin))
        case TableOrigin(first, end, columns):
            message.table_origin.CopyFrom(pb.TableOrigin(first_row=first, end_row=end, columns=columns))
    return message


def _audio(origin: AudioOrigin) -> pb.AudioOrigin:
    return pb.AudioOrigin(
        start=_duration(origin.start_milliseconds / 1000), end=_duration(origin.end_milliseconds / 1000)
    )


def _box(box: ImageOrigin) -> pb.ImageOrigin:
    return pb.ImageOrigin(left=box.left, top=box.top, right=box.right, bottom=box.bottom)


def _verdict(judgement: Judgement) -> pb.Verdict:
    verdict, trust = judgement.verdict, judgement.trust
    return pb.Verdict(
        allow=verdict.allow,
        decision_id=verdict.decision_id,
        trust=trust.score,
        trust_factors=[pb.TrustFactor(name=name, value=value) for name, value in trust.factors],
        reasons=verdict.reasons,
        obligations=_obligations(verdict.obligations),
        revision=verdict.revision,
    )


def _obligations(obligations: Obligations) -> pb.Obligations:
    return pb.Obligations(
        max_input_tokens=obligations.max_input_tokens,
        max_output_tokens=obligations.max_output_tokens,
        turns_per_minute=obligations.turns_per_minute,
        tokens_per_minute=obligations.tokens_per_minute,
        modalities=[_MODALITIES[Modality(name)] for name in obligations.modalities],
        turns_per_second=obligations.turns_per_second,
        turns_per_day=obligations.turns_per_day,
        tokens_per_second=obligations.tokens_per_second,
        tokens_per_day=obligations.tokens_per_day,
        max_concurrent_turns=obligations.max_concurrent_turns,
        weight=obligations.weight if obligations.weight != 1.0 else None,
        per_subject=obligations.per_subject,
        max_bytes=[
            pb.SizeCeiling(modality=_MODALITIES[Modality(name)], bytes=ceiling)
            for name, ceiling in obligations.max_bytes
        ],
        cut_answers=obligations.cut_answers,
    )


def _allowances(allowances: Iterable[Allowance]) -> list[pb.Allowance]:
    return [
        pb.Allowance(
            limit=allowance.limit,
            allowed=allowance.allowed,
            remaining=allowance.remaining,
            full_in=_duration(allowance.full_in_seconds),
        )
        for allowance in allowances
    ]


def _usage(usage: Usage) -> pb.Usage:
    return pb.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        remaining_tokens_per_minute=usage.remaining_tokens_per_minute,
        allowances=_allowances(usage.allowances),
    )


def _timings(timings: Timings) -> pb.Timings:
    return pb.Timings(
        accept=_duration(timings.accept),
        intake=[
            pb.IntakeTiming(modality=_MODALITIES[modality], after_last_byte=_duration(seconds))
            for modality, seconds in timings.intake
        ],
        policy=_duration(timings.policy),
        queue=_duration(timings.queue),
        first_token=_duration(timings.first_token),
        generation=_duration(timings.generation),
    )


def _duration(seconds: float) -> Duration:
    nanoseconds = round(max(0.0, seconds) * 1e9)
    return Duration(seconds=nanoseconds // 1_000_000_000, nanos=nanoseconds % 1_000_000_000)
