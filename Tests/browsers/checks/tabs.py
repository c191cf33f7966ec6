"""Several tabs of one browser."""

from deadline import until


def two(visit):
    first, second = visit.screen(), visit.screen()
    assert first.session() == second.session(), "each tab has a session of its own"
    first.tab.activate()
    first.button("Increment", "Counter").shows("Counter", "1")
    second.shows("Counter", "1")
    second.tab.activate()
    second.button("Increment", "Counter").shows("Counter", "2")
    first.shows("Counter", "2")
    # A choice is one tab's; what another tab shows stays.
    second.choose("Lesson", "9 · Doubles tactics", "Lesson").button("Open", "Lesson").shows("Lesson", "Anneke Vogt")
    first.shows("Lesson", "with Elena Marín")
    first.tab.activate()
    first.button("Increment", "Counter").shows("Counter", "3")
    second.shows("Counter", "3").shows("Lesson", "Anneke Vogt")


def seven(visit):
    screens = [visit.screen() for _ in range(7)]
    for screen in screens:
        # From now on, also while no driver looks at the tab: what it says of its connection.
        screen.tab.run("""() => {
          const note = () => (window.conditions ??= new Set()).add(look.text("status", "")?.trim());
          note();
          new MutationObserver(note).observe(document.body, { childList: true, subtree: true, characterData: true });
        }""")
    assert len({screen.session() for screen in screens}) == 1, "the tabs have several sessions"
    for count, screen in enumerate(screens, start=1):
        screen.tab.activate()
        screen.button("Increment", "Counter").shows("Counter", str(count))
    for place, screen in enumerate(screens, start=1):
        screen.shows("Counter", "7")
        conditions = screen.tab.run("() => [...window.conditions]")
        assert conditions == ["Live"], f"tab {place} of seven said {conditions}"


def closed(visit):
    first, second = visit.screen(), visit.screen()
    # A tab that is closed before its intent is sent takes it with it.
    first.button("Increment", "Counter").shows("Counter", "1").sent("Counter")
    # If the tabs share a stream, the one that had it may be the one that goes.
    visit.tabs.remove(first.tab)
    first.tab.close()
    second.tab.activate()
    second.button("Increment", "Counter").shows("Counter", "2").live()
    third = visit.screen()
    third.shows("Counter", "2")
    third.button("Increment", "Counter").shows("Counter", "3")
    second.shows("Counter", "3")


CHECKS = {
    "two tabs are in step": two,
    "seven tabs are live and in step": seven,
    "a tab goes on when the one before it is closed": closed,
}
