"""The server's own figures, from /metrics on its admin port. A server without them is tried all the same."""

# Column of the samples: the metric's name. Several lines of one name, with different labels, are added up.
NAMES = {
    "server_streams": "mvi_streams_open",
    "server_requests": "mvi_requests_open",
    "server_sessions": "mvi_sessions_in_memory",
    "server_stores": "mvi_stores_in_memory",
    "server_intents": "mvi_intents_total",
}


def read(text):
    """The value of each column that the text has."""
    sums = {}
    for line in (text or "").splitlines():
        if line.startswith("#") or not line.strip():
            continue
        name, _, value = line.rpartition(" ")
        name = name.partition("{")[0].strip()
        try:
            sums[name] = sums.get(name, 0.0) + float(value)
        except ValueError:
            continue
    return {column: sums[name] for column, name in NAMES.items() if name in sums}
