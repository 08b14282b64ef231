"""What one picture may cost."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ImageSettings:
    """Limits on one picture."""

    max_bytes: int = 16 * 1024 * 1024
    """The file as sent; a photograph of 40 megapixels has about 12 MiB."""
    max_pixels: int = 40_000_000
    """Width times height, read from the header before anything is decoded. Decoding that many takes 0.2 to 0.65 GB,
    WebP the most. Pillow warns above 89 million."""
    max_side: int = 32_767
    """Pixels of the longer side, from the header: what fits 16 bits, which is all that OpenCV takes in places. With
    `max_pixels` it bounds the pieces that a long picture is read in to about 20."""
    max_scans: int = 100
    """Scans of a progressive JPEG, each of which costs a pass over all pixels; cameras and programs write about 10."""
    max_lines: int = 500
    """Printed lines that OCR returns; a page of small print has about 100. Later ones are left out."""
    max_labels: int = 5
    """Labels returned of each label set, the best ones; a set may hold hundreds."""
