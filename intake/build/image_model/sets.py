"""The drawings that are trained on: icon sets from the npm registry, with their licences. Needs `npm` on PATH."""

import json
import subprocess
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

ALLOWED = frozenset({"Apache-2.0", "MIT", "CC0-1.0", "CC-BY-4.0", "CC-BY-3.0"})
"""SPDX ids of what may be trained on; share-alike sets only test, and nothing of theirs is shipped."""


class Role(StrEnum):
    """What a set is read for."""

    TRAIN = "train"
    VALIDATE = "validate"
    TEST = "test"


@dataclass(frozen=True, slots=True)
class IconSet:
    """One npm package of SVG drawings in Iconify's form."""

    name: str
    version: str
    licence: str
    """SPDX id, compared with the package's own statement when it is read."""
    author: str
    home: str
    role: Role = Role.TRAIN
    is_emoji: bool = False
    """Named by Unicode's names, one drawing style."""

    @property
    def package(self) -> str:
        """Its npm name."""
        return f"@iconify-json/{self.name}"


@dataclass(frozen=True, slots=True)
class Drawing:
    """One SVG."""

    set: str
    name: str
    svg: str
    is_plain: bool
    """Drawn in one colour, which the renderer may choose."""
    hexcode: str | None = None
    """Unicode code points, upper case with dashes and without FE0F, where the set says so."""


_NOTO = ("Google Inc", "https://github.com/googlefonts/noto-emoji")
_FLUENT = ("Microsoft Corporation", "https://github.com/microsoft/fluentui-emoji")
_EMOJI_ONE = ("Emoji One", "https://github.com/EmojiTwo/emojitwo")
_STREAMLINE = ("Streamline", "https://github.com/webalys-hq/streamline-vectors")

SETS: tuple[IconSet, ...] = (
    IconSet("noto", "1.2.9", "Apache-2.0", *_NOTO, is_emoji=True),
    IconSet("noto-v1", "1.2.5", "Apache-2.0", *_NOTO, is_emoji=True),
    IconSet("twemoji", "1.2.5", "CC-BY-4.0", "Twitter", "https://github.com/twitter/twemoji", is_emoji=True),
    IconSet("fluent-emoji", "1.2.7", "MIT", *_FLUENT, is_emoji=True),
    IconSet("fluent-emoji-flat", "1.2.6", "MIT", *_FLUENT, is_emoji=True),
    IconSet("fluent-emoji-high-contrast", "1.2.6", "MIT", *_FLUENT, is_emoji=True),
    IconSet("emojione", "1.2.3", "CC-BY-4.0", *_EMOJI_ONE, is_emoji=True),
    IconSet("emojione-monotone", "1.2.1", "CC-BY-4.0", *_EMOJI_ONE, is_emoji=True),
    IconSet("fxemoji", "1.2.2", "Apache-2.0", "Mozilla", "https://github.com/mozilla/fxemoji", is_emoji=True),
    IconSet("streamline-emojis", "1.2.4", "CC-BY-4.0", *_STREAMLINE, is_emoji=True),
    IconSet("streamline-flex-color", "1.2.2", "CC-BY-4.0", *_STREAMLINE),
    IconSet("streamline-plump-color", "1.2.2", "CC-BY-4.0", *_STREAMLINE),
    IconSet("streamline-ultimate-color", "1.2.2", "CC-BY-4.0", *_STREAMLINE),
    IconSet("streamline-kameleon-color", "1.2.2", "CC-BY-4.0", *_STREAMLINE),
    IconSet("flat-color-icons", "1.2.3", "MIT", "Icons8", "https://github.com/icons8/flat-Color-icons"),
    IconSet(
        "fluent-color",
        "1.2.21",
        "MIT",
        "Microsoft Corporation",
        "https://github.com/microsoft/fluentui-system-icons",
    ),
    IconSet("meteocons", "1.2.4", "MIT", "Bas Milius", "https://github.com/basmilius/weather-icons"),
    IconSet(
        "healthicons", "1.2.13", "MIT", "Resolve to Save Lives", "https://github.com/resolvetosavelives/healthicons"
    ),
    IconSet("game-icons", "1.2.4", "CC-BY-3.0", "GameIcons", "https://github.com/game-icons/icons"),
    IconSet("mdi", "1.2.3", "Apache-2.0", "Pictogrammers", "https://github.com/Templarian/MaterialDesign"),
    IconSet("circle-flags", "1.2.11", "MIT", "HatScripts", "https://github.com/HatScripts/circle-flags"),
    IconSet("emojione-v1", "1.2.3", "CC-BY-SA-4.0", *_EMOJI_ONE, role=Role.VALIDATE, is_emoji=True),
    IconSet(
        "openmoji",
        "1.2.29",
        "CC-BY-SA-4.0",
        "OpenMoji",
        "https://github.com/hfg-gmuend/openmoji",
        role=Role.TEST,
        is_emoji=True,
    ),
)

