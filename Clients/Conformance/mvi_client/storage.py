"""What survives the end of a program."""

import os
from pathlib import Path


class Storage:
    """A folder with a text for each name. Without a folder, nothing survives."""

    def __init__(self, folder):
        self.folder = folder and Path(folder)

    def load(self, name):
        """The text that was saved last; None without one."""
        try:
            return (self.folder / name).read_text(encoding="utf-8") if self.folder else None
        except FileNotFoundError:
            return None

    def save(self, name, text):
        """Saves a text in place of the one before."""
        if self.folder:
            new = self.folder / f"{name}.new"
            new.write_text(text, encoding="utf-8")
            os.replace(new, self.folder / name)
