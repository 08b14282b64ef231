"""From spans to one chat prompt, token by token, while spans still arrive."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import jinja2.ext
from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from headworks.intake.errors import ModelMissing, TooLarge
from headworks.intake.span import Modality, Span, TextOrigin
from headworks.intake.tokenizer import IncrementalTokenizer, ModelTokenizer

_MEND = "run `headworks models pull`"
_SYSTEM_MARK = "\ue000system\ue001"
_USER_MARK = "\ue000user\ue001"
_HEADERS = {
    Modality.TEXT: "[text {part}]",
    Modality.VOICE: "[voice {part}]",
    Modality.IMAGE: "[image {part}: text read from it]",
    Modality.TABLE: "[table {part}]",
}
_LIKE_A_HEADER = re.compile(r"^\[(?=(?:text|voice|image|table) \d)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PromptSettings:
    """How long one prompt may get."""

    max_tokens: int = 4096
    """Template included. As long as the embedded engine's length, which the answer has to fit in as well."""


@dataclass(frozen=True, slots=True)
class PromptShape:
    """A rendered chat around its two texts: `before` + instructions + `between` + content + `after`."""

    before: str
    between: str
    after: str
    """Ends where the model's answer begins."""
    has_system: bool
    """False where the template knows no instructions: they open the content, and `before` is empty."""


class ChatTemplate:
    """A model's own chat template, rendered in a sandbox."""

    def __init__(
        self, source: str, special_tokens: Mapping[str, str], now: Callable[[], datetime] = datetime.now
    ) -> None:
        """Compile it.

        Args:
            source: Jinja, as in chat_template.jinja or tokenizer_config.json.
            special_tokens: "bos_token" and its kin, which templates name.
            now: For templates that state the date.
        Raises:
            ModelMissing: not a template.
        Source:
            Environment, filter and globals: transformers 5.19, utils/chat_template_utils.py.
        """
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols]
        )
        environment.filters["tojson"] = _to_json
        environment.globals["raise_exception"] = _refuse
        environment.globals["strftime_now"] = lambda form: now().strftime(form)
        try:
            self._template = environment.from_string(source)
        except TemplateError as error:
            raise ModelMissing(f"the language model's chat template does not compile; {_MEND}") from error
        self._special_tokens = dict(special_tokens)

    @classmethod
    def load(cls, folder: Path) -> "ChatTemplate":
        """Read chat_template.jinja, or `chat_template` in tokenizer_config.json, from a model's folder.

        Raises:
            ModelMissing: neither is there, or one is damaged.
        """
        config = _read_config(folder / "tokenizer_config.json")
        source = _template_source(folder, config)
        special = {key: _content(value) for key, value in config.items() if key.endswith("_token") and value}
        return cls(source, special)

    def render(self, instructions: str, content: str) -> str:
        """The chat of a system message (left out when "") and a user message, up to where the answer begins.

        Raises:
            TemplateError: the template refuses these roles.
        """
        messages = [{"role": "system", "content": instructions}] if instructions else []
        messages.append({"role": "user", "content": content})
        return self._template.render(
            messages=messages, tools=None, documents=None, add_generation_prompt=True, **self._special_tokens
        )

    def shape(self, has_instructions: bool) -> PromptShape:
        """Cut the rendered chat around its texts.

        Raises:
            ModelMissing: the template does not put the content in exactly once and unchanged.
        """
        try:
            rendered = self.render(_SYSTEM_MARK if has_instructions else "", _USER_MARK)
            has_system = has_instructions
        except TemplateError:
            rendered, has_system = self._render_without_system(), False
        head, *rest = rendered.split(_USER_MARK)
        before, *between = head.split(_SYSTEM_MARK)
        if len(rest) != 1 or len(between) != has_system:
            raise ModelMissing(f"the language model's chat template does not hold its messages once each; {_MEND}")
        if not has_system:
            return PromptShape("", before, rest[0], has_system=False)
        return PromptShape(before, between[0], rest[0], has_system=True)

    def _render_without_system(self) -> str:
        try:
            return self.render("", _USER_MARK)
        except TemplateError as error:
            raise ModelMissing(f"the language model's chat template takes no user message; {_MEND}") from error


