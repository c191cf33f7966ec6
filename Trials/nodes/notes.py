"""What the clients of a trial write down together."""


class Notes:
    """What all clients of a trial have seen together. Times in seconds."""

    def __init__(self, figures):
        self.figures = figures
        self.waits, self.first_tries = [], []
        self.acknowledged = self.sent_again = self.replayed = self.lost_connections = 0
        self.statuses, self.problems = {}, {}
        self.streams = self.resumed = self.resumed_elsewhere = self.resets = self.labels = self.repeated = 0
        self.reset_reasons, self.goaways, self.gaps, self.delays = {}, {}, [], []
        self.epochs = 0
        # Streams that ended without a word.
        self.cut = 0
        self.reads = self.old_reads = 0
        self.oldest_read = 0.0
        self.wrong_not_modified = []
        self.wrong = []
        self.away = {}

    def count(self, table, key):
        table[key] = table.get(key, 0) + 1

    def say(self, what):
        """Something that must not be."""
        self.wrong.append(what)
        self.figures.fault(what)
