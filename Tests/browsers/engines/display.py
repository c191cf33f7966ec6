"""A display for browsers that need one."""

import os
import subprocess


class Display:
    """An X server without a screen."""

    def __init__(self, size="1400x1000x24"):
        read, write = os.pipe()
        self.process = subprocess.Popen(
            ["Xvfb", "-displayfd", str(write), "-screen", "0", size, "-nolisten", "tcp"],
            pass_fds=[write], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(write)
        with os.fdopen(read) as number:
            # The server writes its number when it is ready, and closes the pipe when it fails.
            self.name = f":{number.readline().strip()}"
        if self.name == ":":
            raise RuntimeError("Xvfb did not start")

    def close(self):
        self.process.terminate()
        self.process.wait()
