"""A voice part, from bytes to transcripts, while it is still being spoken."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial

import numpy as np

from headworks.intake.errors import TooLarge
from headworks.intake.finding import Finding, Heard
from headworks.intake.models.store import ModelStore
from headworks.intake.onnx.settings import OnnxSettings
from headworks.intake.span import AudioOrigin, Modality, Span
from headworks.intake.voice.container import ContainerReader
from headworks.intake.voice.encoding import AudioEncoding, VoiceForm
from headworks.intake.voice.endpoint import WINDOW_MILLISECONDS, Endpointer, Utterance
from headworks.intake.voice.linear16 import Linear16Reader
from headworks.intake.voice.pcm import Samples, WindowCutter
from headworks.intake.voice.settings import VoiceSettings
from headworks.intake.voice.vad import WINDOW_SAMPLES, VadModel
from headworks.intake.voice.whisper import Transcript, WhisperModel
from headworks.intake.work import WorkPool

_Piece = Callable[[], tuple[Samples, bool]]
"""A call that makes some samples, and says whether they are the part's last. It blocks, so the pool makes it."""

_MOST_SAID = 4
"""How far over the compression ratio's limit people get: a short sentence, said again and again for 30 s, is just
under four times it."""


@dataclass(frozen=True, slots=True)
class VoiceModels:
    """The models that hear. All turns share them."""

    vad: VadModel
    whisper: WhisperModel

    @classmethod
    def load(cls, store: ModelStore, settings: OnnxSettings) -> "VoiceModels":
        """Open the store's VAD and Whisper models.

        Raises:
            ModelMissing: one is not there, or damaged.
            NoProvider: none of the wanted execution providers is usable.
        """
        return cls(VadModel.load(store, settings), WhisperModel.load(store, settings))


class VoicePreprocessor:
    """Yields a `Heard` for each utterance as soon as its end is certain, and partial ones before it where asked for.

    The end of the chunks ends the utterance that is open, however short the silence after it is.
    """

    def __init__(
        self, part: int, models: VoiceModels, pool: WorkPool, form: VoiceForm, settings: VoiceSettings
    ) -> None:
        self._part = part
        self._models = models
        self._pool = pool
        self._form = form
        self._settings = settings
        self._listener = _Listener(models.vad, settings)

    async def process(self, chunks: AsyncIterator[bytes]) -> AsyncGenerator[Finding, None]:
        """See `Preprocessor`."""
        pieces = self._streamed(chunks) if self._form.encoding is AudioEncoding.LINEAR16 else self._decoded(chunks)
        async with aclosing(pieces):
            async for piece in pieces:
                for spoken in await self._pool.run(self._listen, piece):
                    transcript = await self._pool.run(self._models.whisper.transcribe, spoken.samples)
                    if self._was_said(transcript):
                        yield self._heard(spoken, transcript, is_final=True)
                if (so_far := self._due_partial()) is not None:
                    padding = self._settings.partial_padding_seconds
                    transcript = await self._pool.run(self._models.whisper.transcribe, so_far.samples, padding)
                    if self._was_said(transcript):
                        yield self._heard(so_far, transcript, is_final=False)

    async def _streamed(self, chunks: AsyncIterator[bytes]) -> AsyncGenerator[_Piece, None]:
        reader = Linear16Reader(self._part, self._form.sample_rate_hertz, self._settings)
        async for chunk in chunks:
            yield partial(reader.take, chunk)
        yield reader.finish
        reader.require_whole()  # Last, so that what was heard is told even when a sender was cut off.

    async def _decoded(self, chunks: AsyncIterator[bytes]) -> AsyncGenerator[_Piece, None]:
        data = bytearray()
        async for chunk in chunks:
            data += chunk
            if len(data) > self._settings.max_bytes:
                raise TooLarge("intake.voice.max_bytes", self._settings.max_bytes, len(data))
        reader = await self._pool.run(ContainerReader, data, self._part, self._settings)
        del data  # The reader has its own copy.
        while not reader.is_over:
            yield reader.read

    def _listen(self, piece: _Piece) -> "list[Spoken]":
        """Decode a piece and return the utterances that it ends. Blocking."""
        samples, is_last = piece()
        return self._listener.feed(samples, is_last=is_last)

    def _due_partial(self) -> "Spoken | None":
        """The open utterance, when a partial is asked for and due, and no other work would wait for it."""
        is_wanted = self._form.has_partials and self._form.encoding is AudioEncoding.LINEAR16
        return self._listener.due_partial() if is_wanted and self._pool.waiting == 0 else None

    def _was_said(self, transcript: Transcript) -> bool:
        """Whether there are words that somebody said, by openai-whisper's three guards.

        Where one fails, openai-whisper tries again and draws words at random, ever more freely. What fast speech was
        given in that way were sentences that nobody had said, at confidence 0.5, so the words are dropped instead.
        """
        limits = self._settings
        is_speech = transcript.no_speech_probability <= limits.no_speech_probability
        is_likely = transcript.mean_log_probability > limits.min_mean_log_probability
        allowed = limits.max_compression_ratio * (_MOST_SAID if transcript.is_ended else 1)
        is_loop = transcript.compression_ratio > allowed
        return bool(transcript.text) and (is_speech or is_likely) and not is_loop

    def _heard(self, spoken: "Spoken", transcript: Transcript, *, is_final: bool) -> Heard:
        credit = min(1.0, self._settings.max_compression_ratio / transcript.compression_ratio)
        origin, confidence = spoken.origin, round(transcript.confidence * credit, 4)
        span = Span(Modality.VOICE, self._part, transcript.text, origin, confidence)
        spans = (span,) if is_final else ()
        return Heard(self._part, transcript.text, is_final, confidence, origin, spans)


