"""Comparison of pictures."""

from support.drawn_pictures import opened, page_with_button

from pytest_miniwob_agent.pictures import TOLERANCE, compare, encode_png, shown_difference


def with_pixel(png, change):
    image = opened(png)
    red, green, blue = image.getpixel((50, 110))
    image.putpixel((50, 110), (red, green - change, blue))
    return encode_png(image)


def test_equal_pictures_have_no_difference_and_those_of_other_sizes_are_not_compared():
    found = compare(page_with_button(), page_with_button())
    assert (found.tolerated, found.pixels, found.most, found.area) == (True, 0, 0, None)
    large = page_with_button(size=(160, 220))
    assert compare(page_with_button(), large) is None
    assert opened(shown_difference(page_with_button(), large)).size == (160, 220)


def test_a_button_moved_by_two_pixels_is_not_tolerated_and_the_difference_is_red():
    pages = page_with_button(40), page_with_button(42)
    found = compare(*pages)
    assert not found.tolerated
    assert str(found) == (
        "128 of 33,600 pixels differ, by 137 of 255 at most, in the 62 x 22 pixels at 40,100"
    )
    shown = opened(shown_difference(*pages))
    assert shown.getpixel((40, 110)) == (220, 0, 0)
    assert shown.getpixel((70, 110)) != (220, 0, 0)


def test_what_is_beyond_the_tolerance_differs_in_one_pixel_too():
    page = page_with_button()
    assert compare(page, with_pixel(page, TOLERANCE)).tolerated
    assert not compare(page, with_pixel(page, TOLERANCE + 1)).tolerated
