"""Small windows, large letters, dark colours."""

from deadline import NotYet, until
from screen import CARDS, Screen

# Elements that stick out of the window, and controls that a finger or a pointer cannot get at.
_OVERFLOW = """() => {
  const wide = document.documentElement.clientWidth;
  const out = [...document.body.querySelectorAll("*")].filter((element) => {
    const box = element.getBoundingClientRect();
    return look.isShown(element) && box.width > 1 && box.right > 0 && (box.right > wide + 1 || box.left < -1);
  });
  return {
    scrolls: document.documentElement.scrollWidth - wide,
    out: out.slice(0, 5).map((element) => `${element.tagName} ${element.textContent.trim().slice(0, 40)}`),
  };
}"""
_UNREACHABLE = """() => look.controls().filter((element) => {
  if (element.matches("a[href^='#']")) return false;
  // A label is a part of what can be hit. A line of text may be as low as it is.
  const boxes = [element, ...(element.labels ?? [])].map((each) => each.getBoundingClientRect());
  const largest = (side) => Math.max(...boxes.map((box) => box[side]));
  const isLine = element.matches("summary, [type=checkbox]");
  return !look.isReachable(element) || largest("width") < 24 || (largest("height") < 24 && !isLine);
}).map(look.described)"""

# The contrast of each text with what lies under it (https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio).
_CONTRAST = """() => {
  const channels = (colour) => (colour.match(/[\\d.]+/g) ?? []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, place) => sum + c * [0.2126, 0.7152, 0.0722][place], 0);
  const ground = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const found = channels(getComputedStyle(each).backgroundColor);
      if (found.length === 3 || found[3] === 1) return found;
    }
    return [255, 255, 255];
  };
  const weak = [];
  for (const element of document.body.querySelectorAll("*")) {
    const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== "");
    if (!hasText || !look.isShown(element) || element.disabled || element.matches("option")) continue;
    const [a, b] = [light(channels(getComputedStyle(element).color)), light(ground(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) weak.push(`${ratio.toFixed(2)}: ${element.textContent.trim().slice(0, 40)}`);
  }
  return weak;
}"""


def _is_sound(screen):
    # A message covers what is below it for a few seconds.
    until("nothing overflows", lambda: _is(screen.tab.run(_OVERFLOW), {"scrolls": 0, "out": []}))
    until("everything is reachable", lambda: _is(screen.tab.run(_UNREACHABLE), []))


def _is(seen, wanted):
    if seen != wanted:
        raise NotYet(seen)
    return True


def phone(visit):
    tab = visit.tab()
    tab.resize(360, 740)

    screen = Screen(tab).open(visit.url)
    assert tab.run("() => innerWidth") == 360, f"the window is {tab.run('() => innerWidth')} wide"
    screen.complete()
    _is_sound(screen)
    screen.button("Increment", "Counter").shows("Counter", "1")
    screen.fill("Amount", "9007199254740990", "Counter").button("Add", "Counter").shows("Counter", "9007199254740991")
    screen.click("summary", "The same with curl", "Counter").button("Open maps", "Lesson").message("Would open maps")
    _is_sound(screen)


def zoomed(visit):
    screen = visit.screen()
    visit.browser.zoom(screen.tab, 1280, 900, 2)
    assert screen.tab.run("() => innerWidth") == 640
    screen.complete()
    _is_sound(screen)
    for card in CARDS:
        assert screen.lines(card), f"{card} is empty"
    screen.button("Increment", "Counter").shows("Counter", "1")


def light(visit):
    screen = visit.screen().complete()
    assert not screen.tab.run("() => matchMedia('(prefers-color-scheme: dark)').matches")
    weak = screen.tab.run(_CONTRAST)
    assert not weak, f"texts that are hard to read: {weak}"


def dark(visit):

    screen = Screen(visit.dark_tab()).open(visit.url)
    screen.complete()
    assert screen.tab.run("() => matchMedia('(prefers-color-scheme: dark)').matches"), "the browser is not dark"
    ground = screen.tab.run("() => getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    assert max(ground[:3]) < 80, f"the page stays light: {ground}"
    weak = screen.tab.run(_CONTRAST)
    assert not weak, f"texts that are hard to read: {weak}"


CHECKS = {
    "on a phone of 360 pixels nothing overflows and everything is reachable": phone,
    "zoomed to 200 % nothing overflows and everything is reachable": zoomed,
    "texts have contrast": light,
    "dark mode is dark, and texts have contrast": dark,
}