NAMES = "emojibase-data@17.0.0"
"""Unicode's emoji names and keywords in English, MIT."""
FONTS = (
    "@expo-google-fonts/roboto@0.4.3",
    "@expo-google-fonts/merriweather@0.4.2",
    "@expo-google-fonts/jetbrains-mono@0.4.1",
    "@expo-google-fonts/caveat@0.4.2",
)
"""OFL-1.1; only pictures of their letters are trained on."""


def fetch(package: str, into: Path) -> Path:
    """Return the folder of an npm package ("name@version"), fetched unless it is there.

    Raises:
        CalledProcessError: npm could not fetch it.
    """
    folder = into / package.strip("@").replace("/", "-")
    if folder.is_dir():
        return folder
    into.mkdir(parents=True, exist_ok=True)
    said = subprocess.run(
        ["npm", "pack", "--silent", package, "--pack-destination", str(into)],
        check=True,
        capture_output=True,
        text=True,
    )
    archive = into / said.stdout.split()[-1]
    staging = folder.with_suffix(".part")
    with tarfile.open(archive) as tar:
        tar.extractall(staging, filter="data")
    (staging / "package").rename(folder)
    staging.rmdir()
    archive.unlink()
    return folder


def drawings(icons: IconSet, cache: Path) -> Iterator[Drawing]:
    """Yield a set's drawings, without aliases and without the ones its author hides.

    Raises:
        ValueError: the package states another licence than we do, or one that training may not use.
    """
    folder = fetch(f"{icons.package}@{icons.version}", cache)
    stated = json.loads((folder / "info.json").read_text("utf-8"))["license"]["spdx"]
    if stated != icons.licence or (icons.role is Role.TRAIN and stated not in ALLOWED):
        raise ValueError(f"{icons.package} is under {stated}, which is not what it was chosen for")
    data = json.loads((folder / "icons.json").read_text("utf-8"))
    codes = json.loads((folder / "chars.json").read_text("utf-8"))
    hexcodes = {name: code.upper().replace("-FE0F", "") for code, name in codes.items()}
    for name, icon in data["icons"].items():
        if not icon.get("hidden"):
            svg = _svg(icon, data)
            yield Drawing(icons.name, name, svg, "currentColor" in svg, hexcodes.get(name))


def aliases(icons: IconSet, cache: Path) -> Mapping[str, list[str]]:
    """Return a set's other names for each of its drawings."""
    data = json.loads((fetch(f"{icons.package}@{icons.version}", cache) / "icons.json").read_text("utf-8"))
    found: dict[str, list[str]] = {}
    for alias, what in data.get("aliases", {}).items():
        if len(what) == 1:
            found.setdefault(what["parent"], []).append(alias)
    return found


def _svg(icon: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    left, top, width, height = (
        icon.get(key, data.get(key, default))
        for key, default in (("left", 0), ("top", 0), ("width", 16), ("height", 16))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'viewBox="{left} {top} {width} {height}">{icon["body"]}</svg>'
    )
