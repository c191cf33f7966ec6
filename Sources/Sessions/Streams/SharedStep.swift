import Locking
import SessionJournal

/// Where a stream stands: two of one session that stand at the same place are told the same.
struct StreamPlace: Equatable, Sendable {
    let head: SessionHead
    let nextLabel: UInt64
    let dirty: ShortList<StreamState.Dirty>
    let filter: StreamFilter
    let denied: [FeatureID]
    /// What a stream that is told of changes has shown of the features in `dirty`, 0 where nothing; nil for whole states.
    let shown: Shown?

    struct Shown: Equatable, Sendable {
        let form: DeltaForm
        let versions: [UInt64]
    }

    init(_ core: SessionCore, _ index: Int) {
        head = core.head
        nextLabel = core.streams[index].nextLabel
        dirty = core.streams[index].dirty
        filter = core.streams[index].filter
        denied = core.streams[index].denied
        shown = core.streams[index].delta.map { [dirty] delta in
            Shown(form: delta.form, versions: dirty.map { delta.version(of: $0.feature) ?? 0 })
        }
    }
}

/// What a stream was told at a place, made once for all streams of the session that come by there: the many that show one
/// session hold one buffer.
final class SharedStep: Sendable {
    let place: StreamPlace
    let bytes: [UInt8]
    /// The places of the labels in it.
    let labels: [UInt64]
    /// The number of the first one's turn.
    let firstLabel: UInt64
    /// When the first of them is past its time.
    let expiry: Duration
    /// The states and labels in it.
    let tally: EventTally

    init(
        _ place: StreamPlace, _ bytes: [UInt8], labels: [UInt64], firstLabel: UInt64, expiry: Duration,
        tally: EventTally
    ) {
        (self.place, self.bytes, self.labels) = (place, bytes, labels)
        (self.firstLabel, self.expiry, self.tally) = (firstLabel, expiry, tally)
    }
}

extension SessionCore {
    /// What the stream is to be told, if another was told just that; the stream moves on.
    mutating func sharedStep(_ index: Int, now: Duration) -> [UInt8]? {
        // What was hidden from one credential is not from another.
        guard let step = streams.lastStep, access == nil, streams[index].isAtRest, streams[index].leftOut.isEmpty,
            step.place == StreamPlace(self, index),
            streams[index].replayThrough < step.firstLabel, now < step.expiry
        else { return nil }
        noteShown(index)
        streams[index].dirty = []
        streams[index].nextLabel = outbox.endPlace
        streams[index].handedOut = step.labels
        streams.tally.add(step.tally)
        return step.bytes
    }

    /// Keeps what a stream was told, unless it is told others in another way: what is new to one may be a repetition to
    /// another.
    mutating func share(
        _ bytes: [UInt8], _ labels: [UInt64], of place: StreamPlace, with stream: StreamState, _ tally: EventTally
    ) {
        let first = labels.first.map { outbox[$0].label.id.number } ?? .max
        guard stream.replayThrough < first, stream.leftOut.isEmpty else { return }
        let expiry = labels.reduce(Duration.nanoseconds(Int64.max)) { min($0, outbox[$1].expiry) }
        streams.lastStep = SharedStep(
            place, bytes, labels: labels, firstLabel: first, expiry: expiry, tally: tally)
    }
}
