"""The page without a pointer."""

from deadline import until

# Whether the focus can be seen: an outline, in the viewport.
_FOCUS = """() => {
  const element = document.activeElement;
  if (!element || element === document.body) return null;
  const style = getComputedStyle(element), box = element.getBoundingClientRect();
  return {
    ...look.described(element), place: look.controls().indexOf(element),
    outline: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1,
    inView: box.width > 0 && box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth,
  };
}"""


def walk(visit):
    screen = visit.screen().complete()
    screen.tab.resize(1280, 900)
    wanted = screen.tab.run("() => look.controls().map(look.described)")
    assert len(wanted) > 40, f"only {len(wanted)} controls"
    met = []
    for _ in range(len(wanted) + 5):
        screen.tab.press("Tab")
        focus = screen.tab.run(_FOCUS)
        if focus is None or focus["place"] < 0 or (met and focus["place"] == met[0]["place"]):
            break
        met.append(focus)
        assert focus["outline"], f"the focus on {focus} cannot be seen"
        assert focus["inView"], f"{focus} has the focus and is not in view"
    missing = [each for place, each in enumerate(wanted) if place not in {focus["place"] for focus in met}]
    assert not missing, f"Tab does not reach {missing}"
    places = [focus["place"] for focus in met]
    assert places == sorted(places), f"Tab goes another way than the text: {places}"


def _tab_to(screen, role, name, presses=80):
    for _ in range(presses):
        screen.tab.press("Tab")
        focus = screen.tab.run(_FOCUS)
        if focus and (focus["role"], focus["name"]) == (role, name):
            return
    raise AssertionError(f"{presses} times Tab do not reach {role} {name!r}")


def use(visit):
    screen = visit.screen().complete().order_is_received()
    tab = screen.tab
    _tab_to(screen, "link", "Skip to the features")
    tab.press("Enter")
    _tab_to(screen, "button", "Increment")
    tab.press("Enter")
    screen.shows("Counter", "1")
    tab.press("Space")
    screen.shows("Counter", "2")
    focus = tab.run(_FOCUS)
    assert focus and focus["name"] == "Increment", f"the focus went to {focus}"
    _tab_to(screen, "textbox", "Amount")
    tab.press("End", "Backspace", "8", "Enter")
    screen.shows("Counter", "10").message("Milestone: 10")
    _tab_to(screen, "summary", "The same with curl")
    tab.press("Enter")
    screen.shows("Counter", "/features/counter/intents")
    _tab_to(screen, "combobox", "Lesson")
    tab.press("ArrowDown")
    until("the arrow chose", lambda: tab.run("() => document.activeElement.value") == "8")
    _tab_to(screen, "button", "Open")
    tab.press("Enter")
    screen.shows("Lesson", "Serve and volley")
    # A button of a view is made anew with each state; the focus is not lost with it.
    _tab_to(screen, "button", "Accept the order")
    tab.press("Space")
    screen.shows("Order", "Arrive on site")
    assert tab.run("() => document.activeElement !== document.body"), "the focus is lost with the button"
    _tab_to(screen, "checkbox", "pings")
    tab.press("Space")
    screen.arrived("ping")
    # As the first check of orders found it.
    screen.button("Cancel the order", "Order").button("Open it again", "Order").shows("Order", "Received")


CHECKS = {
    "Tab goes through every control in order, and the focus is seen": walk,
    "everything works with the keyboard alone": use,
}
