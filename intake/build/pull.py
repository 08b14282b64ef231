"""Fill the store: the packaged models by default, official sources when they are asked for."""

from collections.abc import Sequence
from dataclasses import dataclass

from headworks.intake.build.clip.recipe import exported_clip
from headworks.intake.build.clip.source import OpenClipSource
from headworks.intake.build.hub import HubLanguage
from headworks.intake.build.packaged import PackagedLanguage, PackagedOcr, PackagedVad
from headworks.intake.build.progress import PullObserver
from headworks.intake.build.recipe import Recipe, locked, make
from headworks.intake.build.shipped import ShippedClip
from headworks.intake.build.whisper.recipe import OfficialWhisper, PackagedWhisper
from headworks.intake.models.store import ModelKind, ModelStore


@dataclass(frozen=True, slots=True)
class PullChoice:
    """Which models to fetch; with nothing asked, those that need no network."""

    language: str | None = None
    """A Hugging Face id ("Qwen/Qwen2.5-0.5B-Instruct"); None is the packaged one."""
    whisper: str | None = None
    """An official name ("base", "small.en"); None is the packaged tiny.en."""
    clip: str | None = None
    """An OpenCLIP model ("ViT-L-14"), with ":" and a pretraining tag if not the default; None is the shipped one."""
    kinds: frozenset[ModelKind] = frozenset(ModelKind)
    """Only these kinds."""


def recipes(choice: PullChoice) -> Sequence[Recipe]:
    """Return what a choice means, in the order in which it is built: what others wait for first.

    Raises:
        PullFailed: an id that is none.
        SourceUnreachable: a CLIP model is asked for where open_clip is not installed.
    """
    language: Recipe = HubLanguage(choice.language) if choice.language else PackagedLanguage()
    whisper: Recipe = OfficialWhisper(choice.whisper) if choice.whisper else PackagedWhisper()
    wanted: list[Recipe] = [language, PackagedVad(), PackagedOcr(), whisper]
    if ModelKind.CLIP in choice.kinds:
        wanted.append(exported_clip(choice.clip, OpenClipSource()) if choice.clip else ShippedClip())
    return [recipe for recipe in wanted if recipe.kind in choice.kinds]


def pull(store: ModelStore, choice: PullChoice, observer: PullObserver) -> None:
    """Build what is chosen and not there yet. Blocking, minutes long; may be killed and run again at any time.

    Raises:
        StoreBusy: another pull is running on this store.
        SourceUnreachable: a package is missing or a host does not answer; models built before it stay.
        PullFailed: anything else, with its reason.
    """
    with locked(store):
        for recipe in recipes(choice):
            make(store, recipe, observer)
