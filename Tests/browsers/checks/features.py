"""Each demo feature, used as a person uses it."""

from deadline import until
from visit import Visit


def counter(visit):
    visit.refusals = (422,)
    screen = visit.screen().shows("Counter", "0")
    screen.button("Increment", "Counter").shows("Counter", "1")
    screen.button("Decrement", "Counter").shows("Counter", "0")
    screen.fill("Amount", "20", "Counter").button("Add", "Counter")
    screen.shows("Counter", "20").message("Milestone: 20").arrived("label counter")
    version = screen.version("Counter")
    screen.button("Load a number", "Counter")
    until("a number is loaded", lambda: screen.version("Counter") >= version + 2)
    # A number beyond what JavaScript can hold goes as it was typed.
    screen.fill("Amount", "9007199254740993", "Counter").button("Add", "Counter").shows("Counter", "9007199254740991")
    screen.fill("Amount", "many", "Counter").button("Add", "Counter")
    until("the refusal is shown", lambda: any("422" in alert for alert in screen.alerts()))
    screen.button("Decrement", "Counter").shows("Counter", "9007199254740990")
    until("the refusal goes with the next click", lambda: not screen.alerts())


def user(visit):
    screen = visit.screen().shows("User", "member since").shows("User", "@")
    version = screen.version("User")
    screen.button("Reload", "User")
    until("the profile is loaded again", lambda: screen.version("User") >= version + 2)
    screen.shows("User", "member since")
    screen.button("Load", "User").arrived('{"type":"load"}').shows("User", "member since")


def lesson(visit):
    visit.refusals = (404,)
    screen = visit.screen().shows("Lesson", "with Elena Marín")
    has_place = any("You have a place" in line for line in screen.lines("Lesson"))
    for _ in range(2):
        # There and back, so that the next check finds the lesson as this one did.
        if has_place:
            screen.button("Cancel my place", "Lesson").message("Your place is canceled")
            screen.shows("Lesson", "You have no place")
        else:
            screen.button("Book again", "Lesson").message("Your place is booked").shows("Lesson", "You have a place")
            screen.button("Resend confirmation", "Lesson").message("Confirmation sent to")
        has_place = not has_place
    screen.button("Open maps", "Lesson").message("Would open maps at")
    screen.button("Add to calendar", "Lesson").message("Would add to the calendar: Padel for beginners")
    screen.button("Load again", "Lesson").shows("Lesson", "with Elena Marín")
    screen.choose("Lesson", "8 · Serve and volley", "Lesson").button("Open", "Lesson")
    screen.shows("Lesson", "with Bram de Wit").shows("Lesson", "lesson-detail:8")
    screen.choose("Lesson", "99 · does not exist", "Lesson").button("Open", "Lesson")
    until("the refusal is shown", lambda: any("404" in alert for alert in screen.alerts()))
    screen.shows("Lesson", "lesson-detail:8").live()


def order(visit):
    screen = visit.screen().order_is_received().shows("Order", "Group head")
    screen.button("Accept the order", "Order").message("The order is accepted").shows("Order", "Accepted")
    screen.button("Arrive on site", "Order").shows("Order", "On site")
    screen.button("Complete the work", "Order").shows("Order", "Done")
    screen.button("Open it again", "Order").message("The order is open again").shows("Order", "Received")
    version = screen.version("Order")
    screen.button("Refresh all data", "Order")
    until("the sections are loaded again", lambda: screen.version("Order") > version + 3)
    screen.choose("Order", "44 · Buchladen Anders", "Order").button("Open", "Order")
    screen.shows("Order", "Door opener stuck").shows("Order", "order-detail:44")


def videos(visit):
    card = "Conference videos"
    screen = visit.screen().shows(card, "14 videos").shows(card, "views")
    views = next(line for line in screen.lines(card) if line.endswith("views"))
    name = screen.tab.run("""() => look.controls().map(look.name)
        .find((name) => name.startsWith("Accessible by default"))""")
    screen.button(name, card).message("Would open “Accessible by default”")
    until("the view is counted", lambda: views not in screen.lines(card))
    if visit.browser.can_hold:
        _press_while_loading(screen, card, "Idempotency keys in anger")
    screen.button("Appear again", card).shows(card, "14 videos")
    version = screen.version(card)
    screen.button("Load again", card)
    until("the list is loaded again", lambda: screen.version(card) >= version + 2)
    screen.shows(card, "14 videos")


def _press_while_loading(screen, card, title):
    """A list that is loaded while the pointer is down on it does not take the click away."""
    name = screen.tab.run("(title) => look.controls().map(look.name).find((name) => name.startsWith(title))", title)
    version, element = screen.version(card), screen.element("button", name, card)
    screen.tab.run("""() => {
      setTimeout(() => look.find("button", "Load again", "Conference videos").click(), 300);
    }""")
    screen.tab.hold(element, 3)
    screen.message(f"Would open “{title}”")
    until("the list was loaded", lambda: screen.version(card) >= version + 2)


def checklist(visit):
    """Two browsers, each with a session of its own, share the list, which is there before and after the check."""
    other = Visit(visit.browser, visit.server)
    try:
        mine, theirs = visit.screen(), other.screen()
        assert mine.session() != theirs.session(), "both have one session"
        item = f"milk {mine.session()}"
        mine.shows("Checklist", "Here now: guest-").shows("Checklist", ", guest-")
        mine.tab.activate()
        mine.fill("Item", item, "Checklist").button("Add to the list", "Checklist").shows("Checklist", item)
        theirs.shows("Checklist", item).shows("Checklist", "from guest-")
        theirs.tab.activate()
        theirs.click("checkbox", item, "Checklist").shows("Checklist", "done by guest-")
        mine.shows("Checklist", "done by guest-")
        mine.tab.activate()
        mine.button("Clear what is done", "Checklist").message("cleared one item")
        theirs.message("cleared one item")
        until("the item is gone", lambda: item not in theirs.lines("Checklist"))
    finally:
        other.close()


def log(visit):
    screen = visit.screen().arrived("hello").arrived("state counter")
    until("the box is ticked", lambda: _ticked(screen))
    screen.arrived("ping")
    screen.button("Clear", "What arrives")
    until("the list is empty", lambda: "hello" not in screen.tab.run("(name) => look.text('list', name)",
                                                                   "Events, newest first"))
    screen.click("summary", "The same with curl", "Counter")
    screen.shows("Counter", "/features/counter/intents")


def _ticked(screen):
    if not screen.tab.run("(element) => element.checked", screen.element("checkbox", "pings")):
        screen.click("checkbox", "pings")
    return screen.tab.run("(element) => element.checked", screen.element("checkbox", "pings"))


CHECKS = {
    "the counter counts, loads, publishes milestones and refuses what is no number": counter,
    "the user's profile loads and reloads": user,
    "a lesson's place is booked and cancelled, and another lesson is opened": lesson,
    "an order goes through its steps": order,
    "videos are listed and opened": videos,
    "two browsers share a checklist": checklist,
    "what arrives is listed": log,
}
