"""Tabs of a browser that a WebDriver drives."""

import json

from selenium.common.exceptions import (
    ElementClickInterceptedException, ElementNotInteractableException, JavascriptException,
    StaleElementReferenceException,
)
from selenium.webdriver import ActionChains
from selenium.webdriver.common.keys import Keys

from deadline import NotYet
from engines.script import HOOK, stringified, with_lookup

KEYS = {
    "Tab": Keys.TAB, "Enter": Keys.ENTER, "Space": Keys.SPACE, "ArrowDown": Keys.ARROW_DOWN,
    "ArrowUp": Keys.ARROW_UP, "Backspace": Keys.BACKSPACE, "End": Keys.END,
}


class DrivenTab:
    """One tab. Each call first makes it the one that the driver talks to, which does not bring it to the front."""

    def __init__(self, browser, handle):
        self.browser, self.driver, self.handle = browser, browser.driver, handle

    def goto(self, url):
        self._front()
        self.driver.get(url)
        self.run(HOOK)

    def run(self, function, *given):
        """Runs a JavaScript function; its arguments and its result are JSON, or elements as arguments."""
        self._front()
        try:
            text = self.driver.execute_script(
                f"return JSON.stringify(({with_lookup(function)})(...arguments) ?? null)", *given)
        except StaleElementReferenceException as reason:
            raise NotYet("the element is gone") from reason
        return None if text is None else json.loads(text)

    def result(self, function, *given):
        """Runs an asynchronous JavaScript function and waits for its result."""
        self._front()
        try:
            return json.loads(self.driver.execute_script(f"return {stringified(function)}(...arguments)", *given))
        except JavascriptException as reason:
            raise AssertionError(reason.msg) from reason

    def element(self, function, *given):
        """The element that a JavaScript function returns, or None."""
        self._front()
        try:
            return self.driver.execute_script(f"return ({with_lookup(function)})(...arguments)", *given)
        except (JavascriptException, StaleElementReferenceException) as reason:
            raise NotYet(reason.msg) from reason

    def click(self, element):
        self._front()
        try:
            element.click()
        except (StaleElementReferenceException, ElementClickInterceptedException,
                ElementNotInteractableException) as reason:
            raise NotYet(reason.msg) from reason

    def hold(self, element, seconds):
        """Presses the pointer on the element, and releases it after this time."""
        self._front()
        ActionChains(self.driver, duration=0).click_and_hold(element).pause(seconds).release().perform()

    def press(self, *keys):
        """Presses keys by name, or types a text letter by letter."""
        self._front()
        actions = ActionChains(self.driver, duration=0)
        for key in keys:
            actions.send_keys(KEYS.get(key, key))
        actions.perform()

    def role_and_name(self, element):
        """What the browser tells a screen reader of the element."""
        self._front()
        try:
            role = element.aria_role
            return self.browser.said_roles.get((element.tag_name, role), role), element.accessible_name
        except StaleElementReferenceException as reason:
            raise NotYet("the element is gone") from reason

    def resize(self, width, height):
        """The size of the page's viewport in CSS pixels."""
        self._front()
        self.browser.resize(self, width, height)

    def screenshot(self, path):
        self._front()
        self.driver.save_screenshot(path)

    def activate(self):
        """Brings the tab to the front."""
        self._front()
        self.browser.activate(self)

    def errors(self):
        """What the page and the browser wrote as errors since the last call."""
        return self.run("() => (window.keptErrors ?? []).splice(0)") + self.browser.logged_errors(self)

    def close(self):
        self._front()
        self.driver.close()
        self.driver.front = None

    def _front(self):
        if getattr(self.driver, "front", None) != self.handle:
            self.driver.switch_to.window(self.handle)
            self.driver.front = self.handle


class DrivenBrowser:
    """What the browsers of WebDrivers share. `driver` is made by the subclass."""

    driver = None
    can_hold = True
    # Roles by element that a browser names in its own way, and what they mean.
    said_roles = {}

    def new_tab(self):
        self.driver.switch_to.window(self.home)
        self.driver.switch_to.new_window("tab")
        handle = self.driver.current_window_handle
        self.driver.front = handle
        return DrivenTab(self, handle)

    def begin(self):
        # A page that does not load is a failure soon.
        self.driver.set_page_load_timeout(120)
        self.driver.set_script_timeout(120)
        # It stays open and empty, since the last tab's end would end the browser.
        self.home = self.driver.current_window_handle

    def close(self):
        if self.driver:
            self.driver.quit()
