#!/usr/bin/env python3
"""Prints what the documentation and the doc comments have too much of: words, long sentences, question words.

    script/lib/words.py

Limits: all Markdown 38,720 words (as `wc -w` counts), README.md 900, a sentence of README.md and docs/ 35 words without
code, doc comments that begin with a question word 2 % of all.
"""
import pathlib
import re
import subprocess

ALL_WORDS, README_WORDS, SENTENCE_WORDS, QUESTIONS = 38_720, 900, 35, 0.02
QUESTION = re.compile(r"(What|Who|Whose|Whom|Why|How|Which|Whether|Where|When|Whatever|Whoever)\b")


def files(*patterns):
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns],
        check=True, capture_output=True, text=True)
    return sorted({path for path in map(pathlib.Path, listed.stdout.splitlines()) if path.is_file()})


def sentences(text):
    """The sentences of a page without its code: those of list items and cells of tables by themselves."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    for line in text.split("\n"):
        for cell in line.split("|") if line.startswith("|") else [line]:
            plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "code", cell))
            yield from re.split(r"(?<=[.!?:;])\s+", plain)


def main():
    pages = {page: page.read_text(encoding="utf-8") for page in files("*.md")}
    words = sum(len(text.split()) for text in pages.values())
    if words > ALL_WORDS:
        print(f"All Markdown has {words} words, {ALL_WORDS} at most")
    if (count := len(pages[pathlib.Path("README.md")].split())) > README_WORDS:
        print(f"README.md has {count} words, {README_WORDS} at most")
    for page, text in pages.items():
        if page.parts[0] == "docs" and "decisions" not in page.parts or page.name == "README.md" and len(page.parts) == 1:
            for sentence in sentences(text):
                count = sum(1 for word in sentence.split() if re.search(r"\w", word))
                if count > SENTENCE_WORDS:
                    print(f"{page}: a sentence of {count} words: {sentence[:80]}…")

    comments = questions = 0
    for source in files("*.swift"):
        before = ""
        for number, line in enumerate(source.read_text(encoding="utf-8").splitlines(), 1):
            line = line.strip()
            if line.startswith("///") and not before.startswith("///"):
                comments += 1
                if QUESTION.match(line[3:].strip()):
                    questions += 1
                    last = f"{source}:{number}: {line}"
            before = line
    if questions > QUESTIONS * comments:
        print(f"{questions} of {comments} doc comments begin with a question word, {QUESTIONS:.0%} at most; such as {last}")


main()
