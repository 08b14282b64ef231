"""Prepared pictures as open_clip makes them. Written with open_clip 3.3.0, torchvision 0.29.1 and Pillow 13.0.0, in
the environment of requirements/export.txt, from the repository's root: python -m tests.intake.image.golden_preparation
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

PATH = Path(__file__).with_name("golden_preparation.npz")
SIZE, MEAN, STD, FILL = 16, (0.48, 0.46, 0.41), (0.27, 0.26, 0.28), 244
PICTURES = {"wide": (61, 37), "tall": (23, 90), "small": (9, 5), "square": (40, 40), "slim": (5, 80)}
"""Width and height."""
RESIZES = ("shortest", "longest", "squash")
INTERPOLATIONS = ("bicubic", "bilinear")


def shade(width: int, height: int) -> NDArray[np.uint8]:
    """Slopes and stripes in three colours, RGB."""
    down, across = np.mgrid[:height, :width]
    red, green = across * 255 // width, (across * 7 + down * 13) % 256
    return np.stack([red, green, (down // 3 % 2) * 200], axis=-1).astype(np.uint8)


def key(picture: str, resize: str, interpolation: str) -> str:
    return f"{picture}-{resize}-{interpolation}"


def _write() -> None:
    from open_clip.transform import PreprocessCfg, image_transform_v2
    from PIL import Image

    made = {}
    for resize in RESIZES:
        for interpolation in INTERPOLATIONS:
            settings = PreprocessCfg(SIZE, "RGB", MEAN, STD, interpolation, resize, FILL)
            transform = image_transform_v2(settings, is_train=False)
            for picture, sides in PICTURES.items():
                made[key(picture, resize, interpolation)] = transform(Image.fromarray(shade(*sides))).numpy()
    np.savez_compressed(PATH, **made)


if __name__ == "__main__":
    _write()
