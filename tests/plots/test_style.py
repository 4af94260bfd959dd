"""What all pictures share: shown once in a notebook, saved with their words."""

from __future__ import annotations

from pathlib import Path

import pytest
from IPython.core.formatters import DisplayFormatter
from PIL import Image

from serq_lab.plots import alt_text, save
from serq_lab.plots.style import CYCLE, INK, describe, new_axes


def test_a_notebook_shows_the_picture_once_with_its_words() -> None:
    (ax,) = new_axes()
    describe(ax, "a line")
    data, metadata = DisplayFormatter().format(ax)
    assert data["image/png"].startswith(b"\x89PNG")
    assert data["text/plain"] == "a line"
    assert metadata["image/png"]["alt"] == "a line"


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_saved_with_its_words(tmp_path: Path, ending: str) -> None:
    (ax,) = new_axes()
    describe(ax, "a line that goes up")
    path = tmp_path / f"picture.{ending}"
    save(ax, path)
    if ending == "png":
        assert Image.open(path).text["Description"] == "a line that goes up"
    else:
        assert b"a line that goes up" in path.read_bytes()


def test_panels_share_their_x_axis() -> None:
    upper, lower = new_axes(heights=(2.0, 1.0))
    lower.set_xlim(3, 9)
    assert upper.get_xlim() == (3, 9)
    assert alt_text(upper) == ""


@pytest.mark.parametrize("colour", CYCLE)
def test_ink_is_read_on_every_colour(colour: str) -> None:
    """A contrast of 7 to 1, level AAA of the WCAG 2.1 (1.4.6)."""

    def luminance(code: str) -> float:
        parts = [int(code[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    assert (luminance(colour) + 0.05) / (luminance(INK) + 0.05) > 7
