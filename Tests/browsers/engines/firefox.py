"""Firefox, without a window, driven by WebDriver BiDi alone: Debian has no geckodriver."""

import base64
import json
import os
import re
import shutil
import subprocess
import tempfile

from deadline import NotYet, until
from engines.bidi import Bidi, BidiError
from engines.script import HOOK, stringified, with_lookup

# https://www.w3.org/TR/webdriver2/#keyboard-actions
KEYS = {
    "Tab": "\ue004", "Enter": "\ue007", "Space": " ", "ArrowDown": "\ue015", "ArrowUp": "\ue013",
    "Backspace": "\ue003", "End": "\ue010",
}


class FirefoxTab:
    """One tab."""

    def __init__(self, browser, context):
        self.browser, self.bidi, self.context = browser, browser.bidi, context

    def goto(self, url):
        try:
            self.bidi.command("browsingContext.navigate", context=self.context, url=url, wait="complete")
        except (BidiError, TimeoutError) as reason:
            raise AssertionError(f"{url} does not load: {reason}") from reason
        self.run(HOOK)

    def run(self, function, *given):
        """Runs a JavaScript function; its arguments and its result are JSON, or elements as arguments."""
        inner = with_lookup(function)
        result = self._call(f"(...given) => JSON.stringify(({inner})(...given) ?? null)", given)
        return json.loads(result["value"])

    def result(self, function, *given):
        """Runs an asynchronous JavaScript function and waits for its result."""
        try:
            return json.loads(self._call(stringified(function), given)["value"])
        except NotYet as reason:
            raise AssertionError(str(reason)) from reason

    def element(self, function, *given):
        """The element that a JavaScript function returns, or None."""
        result = self._call(with_lookup(function), given)
        return {"sharedId": result["sharedId"]} if result["type"] == "node" else None

    def click(self, element):
        self.hold(element, 0)

    def hold(self, element, seconds):
        """Presses the pointer on the element, and releases it after this time."""
        origin = {"type": "element", "element": element}
        self._perform("pointer", [
            {"type": "pointerMove", "x": 0, "y": 0, "origin": origin}, {"type": "pointerDown", "button": 0},
            {"type": "pause", "duration": int(seconds * 1000)}, {"type": "pointerUp", "button": 0},
        ])

    def press(self, *keys):
        """Presses keys by name, or types a text letter by letter."""
        actions = []
        for key in keys:
            for letter in KEYS.get(key, key):
                actions += [{"type": "keyDown", "value": letter}, {"type": "keyUp", "value": letter}]
        self._perform("key", actions)

    def role_and_name(self, element):
        """What the browser tells a screen reader of the element."""
        said = self.run("(element) => look.described(element)", element)
        parts = self.run("(element) => [...element.childNodes].map((each) => each.textContent.trim())", element)
        # BiDi does not say role and name, but finds elements by what the browser has computed of both. Texts of a
        # name are joined with or without a blank.
        for name in dict.fromkeys((said["name"], " ".join(parts))):
            found = self.bidi.command(
                "browsingContext.locateNodes", context=self.context,
                locator={"type": "accessibility", "value": {"role": said["role"], "name": name}})
            if any(node["sharedId"] == element["sharedId"] for node in found["nodes"]):
                return said["role"], name
        return "another role", "another name"

    def resize(self, width, height):
        """The size of the page's viewport in CSS pixels."""
        self.browser.resize(self, width, height)

    def screenshot(self, path):
        shot = self.bidi.command("browsingContext.captureScreenshot", context=self.context)
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))

    def activate(self):
        """Brings the tab to the front."""
        self.bidi.command("browsingContext.activate", context=self.context)

    def errors(self):
        """What the page and the browser wrote as errors since the last call."""
        return self.run("() => (window.keptErrors ?? []).splice(0)") + self.browser.logged_errors(self)

    def close(self):
        self.bidi.command("browsingContext.close", context=self.context)

    def _call(self, function, given):
        arguments = [each if isinstance(each, dict) and "sharedId" in each else _value(each) for each in given]
        try:
            result = self.bidi.command(
                "script.callFunction", functionDeclaration=function, arguments=arguments, awaitPromise=True,
                target={"context": self.context})
        except BidiError as reason:
            if reason.code == "no such node":
                raise NotYet(str(reason)) from reason
            raise
        if result["type"] == "exception":
            raise NotYet(result["exceptionDetails"]["text"])
        return result["result"]

    def _perform(self, kind, actions):
        try:
            self.bidi.command(
                "input.performActions", context=self.context,
                actions=[{"type": kind, "id": kind, "actions": actions}])
        except BidiError as reason:
            if reason.code in ("no such node", "no such element", "move target out of bounds"):
                raise NotYet(str(reason)) from reason
            raise


