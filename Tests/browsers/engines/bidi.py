"""A client of WebDriver BiDi (https://www.w3.org/TR/webdriver-bidi/), as small as the checks need it."""

import contextlib
import json

from websockets.sync.client import connect


class BidiError(Exception):
    """The browser refused a command. `code` is the error's name in the specification."""

    def __init__(self, code, message):
        super().__init__(f"{code}: {message}")
        self.code = code


class Bidi:
    """A connection to a browser. Commands are answered in turn; events gather in `events` while one is waited for."""

    def __init__(self, url):
        self._open = contextlib.ExitStack()
        self._socket = self._open.enter_context(connect(f"{url}/session", max_size=None))
        self._last = 0
        self.events = []

    def command(self, method, **params):
        """Runs a command and returns its result; raises BidiError, or TimeoutError after two minutes."""
        self._last += 1
        self._socket.send(json.dumps({"id": self._last, "method": method, "params": params}))
        while True:
            message = json.loads(self._socket.recv(timeout=120))
            if message["type"] == "event":
                self.events.append(message)
            elif message["id"] == self._last:
                if message["type"] == "error":
                    raise BidiError(message["error"], message["message"])
                return message["result"]

    def close(self):
        self._open.close()
