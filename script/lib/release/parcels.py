#!/usr/bin/env python3
"""Makes a release's files. script/release calls it.

    parcels.py VERSION FOLDER PROGRAMS [SITE]

FOLDER gets the files, PROGRAMS has the static binaries, SITE is the documentation. Every time in them is
SOURCE_DATE_EPOCH, every list is sorted, every owner is root: the same tree and programs make the same bytes.
"""

import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).parents[3]
EPOCH = int(os.environ["SOURCE_DATE_EPOCH"])
PROGRAMS = ("mvi-server", "mvi-tools")
# dpkg's name of an architecture.
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def main(version, folder, programs, site=None):
    folder, programs = pathlib.Path(folder), pathlib.Path(programs)
    folder.mkdir(parents=True)
    machine = os.uname().machine
    source(version, folder)
    binaries(version, folder, programs, machine)
    debian(version, folder, programs, ARCHITECTURES[machine])
    npm(version, folder)
    maven(version, folder / "maven")
    bill(version, folder, programs)
    if site:
        name = f"mvi-server-{version}-docs"
        documentation(folder / f"{name}.tar.gz", name, pathlib.Path(site))
    sums(folder)


def text(path):
    return (ROOT / path).read_text(encoding="utf-8")


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, cwd=ROOT, **options).stdout


# --- Archives ---------------------------------------------------------------------------------------------------------
def archive(path, members):
    """A tar of (name, bytes, mode); a link has the text that it points to."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.GNU_FORMAT) as file:
        for name, content, mode in sorted(members):
            info = tarfile.TarInfo(name)
            info.mtime, info.mode = EPOCH, mode
            if isinstance(content, str):
                info.type, info.linkname = tarfile.SYMTYPE, content
                file.addfile(info)
            else:
                info.size = len(content)
                file.addfile(info, io.BytesIO(content))
    path.write_bytes(gzip.compress(raw.getvalue(), 9, mtime=0))


def documentation(path, prefix, folder):
    """The site, without what differs between two runs of DocC: the order of members, files for Xcode and links of other
    archives, and whether a reference has the conditions of its symbol. All have them where one has."""
    pages, conditions, others = {}, {}, {"link-hierarchy.json", "linkable-entities.json"}
    for each in sorted(folder.rglob("*")):
        # Of the index the pages read one file only.
        is_read = each.name == "index.json" if each.parent == folder / "index" else each.name not in others
        if each.is_file() and is_read:
            pages[each] = json.loads(each.read_bytes()) if each.suffix == ".json" else each.read_bytes()
    references = [each["references"] for each in pages.values() if isinstance(each, dict) and "references" in each]
    for name, reference in [pair for each in references for pair in each.items() if "conformance" in pair[1]]:
        conditions[name] = reference["conformance"]
    for name, reference in [pair for each in references for pair in each.items() if pair[0] in conditions]:
        reference["conformance"] = conditions[name]
    archive(
        path,
        [
            (
                f"{prefix}/{each.relative_to(folder)}",
                page if isinstance(page, bytes) else json.dumps(page, sort_keys=True, separators=(",", ":")).encode(),
                0o644,
            )
            for each, page in pages.items()
        ],
    )


def source(version, folder):
    """The tree of the commit, with the packages' exact versions."""
    prefix = f"mvi-server-{version}"
    with tarfile.open(fileobj=io.BytesIO(run("git", "archive", "HEAD"))) as file:
        members = [
            (
                f"{prefix}/{each.name}",
                each.linkname if each.issym() else file.extractfile(each).read(),
                0o755 if each.mode & 0o100 else 0o644,
            )
            for each in file
            if not each.isdir()
        ]
    members.append((f"{prefix}/Package.resolved", text("Package.resolved").encode(), 0o644))
    archive(folder / f"{prefix}.tar.gz", members)


def binaries(version, folder, programs, machine):
    prefix = f"mvi-server-{version}-linux-{machine}"
    members = [(f"{prefix}/{name}", (programs / name).read_bytes(), 0o755) for name in PROGRAMS]
    members += [
        (f"{prefix}/{pathlib.Path(name).name}", (ROOT / name).read_bytes(), 0o644)
        for name in ("LICENSE", "CHANGELOG.md", "deploy/mvi-server.service", "openapi.yaml", "openapi-admin.yaml")
    ]
    archive(folder / f"{prefix}.tar.gz", members)


# --- Debian -----------------------------------------------------------------------------------------------------------
def libraries(programs):
    """The Debian packages of the libraries that the programs link, with the versions that they need."""
    with tempfile.TemporaryDirectory() as temporary:
        # It reads the names of the source's packages, which are no dependencies.
        (pathlib.Path(temporary) / "debian").mkdir()
        (pathlib.Path(temporary) / "debian/control").write_text(
            "Source: mvi-server\n\nPackage: mvi-server\nArchitecture: any\n", encoding="ascii"
        )
        found = subprocess.run(
            ["dpkg-shlibdeps", "-O", *(str(programs.absolute() / name) for name in PROGRAMS)],
            check=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=temporary,
        ).stdout
    return found.strip().removeprefix("shlibs:Depends=").split(", ")


