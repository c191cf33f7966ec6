"""The scenarios. Those that take longest are registered first, so that they begin first."""

from . import slow  # noqa: F401
from . import backoff, shared, parsing, golden, sessions, refusals, goaway, events, presence, patches, identity, watching, intents, queueing, kept  # noqa: F401