class PromptWriter:
    """Writes one turn's prompt. `start`, then any `write`s, then `finish`, each once in that order.

    All ids, in order, equal tokenising the rendered chat at once, except that control tokens spelt in
    instructions or spans stay the characters they are made of. Each part of the input opens with a line that
    names it; its spans are lines below, but text spans that follow each other in their part stay joined as they
    came. A span that imitates such a line gets a backslash before it.
    """

    def __init__(
        self, tokenizer: ModelTokenizer, template: ChatTemplate, instructions: str, settings: PromptSettings
    ) -> None:
        """Render the template.

        Args:
            instructions: The system message; "" for the template's own default.
        Raises:
            ModelMissing: the template does not work.
        """
        self._instructions = instructions.strip()
        shape = template.shape(bool(self._instructions))
        self._prefix = [*tokenizer.split_trusted(shape.before)]
        self._between = [*tokenizer.split_trusted(shape.between)]
        self._suffix = [*tokenizer.split_trusted(shape.after)]
        self._opening = "" if shape.has_system or not self._instructions else self._instructions + "\n\n"
        self._has_system = shape.has_system
        self._stream = IncrementalTokenizer(tokenizer)
        self._settings = settings
        self._suffix_tokens = sum(
            1 if isinstance(piece, int) else len(tokenizer.encode_plain(piece)) for piece in self._suffix
        )
        self._last: Span | None = None
        self._held_space = ""
        self._tokens = 0

    @property
    def tokens(self) -> int:
        """Prompt tokens given out so far."""
        return self._tokens

    def start(self) -> tuple[int, ...]:
        """The template up to the user's message, as far as it is certain.

        Raises:
            TooLarge: template and instructions alone are over the limit.
        """
        ids = self._put(self._prefix)
        if self._has_system:
            ids += self._stream.feed(self._instructions)
        return self._count(ids + self._put(self._between) + self._stream.feed(self._opening))

    def write(self, span: Span) -> Span:
        """Take a span and return it with the tokens that became certain; they may belong to spans before it.

        A span that is not final, or is blank, comes back as it is.

        Raises:
            TooLarge: the prompt would be over `intake.prompt.max_tokens`.
        """
        if not span.is_final or not span.text:
            return span
        text = self._held_space + self._joint(span) + _LIKE_A_HEADER.sub(r"\\[", span.text)
        certain = text.rstrip()
        # White space at the end is not written before more follows: templates may trim it.
        self._held_space = text[len(certain) :]
        self._last = span
        return replace(span, token_ids=self._count(self._stream.feed(certain)))

    def finish(self) -> tuple[int, ...]:
        """The last tokens of the content and the template up to where the answer begins.

        Raises:
            TooLarge: as `write`.
        """
        ids = self._put(self._suffix) + self._stream.finish()
        self._suffix_tokens = 0
        return self._count(ids)

    def _joint(self, span: Span) -> str:
        """What stands between the span before and this one."""
        last = self._last
        if last is None or (last.modality, last.part) != (span.modality, span.part):
            return ("\n" if last else "") + _HEADERS[span.modality].format(part=span.part) + "\n"
        is_joined = (
            isinstance(last.origin, TextOrigin)
            and isinstance(span.origin, TextOrigin)
            and last.origin.end_character == span.origin.start_character
        )
        return "" if is_joined else "\n"

    def _put(self, pieces: list[int | str]) -> tuple[int, ...]:
        ids: tuple[int, ...] = ()
        for piece in pieces:
            ids += (*self._stream.finish(), piece) if isinstance(piece, int) else self._stream.feed(piece)
        return ids

    def _count(self, ids: tuple[int, ...]) -> tuple[int, ...]:
        seen = self._tokens + len(ids) + self._suffix_tokens
        if seen > self._settings.max_tokens:
            raise TooLarge("intake.prompt.max_tokens", self._settings.max_tokens, seen)
        self._tokens += len(ids)
        return ids


def _template_source(folder: Path, config: Mapping[str, Any]) -> str:
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


def _read_config(path: Path) -> dict[str, Any]:
    try:
        parsed = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ModelMissing(f"the language model's {path.name} cannot be read; {_MEND}") from error
    return parsed if isinstance(parsed, dict) else {}


def _content(token: str | Mapping[str, str]) -> str:
    return token if isinstance(token, str) else token["content"]


def _to_json(
    value: object,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _refuse(message: str) -> None:
    raise TemplateError(message)