@dataclass(frozen=True, slots=True)
class Spoken:
    """An utterance's samples, padding included, and where its speech lies in the part."""

    samples: Samples
    origin: AudioOrigin


class _Listener:
    """Cuts utterances out of the samples. It keeps the open utterance, or the padding of the next one, and no more."""

    def __init__(self, vad: VadModel, settings: VoiceSettings) -> None:
        self._vad = vad.stream()
        self._cutter = WindowCutter(WINDOW_SAMPLES)
        self._endpointer = Endpointer(settings.endpoint)
        self._padding = max(1, settings.endpoint.padding_milliseconds // WINDOW_MILLISECONDS)
        self._partial_windows = max(1, settings.partial_interval_milliseconds // WINDOW_MILLISECONDS)
        self._kept: list[Samples] = []
        self._kept_from = 0
        self._taken_to = 0
        self._partial_at = 0

    def feed(self, samples: Samples, *, is_last: bool) -> list[Spoken]:
        """Take samples and return the utterances that ended. Blocking."""
        windows = self._cutter.feed(samples)
        if is_last:
            windows = np.vstack((windows, self._cutter.finish()))
        ended: list[Spoken] = []
        for window, probability in zip(windows, self._vad.feed(windows), strict=True):
            self._kept.append(window)
            if (utterance := self._endpointer.feed(probability)) is not None:
                ended.append(self._take(utterance))
            self._forget()
        if is_last and (utterance := self._endpointer.finish()) is not None:
            ended.append(self._take(utterance))
        return ended

    def due_partial(self) -> Spoken | None:
        """Return the open utterance so far when enough of it is new."""
        start, now = self._endpointer.open_since, self._kept_from + len(self._kept)
        if start is None or now - max(start, self._partial_at) < self._partial_windows:
            return None
        self._partial_at = now
        return self._spoken(Utterance(start, now), 0)

    def _take(self, utterance: Utterance) -> Spoken:
        """Return a finished utterance. Where endless speech was cut it has no padding, which would be heard twice."""
        is_cut = self._endpointer.open_since == utterance.end_window
        spoken = self._spoken(utterance, 0 if is_cut else self._padding)
        self._taken_to = utterance.end_window
        return spoken

    def _spoken(self, utterance: Utterance, padding_after: int) -> Spoken:
        first = max(self._kept_from, self._taken_to, utterance.start_window - self._padding)
        end = min(self._kept_from + len(self._kept), utterance.end_window + padding_after)
        samples = np.concatenate(self._kept[first - self._kept_from : end - self._kept_from])
        origin = AudioOrigin(utterance.start_window * WINDOW_MILLISECONDS, utterance.end_window * WINDOW_MILLISECONDS)
        return Spoken(samples, origin)

    def _forget(self) -> None:
        """Drop what lies before the padding of anything that can still begin."""
        open_since = self._endpointer.open_since
        now = self._kept_from + len(self._kept)
        needed_from = (now if open_since is None else open_since) - self._padding
        if (drop := needed_from - self._kept_from) > 0:
            del self._kept[:drop]
            self._kept_from += drop
