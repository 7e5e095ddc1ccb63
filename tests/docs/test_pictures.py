"""Pictures in the documentation show what is there, as docs/page_pictures.py compares them."""

import page_pictures as pictures
import pytest
from PIL import Image, ImageChops, ImageDraw

from pytest_miniwob_agent.tasks.catalogue import installed_tasks

MAKE = "run `make pictures`"


def test_every_picture_is_one_that_make_pictures_makes():
    found = {path.relative_to(pictures.DOCS) for path in pictures.DOCS.rglob("*.png")}
    made = {
        *pictures.REPORT_PICTURES,
        *(pictures.PAGES / f"{task}.png" for task in installed_tasks()),
    }
    assert found == {path.relative_to(pictures.DOCS) for path in made}, MAKE


def test_the_gallery_has_each_task_once_in_less_than_a_megabyte():
    text = pictures.GALLERY.read_text("utf-8")
    for task in installed_tasks():
        assert text.count(f"](pictures/{task}.png)<br>**{task}**") == 1, f"{task}: {MAKE}"
    assert sum(path.stat().st_size for path in pictures.PAGES.iterdir()) < 1_000_000


@pytest.mark.parametrize("task", ["click-test", "use-spinner", "flight.AA"])
def test_pictures_of_pages_show_them_as_they_are(browser, task):
    """Three pages of different kinds; `make check-pictures` compares all."""
    png = pictures.look_at(browser, task)
    assert not pictures.is_stale(pictures.PAGES / f"{task}.png", png), MAKE


def test_a_letter_that_changed_is_found_and_how_it_is_drawn_is_not(tmp_path):
    path = tmp_path / "page.png"
    image = Image.new("RGB", (160, 210), "white")
    assert pictures.is_stale(path, pictures.compact(image))
    draw = ImageDraw.Draw(image)
    draw.text((20, 30), "Save all", "black")
    path.write_bytes(pictures.compact(image))
    assert not pictures.is_stale(path, pictures.compact(image))
    lighter = ImageChops.add(image, Image.new("RGB", image.size, (20, 20, 20)))
    assert lighter.tobytes() != image.tobytes()
    assert not pictures.is_stale(path, pictures.compact(lighter))
    draw.text((20, 30), "Save a", "black")
    draw.text((90, 30), "s", "black")
    assert pictures.is_stale(path, pictures.compact(image))
    assert pictures.is_stale(path, pictures.compact(image.resize((80, 105))))


def test_packing_a_picture_keeps_its_pixels():
    grey = Image.radial_gradient("L")
    many = Image.merge("RGB", (grey, grey.rotate(90), grey.transpose(Image.Transpose.TRANSPOSE)))
    for image in (grey.convert("RGB"), grey.quantize(9).convert("RGB"), many):
        assert pictures.read(pictures.compact(image)).tobytes() == image.tobytes()
