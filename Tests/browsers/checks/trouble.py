"""The server and the network go away under the page, or refuse what it sends."""

from deadline import until


def killed(visit):
    visit.has_trouble = True
    # Straight to the server: connections are refused while it is away.
    screen = visit.screen(visit.server.url)
    screen.fill("Amount", "7", "Counter")
    for _ in range(5):
        screen.button("Increment", "Counter")
    screen.shows("Counter", "5")
    session, version = screen.session(), screen.version("Lesson")
    visit.server.kill()
    screen.button("Increment", "Counter").button("Add", "Counter")
    visit.server.start()
    # The clicks of before and of meanwhile are there, each once.
    screen.shows("Counter", "13").live().sent("Counter")
    assert screen.session() == session, "the session is another one"
    assert screen.version("Lesson") >= version, "the lesson went back"
    screen.button("Increment", "Counter").shows("Counter", "14").shows("User", "member since")
    assert not screen.alerts(), screen.alerts()


def killed_while_clicking(visit):
    visit.has_trouble = True
    screen = visit.screen(visit.server.url)
    begin = screen.count()
    screen.button("Increment", "Counter")
    visit.server.kill()
    visit.server.start()
    # The click was answered, or is repeated with its key: it counts once either way.
    screen.live().sent("Counter").shows("Counter", str(begin + 1))
    screen.button("Increment", "Counter").shows("Counter", str(begin + 2))


def offline(visit):
    screen = visit.screen().shows("Counter", "0")
    screen.button("Increment", "Counter").shows("Counter", "1")
    visit.go_offline(screen.tab)
    screen.not_live()
    # Shown at once, though nothing can be sent.
    screen.button("Increment", "Counter").button("Increment", "Counter").shows("Counter", "3")
    visit.go_online(screen.tab)
    screen.live().sent("Counter").shows("Counter", "3")
    assert not screen.alerts(), screen.alerts()


def dropped(visit):
    visit.has_trouble = True
    screen = visit.screen()
    session = screen.session()
    for count in range(1, 4):
        visit.relay.drop()
        screen.button("Increment", "Counter").sent("Counter").shows("Counter", str(count))
    screen.live()
    assert screen.session() == session, "the session is another one"


def frozen(visit):
    visit.has_trouble = True
    screen = visit.screen()
    screen.button("Increment", "Counter").shows("Counter", "1")
    # The stream's connection is there and carries nothing: only the missing pings tell.
    visit.relay.freeze_streams()
    screen.button("Increment", "Counter").shows("Counter", "2").sent("Counter").live()


def refused(visit):
    visit.refusals = (422,)
    screen = visit.screen().shows("Counter", "0")
    screen.fill("Amount", "9.5", "Counter").button("Add", "Counter")
    until("the refusal is shown", lambda: any("422" in alert for alert in screen.alerts()))
    screen.shows("Counter", "0").button("Try again", "Counter")
    until("it is refused again", lambda: any("422" in alert for alert in screen.alerts()))
    screen.button("Dismiss", "Counter")
    until("the refusal is gone", lambda: not screen.alerts())
    screen.button("Increment", "Counter").shows("Counter", "1").sent("Counter")


CHECKS = {
    "a killed server comes back under the page: state and clicks are there": killed,
    "a click at the moment of the kill counts once": killed_while_clicking,
    "offline and back: clicks made offline count": offline,
    "connections that break lose no click": dropped,
    "a frozen connection is replaced": frozen,
    "a refused intent is taken back, tried again and dismissed": refused,
}
