"""Whisper's log-mel spectrogram, in numpy.

Source: whisper/audio.py, log_mel_spectrogram; the figures agree to 1e-4 (tests).
"""

import numpy as np
from numpy.typing import NDArray

from headworks.intake.voice.encoding import SAMPLE_RATE_HERTZ
from headworks.intake.voice.settings import WHISPER_SECONDS

FFT_SAMPLES = 400
"""The sound that one column of the spectrogram is made of: 25 ms."""
HOP_SAMPLES = 160
"""From one column to the next: 10 ms."""
WINDOW_SAMPLES = WHISPER_SECONDS * SAMPLE_RATE_HERTZ

Samples = NDArray[np.float32]


def log_mel(samples: Samples, filters: NDArray[np.float32], padded_samples: int) -> NDArray[np.float32]:
    """Return the spectrogram of `samples` followed by silence.

    Args:
        samples: 16 kHz mono, shape (n,), range [-1, 1]; what is over `padded_samples` is dropped.
        filters: Mel filter bank, shape (mels, 201).
        padded_samples: Length with silence; a multiple of 320, so that the encoder's stride fits.
    Returns:
        Shape (1, mels, padded_samples / 160), float32.
    """
    padded = np.zeros(padded_samples, np.float32)
    padded[: min(len(samples), padded_samples)] = samples[:padded_samples]
    framed = np.lib.stride_tricks.sliding_window_view(np.pad(padded, FFT_SAMPLES // 2, mode="reflect"), FFT_SAMPLES)
    window = np.hanning(FFT_SAMPLES + 1)[:-1].astype(np.float32)
    spectrum = np.fft.rfft(framed[::HOP_SAMPLES][:-1] * window, axis=1)
    mel = filters @ (np.abs(spectrum).astype(np.float32) ** 2).T
    logarithm = np.log10(np.maximum(mel, 1e-10))
    floored = np.maximum(logarithm, logarithm.max() - 8.0)
    scaled: NDArray[np.float32] = ((floored + 4.0) / 4.0).astype(np.float32)
    return scaled[np.newaxis]
