"""`miniwob-agent play --slowmo`: the pointer in the window."""

from pytest_miniwob_agent.browser.environment import MiniwobEnvironment
from pytest_miniwob_agent.browser.process import Browser
from pytest_miniwob_agent.core.actions import Click
from pytest_miniwob_agent.core.case import Case


def test_the_pointer_is_where_the_action_is_and_in_no_picture(display, monkeypatch):
    monkeypatch.setenv("DISPLAY", display.name)
    pictures = []
    for slowmo in (1, None):
        window = Browser(headed=True, slowmo=slowmo)
        try:
            page = MiniwobEnvironment(window, Case("click-test-2", "other", 1))
            element = next(one for one in page.reset().elements if one.tag == "button")
            assert not shows_pointer(window)
            shot = page.look(Click(element.id))
            pictures.append(shot)
            assert shows_pointer(window) == bool(slowmo)
            if slowmo:
                place = window.driver.execute_script(
                    "const box = document.querySelector('miniwob-pointer')"
                    ".getBoundingClientRect(); return [box.left + 1, box.top + 1]"
                )
                assert tuple(place) == shot.points[0]
            assert page.look(Click(element.id)).png == shot.png
            assert page.step(Click(element.id)).done
            assert shows_pointer(window) == bool(slowmo)
        finally:
            window.close()
    assert pictures[0] == pictures[1]


def shows_pointer(window):
    """True if the pointer is painted in the window."""
    png = window.driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})["data"]
    script = """
        const [png, done] = arguments;
        const image = new Image();
        image.onload = () => {
            const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
            canvas.drawImage(image, 0, 0);
            const { data } = canvas.getImageData(0, 0, image.width, image.height);
            let red = 0;
            for (let i = 0; i < data.length; i += 4) {
                red += data[i] === 0xee && data[i + 1] === 0x11 && data[i + 2] === 0x11;
            }
            done(red);
        };
        image.src = "data:image/png;base64," + png;
    """
    return window.driver.execute_async_script(script, png) > 50
