"""Marks and rulers on pictures."""

from support.drawn_pictures import GREY, opened, page_with_button

from pytest_miniwob_agent.pictures import MARK, marked

BOX = (40, 100, 60, 22)


def count_pixels(image, colour):
    return sum(count for count, found in image.getcolors(100_000) if found == colour)


def test_a_mark_hides_nothing_of_its_element():
    plain, shown = opened(page_with_button()), opened(marked(page_with_button(), 1, {7: BOX}))
    left, top, width, height = BOX
    inside = (left, top, left + width, top + height)
    assert shown.crop(inside).tobytes() == plain.crop(inside).tobytes()
    assert count_pixels(shown, MARK) > 40


def test_zoom_makes_a_square_of_each_pixel():
    shown = opened(marked(page_with_button(), 3))
    assert shown.size == (480, 630)
    assert {shown.getpixel((x, y)) for x in (123, 124, 125) for y in (303, 304, 305)} == {GREY}


def test_labels_hide_neither_each_other_nor_what_shows():
    """Five rows without a gap, as in a list."""
    rows = {number: (0, 100 + 12 * number, 160, 12) for number in range(1, 6)}
    texts = [(2, 100 + 12 * number, 40, 12) for number in rows]
    shown = opened(marked(page_with_button(), 3, rows, texts))
    # The digits of the labels: each stays visible.
    single = count_pixels(opened(marked(page_with_button(), 3, {1: rows[1]}, texts)), MARK)
    assert count_pixels(shown, MARK) > 3 * single
    for left, top, width, height in texts:
        inside = shown.crop((3 * left, 3 * top + 6, 3 * (left + width), 3 * (top + height) - 6))
        assert count_pixels(inside, MARK) == 0


def test_rulers_begin_at_the_page_and_leave_it_as_it_is():
    plain = opened(marked(page_with_button(), 3))
    ruled = opened(marked(page_with_button(), 3, rulers=True))
    left, top = ruled.width - plain.width, ruled.height - plain.height
    assert left > 0 < top
    assert ruled.crop((left, top, ruled.width, ruled.height)).tobytes() == plain.tobytes()


def test_an_element_at_the_edge_and_one_beyond_it_can_be_marked():
    shown = marked(page_with_button(), 2, {1: (0, 0, 160, 210), 23: (150, 200, 30, 30)})
    assert opened(shown).size == (320, 420)
