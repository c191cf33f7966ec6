"""Debian's Chromium, without a window."""

import os

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

from engines.driven import DrivenBrowser


class Chromium(DrivenBrowser):
    """Driven by chromedriver, and by the DevTools protocol for what WebDriver lacks."""

    name = "chromium"
    # Besides cutting the relay, the browser says that it is offline.
    says_offline = True
    can_crash = True

    def __init__(self, flags=()):
        options = Options()
        options.binary_location = "/usr/bin/chromium"
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        for flag in ("--headless=new", "--disable-dev-shm-usage", "--window-size=1280,900", *flags):
            options.add_argument(flag)
        if os.geteuid() == 0:
            # Chromium's sandbox does not work for root. The pages are the project's own.
            options.add_argument("--no-sandbox")
        self.driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        self.begin()

    def resize(self, tab, width, height, scale=1):
        self._command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale,
                      mobile=False)

    def zoom(self, tab, width, height, factor):
        """The page as it is in a window of this size when it is zoomed: fewer CSS pixels, each larger."""
        self.resize(tab, width // factor, height // factor, factor)

    def activate(self, tab):
        self._command("Page.bringToFront")

    def crash(self, tab):
        tab._front()
        try:
            self._command("Page.crash")
        except WebDriverException:
            pass  # That is its answer.
        self.driver.switch_to.window(self.home)
        self.driver.front = self.home
        # The handle of a tab is its target's id.
        self._command("Target.closeTarget", targetId=tab.handle)

    def dark_tab(self):
        """A tab in dark mode."""
        tab = self.new_tab()
        self._command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        return tab

    def set_offline(self, tab, is_offline):
        tab._front()
        self._command("Network.emulateNetworkConditions", offline=is_offline, latency=0, downloadThroughput=-1,
                      uploadThroughput=-1)

    def accessibility_tree(self, tab):
        """Every node that assistive technology sees: role, name and properties, in order."""
        tab._front()
        nodes = []
        for node in self._command("Accessibility.getFullAXTree")["nodes"]:
            if node.get("ignored"):
                continue
            nodes.append({
                "role": node["role"]["value"], "name": node.get("name", {}).get("value", ""),
                **{each["name"]: each["value"].get("value") for each in node.get("properties", [])},
            })
        return nodes

    def logged_errors(self, tab):
        return [f"log: {entry['message']}" for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]

    def _command(self, name, **given):
        return self.driver.execute_cdp_cmd(name, given)
