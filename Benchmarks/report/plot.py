"""Line charts as SVG, readable on light and on dark pages, without any library."""

import math
from xml.sax.saxutils import escape

# Told apart by colour-blind readers too, on white and on near-black; each server keeps its own everywhere.
COLOURS = {
    "limit": ("#6b7280", "#9ca3af"),
    "mvi": ("#1d4ed8", "#6ea8fe"),
    "mvi-sized": ("#1d4ed8", "#6ea8fe"),
    "mvi-sqlite": ("#0f766e", "#2dd4bf"),
    "mvi-postgres": ("#0e7490", "#22d3ee"),
    "hummingbird": ("#c2410c", "#fb923c"),
    "hummingbird-sqlite": ("#c2410c", "#fb923c"),
    "node": ("#7e22ce", "#c084fc"),
    "node-sqlite": ("#7e22ce", "#c084fc"),
    "node-postgres": ("#7e22ce", "#c084fc"),
    "nchan": ("#a16207", "#facc15"),
}
DASHES = {
    "limit": "7 4", "mvi-sqlite": "2 3", "mvi-postgres": "6 3", "hummingbird-sqlite": "2 3", "node-sqlite": "2 3",
    "node-postgres": "6 3",
}
WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 78, 168, 66, 58


def number(value):
    """A short text for an axis or a table."""
    if value == 0:
        return "0"
    if abs(value) >= 1e6:
        return f"{value / 1e6:g}M"
    if abs(value) >= 10000:
        return f"{value / 1e3:g}k"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:g}"


def linear_ticks(most, count=5):
    step = 10 ** math.floor(math.log10(most / count)) if most > 0 else 1
    for factor in (1, 2, 2.5, 5, 10):
        if most / (step * factor) <= count:
            step *= factor
            break
    return [step * i for i in range(int(math.ceil(most / step - 1e-9)) + 1)]


def log_ticks(least, most):
    first, last = math.floor(math.log10(least) + 1e-9), math.ceil(math.log10(most) - 1e-9)
    return [10.0**power for power in range(first, last + 1)]


class Axis:
    def __init__(self, values, logarithmic, start, end, ticks=None):
        self.logarithmic, self.start, self.end = logarithmic, start, end
        if logarithmic:
            self.ticks = ticks or log_ticks(min(values), max(values))
        else:
            self.ticks = ticks or linear_ticks(max(values))
        self.least, self.most = self.ticks[0], self.ticks[-1]
        if ticks and logarithmic:
            self.least, self.most = min(values + [self.least]), max(values + [self.most])

    def at(self, value):
        if self.logarithmic:
            value = min(max(value, self.least), self.most)
            share = (math.log10(value) - math.log10(self.least)) / (math.log10(self.most) - math.log10(self.least))
        else:
            share = (value - self.least) / (self.most - self.least)
        return self.start + share * (self.end - self.start)


def style(names):
    light, dark = [], []
    for name in names:
        pair = COLOURS[name]
        for rules, colour in ((light, pair[0]), (dark, pair[1])):
            rules.append(f".l-{name}{{stroke:{colour}}}.t-{name}{{fill:{colour}}}")
    return (
        "<style>text{font:13px system-ui,-apple-system,'Segoe UI',sans-serif;fill:#374151}"
        ".title{font-size:16px;font-weight:600;fill:#111827}.name{font-weight:600}.page{fill:#ffffff}"
        ".grid{stroke:#e5e7eb;stroke-width:1}.line{fill:none;stroke-width:2.5;stroke-linejoin:round}"
        + "".join(light)
        + "@media (prefers-color-scheme:dark){text{fill:#c9d1d9}.title{fill:#f0f6fc}.page{fill:#0d1117}"
        ".grid{stroke:#30363d}" + "".join(dark) + "}</style>"
    )


def spread(labels, gap=17):
    """Moves labels (y, …) apart, keeping their order."""
    labels = sorted(labels)
    for i in range(1, len(labels)):
        if labels[i][0] < labels[i - 1][0] + gap:
            labels[i] = (labels[i - 1][0] + gap,) + labels[i][1:]
    excess = labels[-1][0] - (HEIGHT - BOTTOM + 6) if labels else 0
    if excess > 0:
        labels = [(label[0] - excess,) + label[1:] for label in labels]
    return labels


def chart(title, x_label, y_label, series, log_x=False, log_y=False, x_ticks=None, y_ticks=None, x_names=None, markers=True):
    """`series`: [(server, label, [(x, y), …])]; returns the SVG's text."""
    points = [point for _, _, line in series for point in line]
    x_axis = Axis([x for x, _ in points], log_x, LEFT, WIDTH - RIGHT, x_ticks)
    y_axis = Axis([y for _, y in points], log_y, HEIGHT - BOTTOM, TOP, y_ticks)
    names = x_names or {}
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">',
        style(dict.fromkeys(server for server, _, _ in series)),
        f'<rect class="page" width="{WIDTH}" height="{HEIGHT}" rx="8"/>',
        f'<text class="title" x="{LEFT - 58}" y="28">{escape(title)}</text>',
    ]
    for tick in y_axis.ticks:
        y = y_axis.at(tick)
        out.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        out.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{number(tick)}</text>')
    for tick in x_axis.ticks:
        x = x_axis.at(tick)
        out.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{HEIGHT - BOTTOM}" y2="{HEIGHT - BOTTOM + 5}"/>')
        out.append(
            f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 21}" text-anchor="middle">{escape(names.get(tick, number(tick)))}</text>'
        )
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 12}" text-anchor="middle">{escape(x_label)}</text>')
    out.append(f'<text x="{LEFT - 58}" y="{TOP - 15}">{escape(y_label)}</text>')
    labels = []
    for server, label, line in series:
        path = " ".join(f"{x_axis.at(x):.1f},{y_axis.at(y):.1f}" for x, y in line)
        dash = f' stroke-dasharray="{DASHES[server]}"' if server in DASHES else ""
        out.append(f'<polyline class="line l-{server}" points="{path}"{dash}/>')
        if markers:
            for x, y in line:
                out.append(
                    f'<circle class="t-{server}" cx="{x_axis.at(x):.1f}" cy="{y_axis.at(y):.1f}" r="4">'
                    f"<title>{escape(label)}: {number(x)}, {number(round(y, 3))}</title></circle>"
                )
        labels.append((y_axis.at(line[-1][1]), server, label))
    for y, server, label in spread(labels):
        out.append(f'<text class="name t-{server}" x="{WIDTH - RIGHT + 12}" y="{y + 4:.1f}">{escape(label)}</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"
