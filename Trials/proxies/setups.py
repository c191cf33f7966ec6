"""Proxies with the page's settings, and with one mistake each: what doctor must find."""

import dataclasses


@dataclasses.dataclass
class Setup:
    """One set-up. `kind` is None for the server without a proxy."""

    kind: str
    name: str
    # What doctor must say but for "ok", by check.
    expected: dict = dataclasses.field(default_factory=dict)
    # Patterns of the page's lines, and what stands there instead.
    changes: tuple = ()
    # The server's flags; PUBLIC is the proxy's address.
    flags: tuple = ()
    has_public_url: bool = True
    heartbeat: str = "1s"
    # Doctor's own.
    options: tuple = ()
    hides_health: bool = False


_KEEPS_ALL = (r"^( *)proxy_buffering off;", r"\1proxy_buffering on;\n\1proxy_ignore_headers X-Accel-Buffering;")
_HTTP10 = ((r"^ *proxy_http_version 1.1;\n", ""), (r"^ *proxy_set_header Connection .*\n", ""))
_LOCATION = r"^( *)location / \{"
_BACKEND = r"^backend mvi\n"
_HOST = r"^( *)<Proxy balancer://mvi>"


def _gzip(types):
    return (_LOCATION, rf"\1gzip on;\n\1gzip_min_length 0;\n\1gzip_proxied any;\n\1gzip_types {types};\n\g<0>")


