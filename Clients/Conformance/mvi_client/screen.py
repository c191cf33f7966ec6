"""What was shown: states with their versions, and the ids of labels."""

from collections import OrderedDict

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

    def hello(self, session, epoch):
        """A new stream; returns whether it is of another session or epoch than the one before."""
        self.fresh.clear()
        if self.life == (session, epoch):
            return False
        is_another = self.life is not None
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

    def label(self, data):
        """A label, shown once."""
        label_id, feature, replay, label = data["id"], data["feature"], data["replay"], data["label"]
        if label_id in self.labels:
            return
        self.labels[label_id] = None
        if len(self.labels) > MOST_LABELS:
            self.labels.popitem(last=False)
        self.show("label", feature=feature, id=label_id, replay=replay, label=label)


def int_of(value):
    if not isinstance(value, int):
        raise TypeError("a version is a number")
    return value
