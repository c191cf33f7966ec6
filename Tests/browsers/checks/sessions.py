"""The session's end, and a new one."""

import os
import time

from deadline import NotYet, until


def ended(visit):
    screen = visit.screen()
    screen.button("Increment", "Counter").shows("Counter", "1")
    session = screen.session()
    screen.button("End session")
    until("the page says that the session ended", lambda: screen.condition() == "Session ended")
    screen.button("New session").live()
    screen.shows("Counter", "0")
    assert screen.session() != session, "it is the same session"


def ended_then_clicked(visit):
    # What a person sees counts: the client may learn of the end by a refusal.
    visit.refusals = (401, 404)
    screen = visit.screen()
    screen.button("Increment", "Counter").shows("Counter", "1")
    session = screen.session()
    screen.button("End session").button("Increment", "Counter")

    def is_over():
        assert not screen.alerts(), f"a click got {screen.alerts()}"
        seen = (screen.condition(), screen.session() != session, screen.count())
        if seen != ("Live", True, 1):
            raise NotYet(seen)
        return True
    until("the click counts in the new session (its condition, whether it is new, its count)", is_over)
    assert not screen.alerts(), screen.alerts()


def ended_elsewhere(visit):
    visit.refusals = (401, 404)
    first, second = visit.screen(), visit.screen()
    first.button("Increment", "Counter").shows("Counter", "1").sent("Counter")
    session = first.session()
    second.tab.activate()
    second.button("End session")
    until("the other tab sees the end", lambda: first.condition() == "Session ended" or first.session() != session)
    second.button("New session").live()
    first.tab.activate()
    if first.condition() == "Session ended":
        first.button("New session")
    first.live()
    second.button("Increment", "Counter").shows("Counter", "1")
    first.shows("Counter", "1")


def reloaded(visit):
    screen = visit.screen()
    screen.button("Increment", "Counter").shows("Counter", "1").sent("Counter")
    session = screen.session()
    screen.open(visit.url).shows("Counter", "1")
    assert screen.session() == session, "a reload makes another session"
    screen.button("Reconnect").live().button("Increment", "Counter").shows("Counter", "2")


def two_ports(visit):
    # Cookies know no ports. MVI_TWO_PORTS_SECONDS=70 outlives the cookies unless the servers renew them.
    urls = list(visit.servers_of_one_host("--session-ttl", "60s"))
    screens = [visit.screen(url) for url in urls]
    # Another cookie of one server is none of the other.
    screens[0].button("End session").button("New session").live()
    sessions = [screen.session() for screen in screens]
    end, count = time.monotonic() + float(os.environ.get("MVI_TWO_PORTS_SECONDS", "5")), 0
    while time.monotonic() < end or count < 2:
        count += 1
        for screen in screens:
            screen.tab.activate()
            screen.button("Increment", "Counter").shows("Counter", str(count))
    for screen, session, url in zip(screens, sessions, urls):
        screen.tab.activate()
        screen.sent("Counter").open(url).shows("Counter", str(count))
        assert screen.session() == session, "the session is another one"


CHECKS = {
    "a session ends and another begins": ended,
    "a click right after End session is no error and counts in the new session": ended_then_clicked,
    "a session that ends in another tab ends here": ended_elsewhere,
    "a reload keeps the session": reloaded,
    "pages on two ports of one host keep their sessions while both renew their cookies": two_ports,
}
