"""Where CLIP models come from: the port, and open_clip behind it."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from headworks.intake.build.errors import PullFailed, SourceUnreachable
from headworks.intake.build.packaged import package_version

PACKAGE = "open-clip-torch"
_PREFERRED_TAG = "openai"
_ANSWER_SECONDS = 10
_INSTALL = (
    "CLIP models are exported where open_clip is installed: make an environment from requirements/export.txt "
    "(README, Models) and run this from it."
)


@dataclass(frozen=True, slots=True)
class ClipParts:
    """A trained model with all that its graphs need beside them."""

    model: Any
    """A torch module with `encode_image` and `encode_text`, float32, on the CPU."""
    tokenizer: Any
    """Takes a list of texts, returns token ids of shape (texts, context)."""
    preprocess: Mapping[str, Any]
    """The fields of open_clip's `PreprocessCfg`."""


class ClipSource(Protocol):
    """Has trained models by name and tag."""

    def version(self) -> str:
        """Return the version of what makes the models."""
        ...

    def tags(self, model: str) -> Sequence[str]:
        """Return the tags under which a model was trained, one at least.

        Raises:
            PullFailed: no such model, or none was trained.
        """
        ...

    def fetch(self, model: str, tag: str, downloads: Path) -> ClipParts:
        """Download and build; what arrived stays in `downloads`.

        Raises:
            SourceUnreachable: a host does not answer.
            PullFailed: anything else.
        """
        ...


class OpenClipSource:
    """The models of the installed open_clip, from their authors' hosts.

    Raises:
        SourceUnreachable: open_clip is not installed here.
    """

    def __init__(self) -> None:
        try:
            import open_clip
        except ImportError as error:
            raise SourceUnreachable(_INSTALL) from error
        self._library: Any = open_clip

    def version(self) -> str:
        """See `ClipSource`."""
        return package_version(PACKAGE)

    def tags(self, model: str) -> Sequence[str]:
        """See `ClipSource`."""
        known = self._library.list_models()
        if model not in known:
            near = difflib.get_close_matches(model, known, n=3) or known[:3]
            raise PullFailed(f"open_clip has no model {model!r}; it has {', '.join(near)} and others.")
        tags: list[str] = self._library.list_pretrained_tags_by_model(model)
        if not tags:
            raise PullFailed(f"open_clip has no weights for {model}; choose another model.")
        return tags

    def fetch(self, model: str, tag: str, downloads: Path) -> ClipParts:
        """See `ClipSource`. Built as `create_model` does with a tag, so that a file that will not load is told from
        a host that is silent."""
        settings = self._library.get_pretrained_cfg(model, tag)
        try:
            _ask_host(settings)
            weights = self._library.download_pretrained(settings, cache_dir=str(downloads))
        except Exception as error:  # the hub's client speaks through one of two HTTP libraries, by its version
            raise SourceUnreachable(_unreachable(f"The weights of {model}:{tag}", error)) from error
        try:
            built = self._library.create_model(
                model,
                pretrained=str(weights),
                force_quick_gelu=bool(settings.get("quick_gelu")),
                force_preprocess_cfg=settings,
                cache_dir=str(downloads),
            )
            tokenizer = self._library.get_tokenizer(model, cache_dir=str(downloads))
        except Exception as error:  # it names its causes by a dozen classes
            if _has_met_the_network(error):
                raise SourceUnreachable(_unreachable(f"The parts of {model}", error)) from error
            raise PullFailed(f"open_clip cannot build {model}:{tag} ({type(error).__name__}: {error}).") from error
        return ClipParts(built, tokenizer, built.visual.preprocess_cfg)


def choose_tag(tags: Sequence[str], wanted: str | None, model: str) -> str:
    """Return the tag that was asked for, else OpenAI's, else the first.

    Raises:
        PullFailed: the model was not trained under that tag.
    """
    if wanted is None:
        return _PREFERRED_TAG if _PREFERRED_TAG in tags else tags[0]
    if wanted not in tags:
        raise PullFailed(f"{model} has no weights {wanted!r}; it has {', '.join(tags)}.")
    return wanted


def _ask_host(settings: Mapping[str, Any]) -> None:
    """Let a silent hub be known at once: the download itself tries for a minute, and says so line by line."""
    repository = str(settings.get("hf_hub", "")).rpartition("/")[0]
    if repository:
        from huggingface_hub import HfApi

        HfApi().model_info(repository, timeout=_ANSWER_SECONDS)


def _unreachable(what: str, error: Exception) -> str:
    return f"{what} cannot be reached ({type(error).__name__}); check the network and run this again."


def _has_met_the_network(error: BaseException | None) -> bool:
    """Every HTTP library has an `OSError` at the bottom of what it raises."""
    while error is not None:
        if isinstance(error, OSError):
            return True
        error = error.__cause__ or error.__context__
    return False
