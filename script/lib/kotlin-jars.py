#!/usr/bin/env python3
"""Prepares the jars of a Kotlin compiler and of its libraries, from the files of PyPI's kotlin-jupyter-kernel.

   script/lib/kotlin-jars.py WHEEL-JARS FOLDER

Writes into the folder: compiler.jar, script-runtime.jar, reflect.jar (they run the compiler), serialization-plugin.jar, and
the libraries stdlib.jar, coroutines.jar, serialization-core.jar and serialization-json.jar.
"""

import pathlib
import re
import shutil
import sys
import zipfile

source, target = map(pathlib.Path, sys.argv[1:])
work = target.with_suffix(".part")
shutil.rmtree(work, ignore_errors=True)
work.mkdir(parents=True)


def jar(pattern):
    """The one jar whose name matches."""
    [found] = source.glob(pattern)
    return found


every = jar("kotlin-jupyter-kernel-*-all.jar")
for pattern, name in [
    ("kotlin-stdlib-*.jar", "stdlib"),
    ("kotlin-reflect-*.jar", "reflect"),
    ("kotlin-script-runtime-*.jar", "script-runtime"),
    ("kotlinx-serialization-core-jvm-*.jar", "serialization-core"),
    ("kotlinx-serialization-json-jvm-*.jar", "serialization-json"),
]:
    shutil.copyfile(jar(pattern), work / f"{name}.jar")
(work / "compiler.jar").symlink_to(every.resolve())

# The coroutines are only in the jar with everything, which would hide the libraries' own versions.
coroutines = re.compile(r"kotlinx/coroutines/|_COROUTINE/|META-INF/(kotlinx[-_]coroutines|services/kotlinx\.coroutines)")
with zipfile.ZipFile(every) as all_files, zipfile.ZipFile(work / "coroutines.jar", "w", zipfile.ZIP_DEFLATED) as part:
    for info in all_files.infolist():
        if coroutines.match(info.filename) and not info.is_dir():
            part.writestr(info.filename, all_files.read(info))

# The plugin's classes are in the compiler's jar. This one only names them.
with zipfile.ZipFile(work / "serialization-plugin.jar", "w") as plugin:
    plugin.writestr(
        "META-INF/services/org.jetbrains.kotlin.compiler.plugin.CompilerPluginRegistrar",
        "org.jetbrains.kotlinx.serialization.compiler.extensions.SerializationComponentRegistrar\n")
shutil.rmtree(target, ignore_errors=True)
work.rename(target)
