"""Language models from the Hugging Face hub, by id."""

import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from headworks.intake.build.errors import PullFailed, SourceUnreachable
from headworks.intake.build.recipe import Step
from headworks.intake.models.store import ModelKind

_ID = re.compile(r"([A-Za-z0-9][\w.-]{0,95})/([A-Za-z0-9][\w.-]{0,95})(?:@([\w./-]{1,100}))?", re.ASCII)
_WANTED = ("*.safetensors", "*.json", "*.jinja", "*.model", "*.txt")
_ANSWER_SECONDS = 10
_WORKERS = 4


@dataclass(frozen=True, slots=True)
class HubLanguage:
    """A causal language model in safetensors; the engine must know its architecture."""

    model_id: str
    """ "organisation/model", with "@revision" for another one than main."""
    kind: ModelKind = ModelKind.LANGUAGE
    revision: int = 1

    def __post_init__(self) -> None:
        if not _ID.fullmatch(self.model_id):
            raise PullFailed(f"{self.model_id!r} is not a Hugging Face id; write it as organisation/model.")

    @property
    def name(self) -> str:
        """The id with "--" for what cannot stand in a file name."""
        return re.sub(r"[/@]", "--", self.model_id)

    @property
    def source(self) -> str:
        """The hub, and the id there."""
        return f"hub {self.model_id}"

    def versions(self) -> Mapping[str, str]:
        """Return the revision that was asked for; the commit behind it is in the manifest's notes."""
        return {"revision": self.model_id.partition("@")[2] or "main"}

    def build(self, into: Path, downloads: Path, step: Step) -> Mapping[str, str]:
        """Download, check that it can be served, and leave the hub's own bookkeeping out."""
        step("download", 0, 1)
        commit = _download(self.model_id, downloads)
        step("download", 1, 1)
        _require_servable(downloads, self.model_id)
        link_files(downloads, into)
        return {"commit": commit}


def link_files(downloads: Path, into: Path) -> None:
    """Give every downloaded file a second name in `into`, so that a build that fails after this keeps its download.

    Both lie in the store; a file system that knows no second names gets copies.
    """
    for path in sorted(downloads.rglob("*")):
        within = path.relative_to(downloads)
        if path.is_file() and within.parts[0] != ".cache":
            (into / within).parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(path, into / within)
            except OSError:
                shutil.copyfile(path, into / within)


def _download(model_id: str, downloads: Path) -> str:
    """Return the commit. Half a download stays in `downloads` and is continued."""
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError

    repository, _, revision = model_id.partition("@")
    try:
        found = HfApi().model_info(repository, revision=revision or None, timeout=_ANSWER_SECONDS)
        commit = str(found.sha)
        snapshot_download(
            repository,
            revision=commit,
            local_dir=downloads,
            allow_patterns=list(_WANTED),
            etag_timeout=_ANSWER_SECONDS,
            max_workers=_WORKERS,
        )
    except GatedRepoError as error:
        raise PullFailed(
            f"{repository} asks its readers to agree to terms; do so on its page and run: hf auth login"
        ) from error
    except (RepositoryNotFoundError, RevisionNotFoundError) as error:
        raise PullFailed(f"The hub has no model {model_id}; check the name.") from error
    except Exception as error:  # the hub's client speaks through one of two HTTP libraries, by its version
        raise SourceUnreachable(
            f"The hub cannot be reached ({type(error).__name__}); check the network and run this again, "
            "or leave --language out for the packaged model."
        ) from error
    return commit


def _require_servable(folder: Path, model_id: str) -> None:
    if not (folder / "config.json").is_file() or not list(folder.glob("*.safetensors")):
        raise PullFailed(f"{model_id} has no safetensors with a config.json; choose another model.")
    if not (folder / "tokenizer.json").is_file():
        raise PullFailed(f"{model_id} has no tokenizer.json; choose another model.")
    if (folder / "chat_template.jinja").is_file():
        return
    settings = folder / "tokenizer_config.json"
    if not settings.is_file() or "chat_template" not in json.loads(settings.read_text("utf-8")):
        raise PullFailed(f"{model_id} has no chat template; choose an instruction-tuned model.")