SETUPS = [
    Setup(None, "no proxy"),

    Setup("nginx", "as the page has it"),
    # It passes chunks on when it has them; what has no frame waits for a full buffer.
    Setup("nginx", "buffers chunks", {}, (_KEEPS_ALL,)),
    Setup("nginx", "buffers, HTTP/1.0 to the server",
          {"buffering": "wrong", "upstream": "wrong", "streams together": "not measured", "silence": "not measured"},
          (_KEEPS_ALL, *_HTTP10)),
    Setup("nginx", "compresses streams", {"compression": "warning"}, (_gzip("text/event-stream"),)),
    Setup("nginx", "compresses streams and buffers", {"compression": "wrong"},
          (_KEEPS_ALL, _gzip("text/event-stream"))),
    Setup("nginx", "compresses states", {"entity tags": "wrong"}, (_gzip("application/json"),)),
    Setup("nginx", "HTTP/1.0 to the server", {"upstream": "wrong"},
          _HTTP10),
    Setup("nginx", "keeps no connections to the server", {"upstream": "warning"},
          ((r"^ *proxy_set_header Connection .*\n", ""),)),
    Setup("nginx", "reads for 2 s, heartbeat 5 s", {"silence": "wrong"},
          ((r"proxy_read_timeout 75s", "proxy_read_timeout 2s"),), heartbeat="5s"),
    Setup("nginx", "no HTTP/2", {"http/2": "wrong"}, ((r"ssl http2;", "ssl;"),)),
    Setup("nginx", "writes another Host, no --public-url", {"host": "refused"},
          ((r"^ *proxy_set_header Host .*\n", ""),), has_public_url=False),
    Setup("nginx", "--public-url of another name", {"origin": "wrong"},
          flags=("--public-url", "https://mvi.example.com")),
    Setup("nginx", "--public-url with http", {"origin": "wrong", "cookie": "wrong"},
          flags=("--public-url", "http://mvi.example.com")),
    Setup("nginx", "no X-Forwarded-For", {"client address": "wrong"}, ((r"^ *proxy_set_header X-Forwarded-For .*\n", ""),)),
    Setup("nginx", "no --trusted-proxy", {"client address": "wrong"}, flags=("--trusted-proxy", "192.0.2.1")),
    Setup("nginx", "neither of both", {"client address": "wrong"},
          ((r"^ *proxy_set_header X-Forwarded-For .*\n", ""),), flags=("--trusted-proxy", "192.0.2.1")),
    Setup("nginx", "--trusted-proxy of every address", {"client address": "wrong"}, flags=("--trusted-proxy", "0.0.0.0/0")),
    Setup("nginx", "bodies of 64 KiB", {"body size": "wrong"}, ((r"client_max_body_size 2m", "client_max_body_size 64k"),)),
    Setup("nginx", "bodies as by default", {"body size": "warning"}, ((r"^ *client_max_body_size .*\n", ""),)),
    Setup("nginx", "/health/ is not passed on", {"health": "warning"},
          ((_LOCATION, r"\1location /health/ { return 404; }\n\g<0>"),), hides_health=True),
    Setup("nginx", "error pages of its own", {"refusals": "wrong"},
          ((r"^( *)proxy_buffering off;", r"\g<0>\n\1proxy_intercept_errors on;\n\1error_page 404 405 /sorry;"),
           (_LOCATION, r"\1location /sorry { return 404 sorry; }\n\g<0>"))),
    Setup("nginx", "drops Last-Event-ID", {"request fields": "wrong"},
          ((r"^( *)proxy_buffering off;", r'\g<0>\n\1proxy_set_header Last-Event-ID "";'),)),
    Setup("nginx", "drops Origin", {"origin": "wrong"},
          ((r"^( *)proxy_buffering off;", r'\g<0>\n\1proxy_set_header Origin "";'),)),
    Setup("nginx", "drops Idempotency-Key", {"request fields": "wrong"},
          ((r"^( *)proxy_buffering off;", r'\g<0>\n\1proxy_set_header Idempotency-Key "";'),)),

    Setup("haproxy", "as the page has it"),
    Setup("haproxy", "option http-buffer-request", {}, ((_BACKEND, r"\g<0>    option http-buffer-request\n"),)),
    # It heeds the streams' Cache-Control: no-transform.
    Setup("haproxy", "compresses streams and states", {"entity tags": "wrong"},
          ((_BACKEND, r"\g<0>    compression algo gzip\n    compression type text/event-stream application/json\n"),)),
    Setup("haproxy", "timeout server 2 s, heartbeat 5 s", {"silence": "wrong"},
          ((r"timeout server 75s", "timeout server 2s"),), heartbeat="5s"),
    Setup("haproxy", "no HTTP/2", {"http/2": "wrong"}, ((r"alpn h2,http/1.1", "alpn http/1.1"),)),
    Setup("haproxy", "no option forwardfor", {"client address": "wrong"}, ((r"^ *option forwardfor\n", ""),)),
    Setup("haproxy", "option httpclose", {"upstream": "warning"}, ((_BACKEND, r"\g<0>    option httpclose\n"),)),
    Setup("haproxy", "changes the cookie's path", {"cookie": "wrong"},
          ((_BACKEND, r"\g<0>    http-response replace-header Set-Cookie ^(.*)Path=/(.*)$ \\1Path=/app\\2\n"),)),
    Setup("haproxy", "five requests at once on a connection", {"streams together": "wrong"},
          ((r"^global\n", "global\n    tune.h2.max-concurrent-streams 5\n"),)),

    Setup("apache", "as the page has it"),
    Setup("apache", "no flushpackets", {}, ((r" flushpackets=on", ""),)),
    # Its filters pass on what the proxy flushes, which it does when nothing more is there.
    Setup("apache", "collects answers (mod_buffer)", {},
          ((r"^ServerLimit", r"LoadModule buffer_module /usr/lib/apache2/modules/mod_buffer.so\n\g<0>"),
           (r" flushpackets=on", ""), (r"^( *)ProxyPass / ", r"\1SetOutputFilter BUFFER\n\g<0>"))),
    Setup("apache", "compresses everything (mod_deflate)", {"compression": "warning", "entity tags": "warning"},
          ((r"^( *)ProxyPass / ", r"\1SetOutputFilter DEFLATE\n\g<0>"),)),
    Setup("apache", "timeout 2 s, heartbeat 5 s", {"silence": "wrong"},
          ((r"^( *)Timeout 75", r"\1Timeout 2"), (r"timeout=75 ", "timeout=2 ")), heartbeat="5s"),
    Setup("apache", "no HTTP/2", {"http/2": "wrong"}, ((r"Protocols h2 http/1.1", "Protocols http/1.1"),)),
    Setup("apache", "no ProxyPreserveHost, no --public-url", {"origin": "wrong", "cookie": "wrong"},
          ((r"^ *ProxyPreserveHost On\n", ""),), has_public_url=False),
    # It does not count bodies that it passes on.
    Setup("apache", "LimitRequestBody of 64 KiB", {}, ((_HOST, r'\1<Location "/">\n\1    LimitRequestBody 65536\n\1</Location>\n\g<0>'),)),
    Setup("apache", "error pages of its own", {"refusals": "wrong", "origin": "not measured", "body size": "not measured"},
          ((_HOST, r"\1ProxyErrorOverride On\n\g<0>"),)),
    Setup("apache", "no X-Forwarded-For", {"client address": "wrong"}, ((_HOST, r"\1ProxyAddHeaders Off\n\g<0>"),)),
]
