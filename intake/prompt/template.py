"""A model's own chat template, and the text that it puts around a turn's texts."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import jinja2.ext
from jinja2 import TemplateError
from jinja2.nodes import Node, Scope
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from headworks.intake.errors import ModelMissing
from headworks.intake.prompt.frame import PromptFrame, PromptShape
from headworks.intake.prompt.template_files import read_template
from headworks.intake.prompt.tokenizer import ModelTokenizer

_FAULTS = (TemplateError, TypeError, ValueError, LookupError, ArithmeticError)
"""What a template raises that refuses its input, or that was written for another kind of input."""
_MEND = "run `headworks models pull`"
_SYSTEM_MARK = "\ue000system\ue001"
_USER_MARK = "\ue000user\ue001"


@dataclass(frozen=True, slots=True)
class _Framed:
    """A frame, and what it was made from."""

    frame: PromptFrame
    tokenizer: ModelTokenizer
    dates: Mapping[str, str]
    """The dates that the template asked for while it was rendered, by strftime's format."""


class _Generation(jinja2.ext.Extension):
    """Renders the body of `{% generation %}` as it stands. Training marks by this tag what a model said.

    What the body sets is not set after it, as in transformers, where the body is a macro.
    """

    tags = {"generation"}  # noqa: RUF012  # as jinja2 declares it

    def parse(self, parser: Parser) -> Node:
        """See jinja2."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return Scope(body).set_lineno(line)


class ChatTemplate:
    """A model's own chat template, rendered in a sandbox."""

    def __init__(
        self, source: str, special_tokens: Mapping[str, str], now: Callable[[], datetime] = datetime.now
    ) -> None:
        """Compile it.

        Args:
            source: Jinja, as in chat_template.jinja or tokenizer_config.json.
            special_tokens: The tokens that templates name: "bos_token" and its kin.
            now: For templates that state the date.
        Raises:
            ModelMissing: not a template.
        Source:
            Environment, filter and functions: transformers 5.19, utils/chat_template_utils.py.
        """
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols, _Generation]
        )
        environment.filters["tojson"] = _to_json
        environment.globals["raise_exception"] = _refuse
        try:
            self._template = environment.from_string(source)
        except TemplateError as error:
            raise ModelMissing(f"the language model's chat template does not compile; {_MEND}") from error
        self._special_tokens = dict(special_tokens)
        self._now = now
        self._framed: dict[bool, _Framed] = {}

    @classmethod
    def load(cls, folder: Path) -> "ChatTemplate":
        """Compile the template of a model's folder.

        Raises:
            ModelMissing: there is none, or it is damaged.
        """
        files = read_template(folder)
        return cls(files.source, files.special_tokens)

    def render(self, instructions: str, content: str) -> str:
        """Render a system message (left out when "") and a user message, up to where the answer begins.

        Raises:
            TemplateError: the template refuses these roles.
        """
        return self._render(instructions, content, {})

    def frame(self, tokenizer: ModelTokenizer, has_instructions: bool) -> PromptFrame:
        """Return what stands around the texts, in tokens; made anew only when the template would state another date.

        Raises:
            ModelMissing: the template does not put the content in exactly once and unchanged.
        """
        framed = self._framed.get(has_instructions)
        if framed is None or framed.tokenizer is not tokenizer or not self._are_now(framed.dates):
            dates: dict[str, str] = {}
            frame = PromptFrame.cut(tokenizer, self._shape(has_instructions, dates))
            framed = self._framed[has_instructions] = _Framed(frame, tokenizer, dates)
        return framed.frame

    def _are_now(self, dates: Mapping[str, str]) -> bool:
        return all(self._now().strftime(form) == date for form, date in dates.items())

    def _render(self, instructions: str, content: str, dates: dict[str, str]) -> str:
        def strftime_now(form: str) -> str:
            return dates.setdefault(form, self._now().strftime(form))

        messages = [{"role": "system", "content": instructions}] if instructions else []
        messages.append({"role": "user", "content": content})
        return self._template.render(
            messages=messages,
            tools=None,
            documents=None,
            add_generation_prompt=True,
            strftime_now=strftime_now,
            **self._special_tokens,
        )

    def _shape(self, has_instructions: bool, dates: dict[str, str]) -> PromptShape:
        """Find out what stands around the texts.

        Templates that know no instructions refuse them or leave them out.
        """
        if has_instructions:
            rendered = self._try_with_system(dates)
            if _SYSTEM_MARK in rendered:
                head, after = _halves(rendered, _USER_MARK)
                before, between = _halves(head, _SYSTEM_MARK)
                return PromptShape(before, between, after, has_system=True)
        between, after = _halves(self._render_without_system(dates), _USER_MARK)
        return PromptShape("", between, after, has_system=False)

    def _try_with_system(self, dates: dict[str, str]) -> str:
        try:
            return self._render(_SYSTEM_MARK, _USER_MARK, dates)
        except _FAULTS:
            return ""

    def _render_without_system(self, dates: dict[str, str]) -> str:
        try:
            return self._render("", _USER_MARK, dates)
        except _FAULTS as error:
            raise ModelMissing(f"the language model's chat template takes no user message; {_MEND}") from error


def _halves(text: str, mark: str) -> tuple[str, str]:
    """Split at the only mark."""
    if text.count(mark) != 1:
        raise ModelMissing(f"the language model's chat template does not hold its messages once each; {_MEND}")
    before, _, after = text.partition(mark)
    return before, after


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
