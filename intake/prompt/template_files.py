"""A chat template and the names of its control tokens, as a model's folder holds them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headworks.intake.errors import ModelMissing

_MEND = "run `headworks models pull`"
_NAMED_TOKENS = ("extra_special_tokens", "model_specific_special_tokens")
"""Tables of more control tokens by name. The first may also be a list, of tokens that no template can name."""


@dataclass(frozen=True, slots=True)
class TemplateFiles:
    """What was read."""

    source: str
    """The template, in Jinja."""
    special_tokens: Mapping[str, str]
    """By the names that the template knows them by: "bos_token" and its kin."""


def read_template(folder: Path) -> TemplateFiles:
    """Read chat_template.jinja, or what tokenizer_config.json has instead, and the control tokens.

    Raises:
        ModelMissing: there is no template, or a file is damaged.
    """
    config = _read_json(folder / "tokenizer_config.json")
    return TemplateFiles(_source(folder, config), _special_tokens(folder, config))


def _source(folder: Path, config: Mapping[str, Any]) -> str:
    try:
        return (folder / "chat_template.jinja").read_text(encoding="utf-8")
    except FileNotFoundError:
        found = config.get("chat_template")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelMissing(f"the language model's chat_template.jinja cannot be read; {_MEND}") from error
    if isinstance(found, list):
        found = next((entry.get("template") for entry in found if entry.get("name") == "default"), None)
    if not isinstance(found, str):
        raise ModelMissing(f"the language model has no chat template; {_MEND}")
    return found


def _special_tokens(folder: Path, config: Mapping[str, Any]) -> dict[str, str]:
    """Return the tokens that transformers gives a template by name.

    Source:
        transformers 5.19, tokenization_utils_base.py, `_from_pretrained`: special_tokens_map.json counts where the
        configuration does not list its added tokens.
    """
    known = dict(config)
    if "added_tokens_decoder" not in config:
        known |= _read_json(folder / "special_tokens_map.json")
    tokens = {name: value for name, value in known.items() if name.endswith("_token")}
    for table in _NAMED_TOKENS:
        if isinstance(named := known.get(table), Mapping):
            tokens |= named
    # Switches such as "add_bos_token" end in "_token" as well and have no content.
    return {name: content for name, value in tokens.items() if (content := _content(value))}


def _content(token: object) -> str | None:
    content = token.get("content") if isinstance(token, Mapping) else token
    return content if isinstance(content, str) else None


def _read_json(path: Path) -> dict[str, Any]:
    try:
        parsed = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ModelMissing(f"the language model's {path.name} cannot be read; {_MEND}") from error
    return parsed if isinstance(parsed, dict) else {}
