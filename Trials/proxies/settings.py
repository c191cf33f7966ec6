"""The proxies' settings in deploy/proxies, with the ports, paths and users of a trial."""

import os
import pathlib
import re
import resource

_ROOT = pathlib.Path(__file__).parents[2]
PAGE = _ROOT / "docs" / "proxies.md"
_FILES = {"nginx": "nginx.conf", "haproxy": "haproxy.cfg", "apache": "apache.conf"}
# What Debian's apache2 enables when it is installed.
_ENABLED = (
    "mpm_event", "access_compat", "alias", "auth_basic", "authn_core", "authn_file", "authz_core", "authz_host",
    "authz_user", "autoindex", "deflate", "dir", "env", "filter", "mime", "negotiation", "reqtimeout", "setenvif", "status",
)


def settings(kind, *, server, port, away, folder, certificate, timeout=None, changes=()):
    """The settings for a proxy in front of the server's port, with TLS on `port`.

    `away` is a port for what answers while the server is away. `timeout`, in seconds, replaces the file's 75 s. `changes`
    are patterns of the file's lines, and what stands there instead.
    """
    text = _file(kind)
    if kind == "nginx":
        needed = _nginx(server, port, folder, certificate)
    elif kind == "haproxy":
        needed = _haproxy(server, port, folder, certificate)
    else:
        needed = _apache(server, port, away, folder, certificate)
    for pattern, replacement in [*needed, *changes]:
        text, count = re.subn(pattern, replacement, text, flags=re.MULTILINE)
        assert count, f"{_FILES[kind]} has nothing like {pattern!r} for {kind}"
    if timeout:
        text, count = re.subn(r"\b75(s?)\b", rf"{timeout}\1", text)
        assert count, f"{_FILES[kind]} has no timeout of 75 s for {kind}"
    return text


def _file(kind):
    return (_ROOT / "deploy" / "proxies" / _FILES[kind]).read_text(encoding="utf-8")


def _nginx(server, port, folder, certificate):
    temporary = " ".join(
        f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    changes = [
        (r"listen 443 ssl http2;", f"listen 127.0.0.1:{port} ssl http2;"), (r"^ *listen \[::\].*\n", ""),
        # Redirects are not what is tried, and their port is not there for every user.
        (r"^    server \{\n        listen 80;(.*\n)*?    \}\n", ""), (r"127\.0\.0\.1:8080", f"127.0.0.1:{server}"),
        (r"/etc/letsencrypt/live/mvi\.example\.com/fullchain\.pem", f"{certificate}.pem"),
        (r"/etc/letsencrypt/live/mvi\.example\.com/privkey\.pem", f"{certificate}.key"),
        (r"/run/nginx\.pid", f"{folder}/pid"), (r"/var/log/nginx", str(folder)), (r"^http \{", rf"\g<0>\n    {temporary}"),
        (r"^worker_rlimit_nofile 65536;", f"worker_rlimit_nofile {_open_files(65536)};"),
        (r"worker_connections 32768;", f"worker_connections {_open_files(32768)};"),
    ]
    return changes if os.geteuid() == 0 else [*changes, (r"^user .*\n", "")]


def _haproxy(server, port, folder, certificate):
    return [
        (r"^    (log /dev/log|user|group) .*\n", ""), (r"^    (log global|option httplog)\n", ""),
        (r"^frontend plain\n(.*\n)*?\n", ""), (r"bind :443", f"bind 127.0.0.1:{port}"),
        (r"/etc/haproxy/mvi\.example\.com\.pem", f"{certificate}.both"), (r"127\.0\.0\.1:8080", f"127.0.0.1:{server}"),
        (r"abns@mvi-away", f"abns@mvi-away-{port}"),
        # It needs two descriptors for each, and ends where it may not have them.
        (r"^    maxconn 32768", f"    maxconn {_open_files(70000) * 32768 // 70000 - 100}"),
    ]


def _apache(server, port, away, folder, certificate):
    named = re.search(r"^\$ a2enmod (.*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE).group(1).split()
    before = [
        f"ServerName 127.0.0.1\nServerRoot {folder}\nDefaultRuntimeDir {folder}\nPidFile {folder}/pid",
        f"ErrorLog {folder}/error.log\nLogLevel warn", f"Listen 127.0.0.1:{port}",
    ]
    if os.geteuid() == 0:
        before.append("User www-data\nGroup www-data")
    for module in _with_needed([*_ENABLED, *named]):
        for file in (f"/etc/apache2/mods-available/{module}.{kind}" for kind in ("load", "conf")):
            if os.path.exists(file):
                before.append(f"Include {file}")
    (folder / "mvi-away.txt").write_text("retry: 3000\n\n", encoding="utf-8")
    return [
        (r"\A", "\n".join(before).replace("\\", "\\\\") + "\n"),
        (r"^<VirtualHost \*:80>\n(.*\n)*?</VirtualHost>\n", ""), (r"<VirtualHost \*:443>", f"<VirtualHost 127.0.0.1:{port}>"),
        (r"/etc/letsencrypt/live/mvi\.example\.com/fullchain\.pem", f"{certificate}.pem"),
        (r"/etc/letsencrypt/live/mvi\.example\.com/privkey\.pem", f"{certificate}.key"),
        (r"http://127\.0\.0\.1:8080", f"http://127.0.0.1:{server}"), (r"127\.0\.0\.1:8079", f"127.0.0.1:{away}"),
        (r"/etc/apache2/mvi-away\.txt", f"{folder}/mvi-away.txt"),
    ]


def _with_needed(modules):
    """The modules and those that they need, in the order of a2enmod: what is needed comes first."""
    found = []

    def add(module):
        if module in found:
            return
        load = pathlib.Path(f"/etc/apache2/mods-available/{module}.load").read_text(encoding="utf-8")
        for needed in re.findall(r"^# Depends: (.*)$", load, re.MULTILINE):
            for each in needed.split():
                add(each)
        found.append(module)

    for module in modules:
        add(module)
    return found


def _open_files(wanted):
    """As many descriptors as the page asks for, or as this machine lets a process have."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return wanted if most == resource.RLIM_INFINITY else min(wanted, most)