def debian(version, folder, programs, architecture):
    with tempfile.TemporaryDirectory() as temporary:
        root = pathlib.Path(temporary)
        root.chmod(0o755)

        def put(path, content, mode=0o644):
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content if isinstance(content, bytes) else content.encode())
            target.chmod(mode)

        for name in PROGRAMS:
            put(f"usr/bin/{name}", (programs / name).read_bytes(), 0o755)
        # Without the lines that say how to install it by hand.
        unit = text("deploy/mvi-server.service").partition("[Unit]\n")
        put("usr/lib/systemd/system/mvi-server.service", unit[1] + unit[2].replace("/usr/local/bin/", "/usr/bin/"))
        put("etc/mvi-server/environment", ENVIRONMENT, 0o600)
        put("usr/share/doc/mvi-server/copyright", COPYRIGHT)
        put("usr/share/doc/mvi-server/changelog.gz", gzip.compress(text("CHANGELOG.md").encode(), 9, mtime=0))
        size = sum(each.stat().st_size for each in root.rglob("*") if each.is_file()) // 1024
        depends = ", ".join(["ca-certificates", "init-system-helpers", *libraries(programs)])
        put("DEBIAN/control", CONTROL.format(version=version, architecture=architecture, size=size, depends=depends))
        put("DEBIAN/conffiles", "/etc/mvi-server/environment\n")
        for name, script in SCRIPTS.items():
            put(f"DEBIAN/{name}", script, 0o755)
        for each in root.rglob("*"):
            if each.is_dir():
                each.chmod(0o755)
        (root / "etc/mvi-server").chmod(0o700)
        run(
            "dpkg-deb",
            "--root-owner-group",
            "-Zxz",
            "--threads-max=1",
            "--build",
            temporary,
            str(folder.absolute() / f"mvi-server_{version}_{architecture}.deb"),
        )


CONTROL = """Package: mvi-server
Version: {version}
Architecture: {architecture}
Maintainer: mvi-server <maintainers@mvi-server.invalid>
Installed-Size: {size}
Depends: {depends}
Section: net
Priority: optional
Description: MVI features over REST and server-sent events
 A server with demo features, its systemd service, and mvi-tools, which examines
 and watches any server built with the library.
"""
COPYRIGHT = """Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Files: *
Copyright: the authors of mvi-server
License: Apache-2.0
 See /usr/share/common-licenses/Apache-2.0.
"""
ENVIRONMENT = """# Settings of the service as variables; only root reads this file. mvi-server --help lists them.
#MVI_PUBLIC_URL=https://mvi.example.com
#MVI_ADMIN_TOKEN=
"""
# As debhelper's dh_installsystemd has them. Without systemd, as in a container, nothing is started.
SCRIPTS = {
    "postinst": """#!/bin/sh
set -e
case $1 in configure | abort-*) ;; *) exit 0 ;; esac
deb-systemd-helper unmask mvi-server.service >/dev/null || true
if deb-systemd-helper --quiet was-enabled mvi-server.service; then
    deb-systemd-helper enable mvi-server.service >/dev/null || true
else
    deb-systemd-helper update-state mvi-server.service >/dev/null || true
fi
if [ -d /run/systemd/system ]; then
    systemctl --system daemon-reload >/dev/null || true
    if [ -n "$2" ]; then action=restart; else action=start; fi
    deb-systemd-invoke $action mvi-server.service >/dev/null || true
fi
""",
    "prerm": """#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
    deb-systemd-invoke stop mvi-server.service >/dev/null || true
fi
""",
    "postrm": """#!/bin/sh
set -e
if [ "$1" = purge ]; then
    # DynamicUser keeps the state folder in private and a link to it.
    rm -rf /var/lib/private/mvi-server /var/lib/mvi-server /etc/mvi-server
    if [ -x /usr/bin/deb-systemd-helper ]; then
        deb-systemd-helper purge mvi-server.service >/dev/null || true
        deb-systemd-helper unmask mvi-server.service >/dev/null || true
    fi
fi
if [ -d /run/systemd/system ]; then
    systemctl --system daemon-reload >/dev/null || true
fi
""",
}


