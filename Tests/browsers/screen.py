"""What a person does with the page, in any browser."""

import re

from deadline import NotYet, until

CARDS = ["Counter", "User", "Lesson", "Checklist", "Order", "Conference videos"]
LOG = "Events, newest first"


class Screen:
    """The page in one tab. Elements are named by role, accessible name and card, as a screen reader says them."""

    def __init__(self, tab):
        self.tab = tab

    def open(self, url):
        """Loads the page and waits until its stream is live."""
        self.tab.goto(url)
        return self.live()

    # --- What is seen -----------------------------------------------------------------------------------------------

    def condition(self):
        """The words of the connection: 'Live', 'Reconnecting…'."""
        return (self.tab.run("() => look.text('status', '')") or "").strip()

    def live(self):
        until("the page is live", lambda: self._is("Live"))
        return self

    def not_live(self):
        until("the page sees that it is not live", lambda: self.condition() not in ("", "Live"))
        return self

    def _is(self, words):
        seen = self.condition()
        if seen != words:
            raise NotYet(seen)
        return True

    def lines(self, card):
        """The visible lines of a card."""
        text = self.tab.run("(name) => look.text('article', name)", card) or ""
        return [line.strip() for line in text.split("\n") if line.strip()]

    def shows(self, card, words):
        """Waits until a line of the card is, or contains, these words; a number must be the line."""
        def seen():
            lines = self.lines(card)
            if any(words == line or (not words.lstrip("-").isdigit() and words in line) for line in lines):
                return True
            raise NotYet(" | ".join(lines))
        until(f"the card {card!r} shows {words!r}", seen)
        return self

    def sent(self, card):
        """Waits until the server has confirmed all that the card shows."""
        def confirmed():
            if any("sending" in line for line in self.lines(card)):
                raise NotYet(self.lines(card))
            return True
        until(f"{card} has sent everything", confirmed)
        return self

    def count(self):
        """The counter's number, when its state is there: the line after its version."""
        def seen():
            lines = self.lines("Counter")
            # Without a state, the first line that is a number would be the text of a button, '−1'.
            place = next((place for place, line in enumerate(lines) if re.match(r"v\d+\b", line)), None)
            if place is None:
                raise NotYet(" | ".join(lines))
            return [int(lines[place + 1].replace("−", "-"))]
        return until("the counter has a state", seen)[0]

    def version(self, card):
        """The version that the card shows, or None."""
        found = re.search(r"\bv(\d+)", " ".join(self.lines(card)))
        return int(found.group(1)) if found else None

    def session(self):
        found = self.tab.run("() => /Session\\s+(\\S+)/.exec(document.body.innerText)?.[1]")
        return found

    def message(self, words):
        """Waits until a message, which a label became, has these words."""
        def seen():
            text = self.tab.run("() => look.text('status', 'Messages')") or ""
            if words in text:
                return True
            raise NotYet(text)
        until(f"a message says {words!r}", seen)
        return self

    def arrived(self, words):
        """Waits until the list of events has these words."""
        def seen():
            return words in (self.tab.run("(name) => look.text('list', name)", LOG) or "")
        until(f"the list of events has {words!r}", seen)
        return self

    def alerts(self):
        return self.tab.run("() => look.alerts()")

    # --- What is done -----------------------------------------------------------------------------------------------

    def element(self, role, name, card=None):
        """The element, or NotYet."""
        found = self.tab.element("(...wanted) => look.find(...wanted)", role, name, card)
        if found is None:
            raise NotYet(f"no {role} {name!r}")
        return found

    def click(self, role, name, card=None):
        """Clicks with the pointer when the element is there, enabled, and under nothing else."""
        def clicked():
            element = self.element(role, name, card)
            if not self.tab.run("(element) => !element.disabled && look.isReachable(element)", element):
                raise NotYet("disabled, or something lies on it")
            self.tab.run("(element) => look.awaitClick(element)", element)
            self.tab.click(element)
            # Browsers drop a click right after another tab was closed, and what moves on the page may take it.
            if self.tab.run("() => look.wasMet()") is False:
                raise NotYet("the click did not meet it")
            return True
        until(f"{role} {name!r} can be clicked", clicked)
        return self

    def complete(self):
        """Waits until every card shows what it has loaded."""
        return (self.shows("Conference videos", "14 videos").shows("User", "member since")
                .shows("Lesson", " left").shows("Order", "Espresso machine loses pressure")
                .shows("Order", "Appointment"))

    def order_is_received(self):
        """Brings order 42, which all clients share, back to where it begins."""
        self.shows("Order", "Espresso machine loses pressure").shows("Order", "Status")
        steps = {"Open it again": "Received", "Cancel the order": "Cancelled", "Complete the work": "Done"}

        def received():
            lines = self.lines("Order")
            if "Received" in lines and "Accept the order" in lines:
                return True
            step = next((each for each in steps if each in lines), None)
            if step:
                self.button(step, "Order").shows("Order", steps[step])
            raise NotYet(" | ".join(lines))
        until("the order is received", received)
        return self

    def button(self, name, card=None):
        return self.click("button", name, card)

    def fill(self, name, text, card=None):
        """Types a text in place of what a field has."""
        self.click("textbox", name, card)
        held = self.tab.run("(...wanted) => look.find(...wanted).value", "textbox", name, card)
        self.tab.press("End", *["Backspace"] * len(held), *text)
        return self

    def choose(self, name, option, card=None):
        """Chooses an option by its text, with the keyboard."""
        element = self.element("combobox", name, card)
        self.tab.run("(element) => element.focus()", element)
        place = self.tab.run("(element, text) => [...element.options].findIndex((each) => each.text === text)",
                             element, option)
        assert place >= 0, f"{name!r} has no option {option!r}"

        def moved():
            now = self.tab.run("(element) => element.selectedIndex", element)
            if now == place:
                return True
            self.tab.press("ArrowDown" if now < place else "ArrowUp")
            raise NotYet(f"option {now} of {place}")
        until(f"{option!r} is chosen", moved)
        return self
