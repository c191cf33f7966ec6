"""The page on the admin port that shows what happened in a session."""

from deadline import until

_ROWS = "() => [...document.querySelectorAll('#turns li button')].map((row) => row.textContent)"
_CHOSEN = "() => document.querySelector('#detail h2')?.textContent ?? ''"


def _open(visit):
    """A session with four turns of the counter, in the inspector."""
    screen = visit.screen()
    session = screen.session()
    for _ in range(3):
        screen.button("Increment", "Counter")
    screen.shows("Counter", "3").sent("Counter")
    tab = visit.tab()
    tab.goto(visit.server.inspector)
    until("the sessions are there",
          lambda: tab.run(f"() => document.body.textContent.includes('{session}')"))
    assert "code" not in tab.run("() => location.href"), "the code is in the address"
    tab.run(f"() => {{ location.hash = '#session/{session}' }}")
    until("the turns are there", lambda: sum("increment" in row for row in tab.run(_ROWS)) == 3)
    return tab


def stepped(visit):
    tab = _open(visit)
    tab.run("() => [...document.querySelectorAll('#turns li button')].filter((row) => "
            "row.textContent.includes('increment')).at(-1).click()")
    last = tab.run(_CHOSEN)
    assert "intent increment" in last, last
    until("the change is there", lambda: "2 → 3" in tab.run("() => document.querySelector('#detail').textContent"))
    tab.press("k")
    until("the turn before is chosen", lambda: tab.run(_CHOSEN) != last)
    tab.press("j")
    until("the turn is chosen again", lambda: tab.run(_CHOSEN) == last)


def narrow(visit):
    tab = _open(visit)
    for width in (360, 768, 1280):
        tab.resize(width, 800)
        wide = tab.run("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"at {width} pixels the page scrolls sideways by {wide}"


CHECKS = {
    "the inspector shows a session's turns and what they changed, and keys step through them": stepped,
    "the inspector fits every width": narrow,
}
