"""Draws a Grafana dashboard's panels in their places, from a Prometheus: a picture of it where there is no Grafana.

usage: draw.py DASHBOARD.json PROMETHEUS_URL SECONDS END PICTURE.png, with the end in seconds since 1970

Fails if a panel's question is wrong, or if none of the panels of a row has an answer.
"""

import json
import re
import sys
import urllib.parse
import urllib.request

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot, ticker  # noqa: E402

UNITS = {
    "s": lambda value, _: f"{value * 1e3:g} ms" if value < 1 else f"{value:g} s",
    "ops": lambda value, _: f"{value:g}/s",
    "bytes": lambda value, _: f"{value / 2**20:.0f} MiB",
    "percentunit": lambda value, _: f"{value:.0%}",
}


def ask(url, expression, start, end):
    expression = (
        expression.replace("$__rate_interval", "5s").replace("$job", "mvi").replace("$instance", ".*")
    )
    query = urllib.parse.urlencode({"query": expression, "start": start, "end": end, "step": 1})
    with urllib.request.urlopen(f"{url}/api/v1/query_range?{query}", timeout=10) as answer:
        return json.load(answer)["data"]["result"]


def legend(form, labels):
    return re.sub(r"\{\{(\w+)\}\}", lambda found: labels.get(found[1], ""), form)


def draw(figure, panel, bottom, height, url, start, end):
    """Whether anything is shown."""
    place = panel["gridPos"]
    axes = figure.add_axes(
        (place["x"] / 24 + 0.035, 1 - (place["y"] + place["h"] - 1.4) / height,
         place["w"] / 24 - 0.05, (place["h"] - 3.0) / height)
    )
    axes.set_title(panel["title"], loc="left", fontsize=9, fontweight="bold", color="#d8d9da")
    count, top = 0, 0
    for target in panel["targets"]:
        for series in ask(url, target["expr"], start, end):
            points = [(float(at) - start, float(value)) for at, value in series["values"] if value != "NaN"]
            if not points:
                continue
            # Counters of what never happened are a line at nought, and crowd the legend out.
            if len(series["metric"]) > 0 and max(value for _, value in points) == 0:
                continue
            top = max(top, *(value for _, value in points))
            axes.plot(*zip(*points), linewidth=1, label=legend(target["legendFormat"], series["metric"]))
            count += 1
    axes.set_xlim(0, end - start)
    axes.set_ylim(0, top * 1.1 or 1)
    axes.set_facecolor("#181b1f")
    axes.grid(color="#2c3235", linewidth=0.5)
    axes.tick_params(colors="#9fa7b3", labelsize=7)
    for side in axes.spines.values():
        side.set_color("#2c3235")
    unit = panel["fieldConfig"]["defaults"]["unit"]
    if unit in UNITS:
        axes.yaxis.set_major_formatter(ticker.FuncFormatter(UNITS[unit]))
    if count:
        axes.legend(
            loc="upper left", bbox_to_anchor=(0, -0.14), ncols=4, fontsize=6.5, frameon=False, labelcolor="#9fa7b3",
            borderaxespad=0,
        )
    return count > 0


def main():
    dashboard, url, seconds, end, picture = json.load(open(sys.argv[1], encoding="utf-8")), *sys.argv[2:]
    end = int(end)
    start = end - int(seconds) - 3
    panels = dashboard["panels"]
    height = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in panels) + 1
    figure = pyplot.figure(figsize=(16, height * 0.36), facecolor="#111217")
    shown, row, empty = {}, "", []
    for panel in panels:
        if panel["type"] == "row":
            row = panel["title"]
            figure.text(0.01, 1 - (panel["gridPos"]["y"] + 0.9) / height, row, fontsize=11, color="#d8d9da")
            continue
        has = draw(figure, panel, 0, height, url, start, end)
        shown[row] = shown.get(row, False) or has
        if not has:
            empty.append(panel["title"])
    figure.savefig(picture, dpi=110, facecolor=figure.get_facecolor())
    print(f"{picture}: {sum(panel['type'] != 'row' for panel in panels)} panels; nothing happened in: {', '.join(empty) or 'none'}")
    return 0 if all(shown.values()) else 1


sys.exit(main())
