"""What was shown: states with their versions, and the ids of labels."""

import asyncio
import math
from collections import OrderedDict, deque

from . import patches

MOST_LABELS = 1000


class Stale(Exception):
    """A patch does not fit what was shown."""


class Screen:
    """Decides what to show. `show(what, **members)` is called with what is new."""

    def __init__(self, show):
        self.show = show
        self.life = None
        self.versions = {}
        self.states = {}
        # The features that had a state since hello.
        self.fresh = set()
        self.labels = OrderedDict()
        # The labels that nobody reads yet, with their ends, by feature.
        self.unread = {}
        # Who looks at the features that have told it.
        self.presences = {}

    def hello(self, session, epoch):
        """A new stream; returns whether it is of another session or epoch than the one before."""
        self.fresh.clear()
        if self.life == (session, epoch):
            return False
        is_another = self.life is not None
        if is_another and self.life[0] != session:
            self.forget_presences()
        self.life = (session, epoch)
        self.versions.clear()
        self.labels.clear()
        return is_another

    def state(self, data):
        """A whole state."""
        feature, version, state = data["feature"], int_of(data["version"]), data["state"]
        if feature in self.fresh and version < self.versions[feature]:
            return
        self.keep(feature, version, state)

    def patch(self, data, delta):
        """A patch; raises Stale if it does not fit."""
        feature, start, to, patch = data["feature"], int_of(data["from"]), int_of(data["to"]), data["patch"]
        if feature not in self.fresh or self.versions[feature] != start:
            raise Stale
        try:
            state = (patches.merge if delta == "merge-patch" else patches.apply)(self.states[feature], patch)
        except patches.PatchError as error:
            raise Stale from error
        self.keep(feature, to, state)

    def keep(self, feature, version, state):
        self.fresh.add(feature)
        self.versions[feature] = version
        self.states[feature] = state
        self.show("state", feature=feature, version=version, state=state)

    def presence(self, data):
        """All who look at a feature, shown if they are not those from before."""
        count, viewers = int_of(data["count"]), data["viewers"]
        if not isinstance(viewers, list):
            raise TypeError("viewers are a list")
        self.set_presence(data["feature"], {"count": count, "viewers": viewers})

    def set_presence(self, feature, presence):
        if presence != self.presences.get(feature):
            self.presences[feature] = presence
            self.show("presence", feature=feature, presence=presence)

    def forget_presences(self):
        """What is known is another session's."""
        for feature in self.presences:
            self.set_presence(feature, None)

    def label(self, data):
        """A label, shown once."""
        label_id, feature, replay, label = data["id"], data["feature"], data["replay"], data["label"]
        if label_id in self.labels:
            return
        self.labels[label_id] = None
        if len(self.labels) > MOST_LABELS:
            self.labels.popitem(last=False)
        members = {"feature": feature, "id": label_id, "replay": replay, "label": label}
        if feature not in self.unread:
            return self.show("label", **members)
        end = asyncio.get_running_loop().time() + data.get("expiresIn", math.inf)
        self.unread[feature].append((end, members))

    def leave_unread(self, feature):
        """Keeps labels until they are read."""
        self.unread.setdefault(feature, deque(maxlen=MOST_LABELS))

    def read(self, feature):
        """Shows the labels that wait and are still of use, and later ones."""
        now = asyncio.get_running_loop().time()
        for end, members in self.unread.pop(feature, ()):
            if now < end:
                self.show("label", **members)


def int_of(value):
    if not isinstance(value, int):
        raise TypeError("a version is a number")
    return value
