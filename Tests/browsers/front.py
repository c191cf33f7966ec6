"""An origin with the client of this checkout. A built server has the client of its build in it."""

import http.client
import http.server
import pathlib
import threading

from relay import new_host

_CLIENT = pathlib.Path(__file__).parents[2] / "Clients/JavaScript/mvi-client.js"
_PAGE = b"""<!doctype html><html lang="en"><title>Tab</title><link rel="icon" href="data:,">
<script type="module">import { createClient } from "/mvi-client.js"; window.createClient = createClient;</script>"""


class Front:
    """Answers the page and the client, and passes other requests on to the server. Each has an address of its own."""

    def __init__(self, server):
        self.server = server
        handler = type("Handler", (_Handler,), {"front": self})
        self._http = _Listener((new_host(), 0), handler)
        self.url = "http://{}:{}/".format(*self._http.server_address)
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self):
        self._http.shutdown()
        self._http.server_close()


class _Listener(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request, client_address):
        """A browser may leave a connection at any time."""


class _Handler(http.server.BaseHTTPRequestHandler):
    front = None

    def _answer(self):
        if self.path == "/":
            self._give("text/html; charset=utf-8", _PAGE)
        elif self.path == "/mvi-client.js":
            self._give("text/javascript; charset=utf-8", _CLIENT.read_bytes())
        else:
            self._pass_on()

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _answer  # noqa: N815: names of http.server

    def _give(self, kind, content):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _pass_on(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        fields = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
        server = http.client.HTTPConnection("127.0.0.1", self.front.server.port)
        try:
            server.request(self.command, self.path, body or None, fields)
            answer = server.getresponse()
            self.send_response_only(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("connection", "transfer-encoding", "keep-alive"):
                    self.send_header(name, value)
            self.end_headers()
            while part := answer.read1(65536):
                self.wfile.write(part)
        finally:
            server.close()

    def log_message(self, *words):
        """Checks print their own results."""
