"""What a check gets: a browser, a server, and a network between them."""

from front import Front
from relay import Relay, new_host
from screen import Screen
from server import Server

# What a browser itself writes while the network or the server is gone.
_NETWORK = ("net::ERR_", "NetworkError", "Failed to load resource", "can’t establish a connection", "was interrupted")


class Visit:
    """One check's use of a browser: its tabs, and an origin with its own cookies and storage."""

    def __init__(self, browser, server):
        self.browser, self.server = browser, server
        self.relay = Relay(server)
        self.url = self.relay.url
        self.tabs = []
        self.fronts = []
        self.servers = []
        # Set by checks that cut the network: its errors are no fault of the page then.
        self.has_trouble = False
        # The statuses of the refusals that a check brings about; browsers write a line for each.
        self.refusals = ()

    def tab(self):
        tab = self.browser.new_tab()
        self.tabs.append(tab)
        return tab

    def front(self):
        """A new origin with the client of this checkout."""
        front = Front(self.server)
        self.fronts.append(front)
        return front

    def servers_of_one_host(self, *options):
        """The URLs of two more servers, on two ports of one host."""
        host = new_host()
        for _ in range(2):
            server = Server(self.server.binary, *options)
            self.servers.append(server)
            server.start()
            relay = Relay(server, host)
            self.fronts.append(relay)
            yield relay.url

    def crash(self, tab):
        """The tab's process ends; in browsers that cannot be made to, the tab is closed."""
        self.tabs.remove(tab)
        if self.browser.can_crash:
            self.browser.crash(tab)
        else:
            tab.close()

    def dark_tab(self):
        tab = self.browser.dark_tab()
        self.tabs.append(tab)
        return tab

    def screen(self, url=None):
        """The page in a new tab, when it is live."""
        return Screen(self.tab()).open(url or self.url)

    def go_offline(self, tab):
        """The network is gone; where the browser can be told, it says so to the page."""
        self.has_trouble = True
        self.relay.cut()
        if self.browser.says_offline:
            self.browser.set_offline(tab, True)

    def go_online(self, tab):
        self.relay.mend()
        if self.browser.says_offline:
            self.browser.set_offline(tab, False)

    def unexpected_errors(self):
        """What the tabs' consoles have and should not."""
        errors = [error for tab in self.tabs for error in tab.errors()]
        if self.has_trouble:
            errors = [error for error in errors if not any(word in error for word in _NETWORK)]
        expected = [f"responded with a status of {status} " for status in self.refusals]
        return [error for error in errors if not any(words in error for words in expected)]

    def close(self):
        for tab in self.tabs:
            tab.close()
        for origin in (*self.fronts, self.relay):
            origin.close()
        for server in self.servers:
            server.close()
