// Finds what a person finds: elements by role and accessible name, and their visible text. Only for finding: what a
// screen reader is told is asked of the browser itself, and compared with this.
(() => {
  const tidy = (text) => (text ?? "").replace(/\s+/g, " ").trim();
  // Also false for what a closed part hides.
  const isShown = (element) => element.checkVisibility({ visibilityProperty: true }) && element.getClientRects().length > 0;

  const roles = {
    A: "link", ARTICLE: "article", BUTTON: "button", FORM: "form", H1: "heading", H2: "heading", H3: "heading",
    MAIN: "main", OL: "list", SELECT: "combobox", SUMMARY: "summary", UL: "list",
  };

  function role(element) {
    const said = element.getAttribute("role");
    if (said) return said;
    if (element.tagName === "INPUT") return element.type === "checkbox" ? "checkbox" : "textbox";
    if (element.tagName === "SECTION") return name(element) ? "region" : null;
    return roles[element.tagName] ?? null;
  }

  function name(element) {
    const by = element.getAttribute("aria-labelledby");
    if (by) return tidy(by.split(/\s+/).map((id) => document.getElementById(id)?.textContent).join(" "));
    const said = element.getAttribute("aria-label");
    if (said) return tidy(said);
    if (element.labels?.length > 0) return tidy([...element.labels].map((label) => label.textContent).join(" "));
    return ["A", "BUTTON", "H1", "H2", "H3", "SUMMARY"].includes(element.tagName) ? tidy(element.textContent) : "";
  }

  /** The shown element with this role and name, inside the article or region of the name `within` if there is one. */
  function find(wanted, called, within) {
    let root = document;
    if (within) root = find("article", within) ?? find("region", within);
    if (!root) return null;
    return [...root.querySelectorAll("*")].find(
      (element) => role(element) === wanted && name(element) === called && isShown(element)) ?? null;
  }

  const controls = () => [...document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")]
    .filter((element) => isShown(element) && !element.disabled);

  return {
    find, role, name, isShown, controls,
    text: (...wanted) => find(...wanted)?.innerText ?? null,
    /** What a person sees of every problem that is shown as an alert. */
    alerts: () => [...document.querySelectorAll("[role=alert]")].filter(isShown).map((alert) => tidy(alert.innerText)),
    described: (element) => ({ role: role(element), name: name(element) }),

    /** Notes whether the next click meets the element, or what the page has drawn in its place: see `wasMet`. */
    awaitClick(element) {
      const [wantedRole, wantedName] = [role(element), name(element)];
      const isWanted = (met) => met === element
        || (met instanceof Element && role(met) === wantedRole && name(met) === wantedName);
      const labels = [...(element.labels ?? [])];
      window.clickMet = false;
      addEventListener("click", (event) => {
        window.clickMet = event.composedPath().some((met) => isWanted(met) || labels.includes(met));
      }, { capture: true, once: true });
    },

    wasMet: () => window.clickMet,

    /** Whether a pointer at the middle of the element would meet it; brings it into view first. */
    isReachable(element) {
      element.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
      const box = element.getBoundingClientRect();
      const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
      const met = x >= 0 && y >= 0 && x < innerWidth && y < innerHeight ? document.elementFromPoint(x, y) : null;
      return met !== null && (element.contains(met) || [...(element.labels ?? [])].some((label) => label.contains(met)));
    },
  };
})()
