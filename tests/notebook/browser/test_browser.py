"""The lab as a student sees it: JupyterLab in a browser, a cell, a slider, an error."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import Page, expect

from tests.notebook.browser.lab import PATIENCE, Lab, browser_path, drag, open_page
from tests.notebook.programs import MEMORY

CELLS = (
    "%load_ext serq_lab",
    "%%serq mem\n" + MEMORY.read_text(encoding="utf-8"),
    "mem.explore(C=(4, 20))",
    "%%serq\n" + MEMORY.read_text(encoding="utf-8").replace("run server", "run servr"),
)

MARKED_COLUMN = """async image => {
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.naturalWidth; canvas.height = image.naturalHeight;
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const {data, width, height} = context.getImageData(0, 0, canvas.width, canvas.height);
  for (let x = 0; x < width; x++) {
    let count = 0;
    for (let y = 0; y < height; y++) {
      const i = 4 * (y * width + x);
      count += Math.abs(data[i] - 179) + Math.abs(data[i + 1] - 71) + Math.abs(data[i + 2]) < 24;
    }
    if (count > 8) return x / width;
  }
  return null;
}"""
"""Where in the picture the mark of the present value begins, from 0 on the left to 1 on the right."""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    if browser_path() is None and not os.environ.get("CI"):
        pytest.skip("no chromium here: `apt-get install chromium`")
    folder = tmp_path_factory.mktemp("lab") / "work"
    folder.mkdir()
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    for name in ("light", "dark"):
        cells = [new_code_cell(cell) for cell in CELLS]
        nbformat.write(new_notebook(cells=cells, metadata=kernel), folder / f"{name}.ipynb")
    lab = Lab(folder)
    try:
        lab.wait()
        yield lab
    finally:
        lab.close()


def marked_column(page: Page) -> float:
    column = page.locator(".serq-panel img").evaluate(MARKED_COLUMN)
    assert column is not None
    return float(column)


def test_a_student_drags_the_capacity_from_ten_to_six(lab: Lab) -> None:
    with open_page(lab, "light.ipynb") as page:
        expect.set_options(timeout=PATIENCE)
        panel = page.locator(".serq-panel")
        expect(panel).to_contain_text("0.0947")
        expect(panel).to_contain_text("Lambda = 0.8, S = 1, C = 10")
        before = marked_column(page)

        slider = panel.locator(".widget-hslider", has=page.get_by_text("C", exact=True))
        drag(page, slider, 2 / 16)
        expect(slider.locator(".widget-readout")).to_have_text("6")
        expect(panel).to_contain_text("1.5358")
        expect(panel).to_contain_text("Lambda = 0.8, S = 1, C = 6")
        expect(panel).not_to_contain_text("0.0947")
        page.wait_for_timeout(1000)  # the picture follows the figures
        moved = before - marked_column(page)
        assert moved == pytest.approx(0.86 * 4 / 16 / 1.06, abs=0.02)

        panel.get_by_role("button", name="Pin", exact=True).click()
        drag(page, slider, 1.0)
        expect(slider.locator(".widget-readout")).to_have_text("20")
        expect(panel).to_contain_text("pinned: Lambda = 0.8, S = 1, C = 6")

        error = page.locator(".jp-CodeCell").last.locator(".jp-OutputArea-output")
        expect(error).to_contain_text('error: there is no stage "servr"')
        text = error.inner_text()
        line = next(number for number, each in enumerate(CELLS[3].split("\n"), 1) if "servr" in each)
        assert f"cell:{line}:9" in text
        assert re.search(r"\^{5}\n", text)
        assert "Traceback" not in text

        page.locator(".jp-CodeCell").nth(2).locator(".jp-InputArea-editor").click()
        page.keyboard.press("Control+Enter")
        expect(panel).to_contain_text("C = 10")
        expect(panel).to_have_count(1)


def test_on_a_dark_page_the_picture_is_dark(lab: Lab) -> None:
    lab.set("themes", {"theme": "JupyterLab Dark"})
    with open_page(lab, "dark.ipynb") as page:
        expect.set_options(timeout=PATIENCE)
        panel = page.locator(".serq-panel")
        expect(panel).to_contain_text("0.0947")
        image = panel.locator("img")
        assert "invert" in image.evaluate("image => getComputedStyle(image).filter")
        table = page.locator(".serq table").first
        colour, ground = table.evaluate(
            "table => [getComputedStyle(table).color, getComputedStyle(document.body).backgroundColor]"
        )
        assert contrast(colour, ground) >= 4.5


def contrast(colour: str, ground: str) -> float:
    """The ratio of luminances (WCAG 2.1, section 1.4.3 asks for 4.5)."""

    def luminance(text: str) -> float:
        parts = [int(part) / 255 for part in re.findall(r"\d+", text)[:3]]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(colour), luminance(ground)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_contrast_by_hand() -> None:
    assert contrast("rgb(0, 0, 0)", "rgb(255, 255, 255)") == pytest.approx(21)
    assert contrast("rgb(118, 118, 118)", "rgb(255, 255, 255)") == pytest.approx(4.54, abs=0.01)


def test_the_tutorial_is_there(lab: Lab) -> None:
    assert (lab.folder / "programs" / MEMORY.name).read_bytes() == MEMORY.read_bytes()
    assert isinstance(lab.folder, Path)