# --- Clients ----------------------------------------------------------------------------------------------------------
def npm(version, folder):
    """As `npm pack` makes it. It may be published, and its page has no links out of the package."""
    package = json.loads(text("Clients/JavaScript/package.json"))
    package.pop("private", None)
    package.pop("scripts", None)
    members = [
        ("package/package.json", (json.dumps(package, indent=2) + "\n").encode(), 0o644),
        ("package/LICENSE", text("LICENSE").encode(), 0o644),
    ]
    for name in package["files"]:
        content = text(f"Clients/JavaScript/{name}")
        if name.endswith(".md"):
            content = re.sub(r"\[([^\]]*)\]\(\.\./[^)]*\)", r"\1", content)
        members.append((f"package/{name}", content.encode(), 0o644))
    archive(folder / f"mvi-client-{version}.tgz", members)


def jar(path, members):
    """Zip knows no time before 1980."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in [("META-INF/MANIFEST.MF", b"Manifest-Version: 1.0\r\n\r\n"), *sorted(members)]:
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            file.writestr(info, content)


def maven(version, folder):
    gradle = text("Clients/Kotlin/build.gradle.kts")
    group = re.search(r'^group = "([^"]+)"', gradle, re.MULTILINE)[1]
    needs = re.findall(r'^ +api\("([^":]+):([^":]+):([^"]+)"\)', gradle, re.MULTILINE)
    needs.append(("org.jetbrains.kotlin", "kotlin-stdlib", re.search(r'kotlin\("jvm"\) version "([^"]+)"', gradle)[1]))
    place = folder / group.replace(".", "/") / "mvi-client"
    (place / version).mkdir(parents=True)
    with zipfile.ZipFile(ROOT / ".build-kotlin/main.jar") as built:
        jar(
            place / version / f"mvi-client-{version}.jar",
            [
                (name, built.read(name))
                for name in built.namelist()
                if not name.endswith("/") and not name.endswith(".MF")
            ],
        )
    main_sources = ROOT / "Clients/Kotlin/src/main"
    jar(
        place / version / f"mvi-client-{version}-sources.jar",
        [
            (str(pathlib.Path(*each.relative_to(main_sources).parts[1:])), each.read_bytes())
            for each in main_sources.rglob("*")
            if each.is_file()
        ],
    )
    dependencies = "".join(
        f"    <dependency>\n      <groupId>{one}</groupId>\n      <artifactId>{two}</artifactId>\n"
        f"      <version>{three}</version>\n    </dependency>\n"
        for one, two, three in needs
    )
    (place / version / f"mvi-client-{version}.pom").write_text(
        POM.format(group=group, version=version, dependencies=dependencies), encoding="utf-8"
    )
    (place / "maven-metadata.xml").write_text(METADATA.format(group=group, version=version), encoding="utf-8")
    for each in sorted(place.rglob("*.*")):
        if each.is_file():
            for name in ("sha1", "sha256"):
                each.with_name(f"{each.name}.{name}").write_text(
                    hashlib.new(name, each.read_bytes()).hexdigest(), encoding="ascii"
                )


POM = """<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>{group}</groupId>
  <artifactId>mvi-client</artifactId>
  <version>{version}</version>
  <name>mvi-client</name>
  <description>The client of mvi-server for Android and the JVM</description>
  <licenses><license><name>Apache-2.0</name></license></licenses>
  <dependencies>
{dependencies}  </dependencies>
</project>
"""
METADATA = """<?xml version="1.0" encoding="UTF-8"?>
<metadata>
  <groupId>{group}</groupId>
  <artifactId>mvi-client</artifactId>
  <versioning><release>{version}</release><versions><version>{version}</version></versions></versioning>
</metadata>
"""


# --- What is in it ----------------------------------------------------------------------------------------------------
def bill(version, folder, programs):
    """The Swift packages that are linked, and the system's libraries in this machine's versions."""
    components = []
    for name in [each.partition(" ")[0] for each in libraries(programs)]:
        found, architecture = run("dpkg-query", "-W", "-f", "${Version} ${Architecture}", name, text=True).split()
        coded = found.replace("%", "%25").replace("+", "%2B").replace(":", "%3A")
        components.append(
            {
                "type": "library",
                "name": name,
                "version": found,
                "purl": f"pkg:deb/debian/{name}@{coded}?arch={architecture}",
            }
        )
    lines = "".join(json.dumps(each, separators=(",", ":")) + "\n" for each in components)
    document = run("script/packages", "--sbom", "mvi-server", input=lines, text=True)
    (folder / f"mvi-server-{version}.cdx.json").write_text(document, encoding="utf-8")


def sums(folder):
    """As `sha256sum --check` reads it."""
    lines = [
        f"{hashlib.sha256(each.read_bytes()).hexdigest()}  {each.relative_to(folder)}\n"
        for each in sorted(folder.rglob("*"))
        if each.is_file() and each.name != "SHA256SUMS"
    ]
    (folder / "SHA256SUMS").write_text("".join(lines), encoding="ascii")


if __name__ == "__main__":
    if sys.argv[1] == "--sums":
        sums(pathlib.Path(sys.argv[2]))
    else:
        main(*sys.argv[1:])