class Firefox:
    """One process with a profile of its own."""

    name = "firefox"
    says_offline = True
    can_crash = False
    can_hold = True

    def __init__(self, preferences=""):
        self.profile = tempfile.mkdtemp(prefix="mvi-firefox-")
        self.dark = None
        with open(os.path.join(self.profile, "user.js"), "w", encoding="utf-8") as file:
            file.write(preferences)
        self.said = os.path.join(self.profile, "said")
        with open(self.said, "w", encoding="utf-8") as said:
            self.process = subprocess.Popen(
                ["firefox-esr", "--headless", "--no-remote", "--profile", self.profile, "--remote-debugging-port", "0",
                 "about:blank"], stdout=said, stderr=said, stdin=subprocess.DEVNULL)
        self.bidi = Bidi(until("Firefox says its address", self._said_address))
        self.bidi.command("session.new", capabilities={})
        self.bidi.command("session.subscribe", events=["log.entryAdded"])

    def new_tab(self):
        return FirefoxTab(self, self.bidi.command("browsingContext.create", type="tab")["context"])

    def resize(self, tab, width, height, scale=1):
        self.bidi.command("browsingContext.setViewport", context=tab.context,
                          viewport={"width": width, "height": height}, devicePixelRatio=scale)

    def zoom(self, tab, width, height, factor):
        """The page as it is in a window of this size when it is zoomed: fewer CSS pixels, each larger."""
        self.resize(tab, width // factor, height // factor, factor)

    def dark_tab(self):
        """A tab of another process, since dark mode is chosen at the start."""
        self.dark = self.dark or Firefox('user_pref("layout.css.prefers-color-scheme.content-override", 0);\n')
        return self.dark.new_tab()

    def set_offline(self, tab, is_offline):
        self.bidi.command("emulation.setNetworkConditions", contexts=[tab.context],
                          networkConditions={"type": "offline"} if is_offline else None)

    def logged_errors(self, tab):
        errors, others = [], []
        for event in self.bidi.events:
            entry = event["params"]
            if entry.get("source", {}).get("context") != tab.context:
                others.append(event)
            elif entry["level"] == "error":
                errors.append(f"log: {entry['text']}")
        self.bidi.events = others
        return errors

    def close(self):
        if self.dark:
            self.dark.close()
        try:
            self.bidi.command("browser.close")
            self.bidi.close()
            self.process.wait(10)
        except (OSError, BidiError, TimeoutError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def _said_address(self):
        with open(self.said, encoding="utf-8", errors="replace") as said:
            found = re.search(r"WebDriver BiDi listening on (ws://\S+)", said.read())
        if not found and self.process.poll() is not None:
            raise RuntimeError(f"Firefox ended with {self.process.returncode}")
        return found and found.group(1)


def _value(given):
    """A JSON value as BiDi writes it."""
    if given is None:
        return {"type": "null"}
    if isinstance(given, bool):
        return {"type": "boolean", "value": given}
    if isinstance(given, (int, float)):
        return {"type": "number", "value": given}
    return {"type": "string", "value": given}
