"""What a screen reader is told."""

from deadline import NotYet, until
from screen import CARDS


def controls(visit):
    screen = visit.screen().complete()
    wanted = screen.tab.run("() => look.controls().map(look.described)")
    nameless = [each for each in wanted if not each["name"]]
    assert not nameless, f"controls without a name: {nameless}"
    for place, said in enumerate(wanted):
        # Browsers call the line that opens a part by different roles, or none.
        if said["role"] != "summary":
            until(f"{said['role']} {said['name']!r} is told as that", lambda: _is_told(screen, place, said))


def _is_told(screen, place, said):
    element = screen.tab.element("(place) => look.controls()[place]", place)
    role, name = screen.tab.role_and_name(element)
    # A video's button has a name of three texts, which browsers join in their own ways.
    if (role, name.replace(" ", "")) != (said["role"], said["name"].replace(" ", "")):
        # Or the page was drawn anew between the questions.
        raise NotYet(f"told as {role} {name!r}")
    return True


def outline(visit):
    screen = visit.screen().complete()
    headings = screen.tab.run("""() => [...document.querySelectorAll("h1, h2, h3, h4")].filter(look.isShown)
        .map((each) => [Number(each.tagName[1]), look.name(each)])""")
    assert [level for level, _ in headings].count(1) == 1, f"one heading of level 1: {headings}"
    assert headings[0][0] == 1, f"the first heading is the page's: {headings}"
    for (before, _), (level, name) in zip(headings, headings[1:]):
        assert level <= before + 1, f"the heading {name!r} skips a level: {headings}"
    names = [name for _, name in headings]
    assert all(card in names for card in CARDS), f"a card without a heading: {names}"
    for role, name in [("main", ""), ("region", "What arrives"), *(("article", card) for card in CARDS)]:
        element = screen.element(role, name)
        told = screen.tab.role_and_name(element)
        assert told == (role, name), f"{role} {name!r} is told as {told}"
    # The connection's words, the counter's number and the messages are said when they change.
    live = screen.tab.run("""() => [...document.querySelectorAll("[aria-live], [role=status], [role=alert]")]
        .map((each) => look.name(each) || each.innerText.trim())""")
    assert {"Live", "0", "Messages"} <= set(live), f"live regions: {live}"
    assert screen.tab.run("() => document.documentElement.lang") == "en"
    assert screen.tab.run("() => document.title.length > 0")


def tree(visit):
    visit.refusals = (422,)
    screen = visit.screen().complete()
    if not hasattr(visit.browser, "accessibility_tree"):
        # WebDriver and BiDi tell of one element at a time: the checks before did that.
        return
    nodes = visit.browser.accessibility_tree(screen.tab)
    roles = [node["role"] for node in nodes]
    for role in ("RootWebArea", "banner", "main", "region", "status"):
        assert role in roles, f"no {role} in the tree"
    assert roles.count("article") == len(CARDS)
    interactive = ("button", "textbox", "combobox", "link", "checkbox")
    nameless = [node for node in nodes if node["role"] in interactive and not node["name"]]
    assert not nameless, f"controls without a name: {nameless}"
    images = [node for node in nodes if node["role"] in ("image", "img") and not node["name"]]
    assert not images, "a picture that says nothing is not hidden"
    live = [node for node in nodes if node.get("live") in ("polite", "assertive")]
    assert any(node["name"] == "Messages" for node in live), f"the messages are no live region: {live}"
    # What is refused is said at once.
    screen.fill("Amount", "many", "Counter").button("Add", "Counter")
    until("the refusal is an assertive region", lambda: any(
        node["role"] == "alert" and node.get("live") == "assertive"
        for node in visit.browser.accessibility_tree(screen.tab)))


CHECKS = {
    "every control has a role and a name that the browser tells": controls,
    "headings, landmarks and live regions are there": outline,
    "the whole tree is sound": tree,
}
