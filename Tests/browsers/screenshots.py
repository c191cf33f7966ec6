"""Takes the pictures of the page that the documentation shows. script/browsers --screenshots starts it."""

import argparse
import pathlib

from PIL import Image

from engines import Chromium
from server import Server
from visit import Visit

# The size of the viewport in CSS pixels, by the picture's name.
_PICTURES = {"page": (1180, 800), "page-phone": (360, 740)}
_LIMIT = 100_000


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--server", required=True)
    options.add_argument("--folder", required=True, type=pathlib.Path)
    given = options.parse_args()
    given.folder.mkdir(exist_ok=True)
    server, browser = Server(given.server), None
    try:
        server.start()
        # Letters without colours at their edges make smaller pictures; nothing is to be in the middle of a motion.
        browser = Chromium(flags=["--disable-lcd-text", "--hide-scrollbars", "--force-prefers-reduced-motion"])
        for name, (width, height) in _PICTURES.items():
            take(Visit(browser, server), given.folder / f"{name}.png", width, height)
    finally:
        if browser:
            browser.close()
        server.close()


def take(visit, path, width, height):
    """The page after a few clicks, so that there is something to see."""
    screen = visit.screen()
    screen.tab.resize(width, height)
    screen.complete().order_is_received()
    for count in range(1, 10):
        screen.button("Increment", "Counter").shows("Counter", str(count))
    screen.button("Increment", "Counter").shows("Counter", "10").message("Milestone: 10")
    screen.tab.run("() => { document.activeElement.blur(); scrollTo(0, 0); }")
    screen.tab.screenshot(str(path))
    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(128, dither=Image.Dither.NONE)
    small.save(path, optimize=True)
    visit.close()
    size = path.stat().st_size
    assert size < _LIMIT, f"{path} has {size} bytes, more than {_LIMIT}"
    print(f"{path}: {width} × {height}, {size} bytes")


if __name__ == "__main__":
    main()
