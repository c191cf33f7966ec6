"""The browsers: each engine starts one and gives tabs, which all understand the same calls."""

from engines.chromium import Chromium
from engines.firefox import Firefox
from engines.webkit import WebKit

ENGINES = {"chromium": Chromium, "webkit": WebKit, "firefox": Firefox}
