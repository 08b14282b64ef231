"""Limits are named in errors as the operator finds them in the settings file."""

import ast
import dataclasses
import operator
import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import get_type_hints

import pytest

from headworks.policy.verdict import Obligations
from headworks.server.clock import SystemClock
from headworks.server.engine.engine import Engine
from headworks.server.engine.settings import EngineKind
from headworks.server.engine.simulated import SimulatedEngine
from headworks.server.engine.vllm_local import VllmEngine
from headworks.server.settings import Settings

ROOT = Path(__file__).parents[2]
NAMING = frozenset({"Bound", "TooLarge", "TooMany", "TurnLimit", "TurnTimedOut", "next_step"})
"""Calls that take a limit's name."""
ALLOWS = re.compile(r"((?:\w+\.)+\w+) allows ")
CALLERS_OWN = "deadline"


def named_limits() -> set[str]:
    """Every name that stands in the source, as an argument of `NAMING` or in a sentence "NAME allows VALUE"."""
    files = [path for folder in ("server", "intake", "policy", "graphql") for path in (ROOT / folder).rglob("*.py")]
    return {name for path in files for node in ast.walk(ast.parse(path.read_text())) for name in names_in(node)}


def names_in(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Call(func=ast.Name(id=name), args=arguments) if name in NAMING:
            for argument in arguments:
                inner = [argument.body, argument.orelse] if isinstance(argument, ast.IfExp) else [argument]
                yield from (one.value for one in inner if isinstance(one, ast.Constant) and isinstance(one.value, str))
        case ast.Constant(value=str(text)):
            yield from ALLOWS.findall(text)


def setting_names(section: type, prefix: str = "") -> Iterator[str]:
    for name, kind in get_type_hints(section).items():
        if dataclasses.is_dataclass(kind):
            yield from setting_names(kind, f"{prefix}{name}.")  # type: ignore[arg-type]
        else:
            yield prefix + name


def test_every_limit_named_in_an_error_is_a_setting() -> None:
    """Who reads the error can look it up: in settings, or in the verdict's obligations."""
    known = set(setting_names(Settings)) | {f"obligations.{one.name}" for one in dataclasses.fields(Obligations)}
    found = named_limits()
    assert {"turn.input.max_parts", "turn.answer.stall_seconds", "graphql.max_depth", CALLERS_OWN} <= found
    assert found - known == {CALLERS_OWN}


@pytest.mark.parametrize(
    "engine",
    [VllmEngine(Path(), "", Settings().engine.vllm), SimulatedEngine((), Settings().engine.simulated, SystemClock())],
    ids=[EngineKind.VLLM.value, EngineKind.SIMULATED.value],
)
def test_an_engines_length_is_the_setting_that_errors_name(engine: Engine, request: pytest.FixtureRequest) -> None:
    """The name leads to the very value."""
    setting = f"engine.{request.node.callspec.id}.max_model_tokens"
    assert operator.attrgetter(setting)(Settings()) == engine.max_model_tokens


def test_the_page_of_limits_is_made_from_the_settings() -> None:
    """A default that was changed in the code alone would mislead whoever plans by the page."""
    page = runpy.run_path(str(ROOT / "docs" / "limits.py"))["page"]()
    assert page == (ROOT / "docs" / "limits.md").read_text()
