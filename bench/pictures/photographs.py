"""Photographs: cut, made small and saved once as JPEG by Pillow. `README.md` has their authors and licences."""

import io
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from PIL import Image

Cut = tuple[float, float, float, float]
"""Left, top, right, bottom, as shares of the width and the height."""

WHOLE: Cut = (0, 0, 1, 1)


@dataclass(frozen=True, slots=True)
class Photograph:
    """One file of a package, and what is taken of it."""

    package: str
    """A Python package, or `wallpapers` for the folder of the Debian package lomiri-wallpapers-16.04."""
    file: str
    cut: Cut = WHOLE
    quality: int = 80
    """Of the JPEG; a telephone's pictures, sent on, have between 60 and 90."""
    long_side: int = 320

    def draw(self, wallpapers: Path) -> Image.Image:
        """Return the cut as it comes out of the JPEG."""
        with Image.open(self._folder(wallpapers) / self.file) as whole:
            width, height = whole.size
            left, top, right, bottom = self.cut
            part = whole.convert("RGB").crop(
                (round(left * width), round(top * height), round(right * width), round(bottom * height))
            )
        part.thumbnail((self.long_side, self.long_side), Image.Resampling.LANCZOS)
        buffer = io.BytesIO()
        part.save(buffer, "JPEG", quality=self.quality)
        return Image.open(buffer).convert("RGB")

    def _folder(self, wallpapers: Path) -> Path:
        if self.package == "wallpapers":
            return wallpapers
        spec = find_spec(self.package)
        if spec is None or spec.origin is None:
            raise FileNotFoundError(f"the package {self.package} is not installed")
        return Path(spec.origin).parent


PHOTOGRAPHS = (
    Photograph("skimage", "data/astronaut.png", quality=85),
    Photograph("skimage", "data/camera.png", (0, 0.05, 1, 0.95), 75),
    Photograph("skimage", "data/chelsea.png", quality=80),
    Photograph("skimage", "data/coffee.png", (0.1, 0, 0.95, 1), 85),
    Photograph("skimage", "data/rocket.jpg", quality=70),
    Photograph("matplotlib", "mpl-data/sample_data/grace_hopper.jpg", (0, 0, 1, 0.9), 80),
    Photograph("sklearn", "datasets/images/china.jpg", quality=75),
    Photograph("sklearn", "datasets/images/flower.jpg", (0.15, 0, 0.8, 1), 85),
    Photograph("wallpapers", "seeding_by_Clements_Engelhardt.jpg", quality=80),
    Photograph("wallpapers", "friends_by_Aitzol_Berasategi.jpg", (0, 0.1, 1, 0.75), 70),
    Photograph("wallpapers", "life_by_Aitzol_Berasategi.jpg", quality=85),
    Photograph("wallpapers", "picosdeeuropa_by_Aitzol_Berasategi.jpg", quality=65),
    Photograph("wallpapers", "sunset_by_Aitzol_Berasategi.jpg", (0.1, 0, 1, 1), 80),
    Photograph("wallpapers", "Picture_0B_by_freespace.jpg", quality=85),
    Photograph("wallpapers", "Picture_1A_by_freespace.jpg", (0, 0, 0.8, 1), 60),
    Photograph("wallpapers", "Wine_by_Jakkub_Mede.jpg", quality=75),
)
