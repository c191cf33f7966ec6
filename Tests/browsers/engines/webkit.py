"""WebKit for GTK, in its MiniBrowser."""

import glob
import os

from selenium import webdriver
from selenium.webdriver.webkitgtk.options import Options
from selenium.webdriver.webkitgtk.service import Service

from engines.display import Display
from engines.driven import DrivenBrowser


class WebKit(DrivenBrowser):
    """Driven by WebKitWebDriver on a display of its own. The driver tells no log and knows no offline."""

    name = "webkit"
    says_offline = False
    can_crash = False
    # Its driver never answers a pointer that is pressed and released later.
    can_hold = False
    # A choice is a button that opens a menu, in GTK.
    said_roles = {("select", "button"): "combobox"}

    def __init__(self, flags=()):
        found = sorted(glob.glob("/usr/lib/*/webkit2gtk-4.*/MiniBrowser"))
        if not found:
            raise RuntimeError("there is no MiniBrowser of WebKit; script/bootstrap browsers installs it")
        options = Options()
        options.binary_location = found[-1]
        # Without toolbars, whose width no window could go below.
        for flag in ("--automation", "--full-screen", *flags):
            options.add_argument(flag)
        self.dark = None
        self.display = Display()
        environment = {
            **os.environ, "DISPLAY": self.display.name, "GDK_BACKEND": "x11",
            # There is no graphics card, and no bus of a desktop.
            "WEBKIT_DISABLE_COMPOSITING_MODE": "1", "NO_AT_BRIDGE": "1", "LIBGL_ALWAYS_SOFTWARE": "1",
        }
        service = Service("/usr/bin/WebKitWebDriver", env=environment)
        self.driver = webdriver.WebKitGTK(options=options, service=service)
        self.begin()

    def resize(self, tab, width, height):
        self.driver.set_window_size(width, height)

    def zoom(self, tab, width, height, factor):
        """The layout of a zoomed page is that of a window with fewer pixels; the driver cannot make them larger."""
        self.resize(tab, width // factor, height // factor)

    def activate(self, tab):
        """The tab that the driver talks to is in front."""

    def dark_tab(self):
        """A tab of another MiniBrowser, since dark mode is chosen at the start."""
        self.dark = self.dark or WebKit(flags=["--dark-mode"])
        return self.dark.new_tab()

    def logged_errors(self, tab):
        return []

    def close(self):
        if self.dark:
            self.dark.close()
        super().close()
        self.display.close()
