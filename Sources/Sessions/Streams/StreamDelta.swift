import JSONDelta
import Locking
import MVI
import SessionJournal

/// The form in which a stream sends the change of a view state, instead of the whole state.
package enum DeltaForm: Sendable, Hashable, CaseIterable {
    /// RFC 6902.
    case jsonPatch
    /// RFC 7396.
    case mergePatch

    /// The name in a stream's query.
    package var name: String {
        switch self {
        case .jsonPatch: JSONPatch.name
        case .mergePatch: MergePatch.name
        }
    }

    fileprivate func diff(from old: [UInt8], to new: [UInt8]) -> [UInt8]? {
        // A patch event is longer than a state event by one more version.
        let limit = new.count - 12
        return switch self {
        case .jsonPatch: JSONPatch.diff(from: old, to: new, below: limit)
        case .mergePatch: MergePatch.diff(from: old, to: new, below: limit)
        }
    }
}

/// The view states that a stream of changes has sent last. It shares the stores' bytes as long as the stream keeps up;
/// a slow stream keeps one earlier view state of each feature.
struct StreamDelta {
    private struct Shown {
        let feature: FeatureID
        var version: UInt64
        var view: [UInt8]
    }

    let form: DeltaForm
    private var shown: ShortList<Shown> = []

    init(_ form: DeltaForm) { self.form = form }

    /// The version of the view state that the stream has sent last; nil if it has sent none.
    func version(of feature: FeatureID) -> UInt64? { shown.first { $0.feature == feature }?.version }

    func view(of feature: FeatureID) -> [UInt8]? { shown.first { $0.feature == feature }?.view }

    mutating func note(_ feature: FeatureID, version: UInt64, view: [UInt8]) {
        forget(feature)
        shown.append(Shown(feature: feature, version: version, view: view))
    }

    /// Makes the stream send the next view state as a whole.
    mutating func forget(_ feature: FeatureID) { shown.removeAll { $0.feature == feature } }
}

/// The identity of a patch: its feature, form and versions.
struct PatchName: Hashable {
    let feature: FeatureID
    let form: DeltaForm
    let from: UInt64
    let to: UInt64
}

/// The patch between two versions of a view state, shared by all streams of the session that have shown the first. The
/// first stream that asks computes it outside the session's lock, while the others wait.
final class SharedPatch: Sendable {
    private enum Stage {
        case wanted(old: [UInt8], new: [UInt8])
        case made([UInt8]?)
    }

    let name: PatchName
    private let stage: Lock<Stage>

    init(_ name: PatchName, old: [UInt8], new: [UInt8]) {
        self.name = name
        stage = Lock(.wanted(old: old, new: new))
    }

    /// Nil if the patch is not shorter than the whole state. The first call compares the two view states, which is
    /// slow.
    var bytes: [UInt8]? {
        stage.withLock { stage in
            if case .wanted(let old, let new) = stage { stage = .made(name.form.diff(from: old, to: new)) }
            if case .made(let bytes) = stage { return bytes }
            return nil
        }
    }
}

extension SessionCore {
    /// The patches that a stream's next step may show and that are not computed yet; none for a stream of whole states.
    mutating func wantedPatches(
        of number: UInt64, without denied: [FeatureID], beside made: [PatchName: [UInt8]?]
    ) -> [SharedPatch] {
        guard let index = streams.index(of: number), let delta = streams.all[index].delta, !streams.all[index].isOver
        else { return [] }
        var wanted: [SharedPatch] = []
        for dirty in streams.all[index].dirty where !denied.contains(dirty.feature) {
            guard let store = stores.index(of: dirty.feature), stores[store].isShowable, stores[store].shown == nil,
                let name = patchName(dirty.feature, delta, to: stores[store].version),
                made[name] == nil, let old = delta.view(of: dirty.feature)
            else { continue }
            wanted.append(stores[store].patch(name, from: old))
        }
        return wanted
    }

    /// Nil if the stream has sent no view state of the feature, or this one.
    private func patchName(_ feature: FeatureID, _ delta: StreamDelta, to version: UInt64) -> PatchName? {
        guard let from = delta.version(of: feature), from != version else { return nil }
        return PatchName(feature: feature, form: delta.form, from: from, to: version)
    }

    /// Appends the event that shows a store's view state: the patch if one was computed from the stream's last view
    /// state, otherwise the whole state.
    mutating func appendChange(
        _ store: Int, _ index: Int, _ rare: StreamState.Rare, _ patches: [PatchName: [UInt8]?],
        into bytes: inout [UInt8]
    ) {
        let slot = stores[store]
        let isStale = rare.stale.contains(slot.feature)
        let name = rare.delta.flatMap { patchName(slot.feature, $0, to: slot.version) }
        if let name, let patch = patches[name] ?? nil {
            streams.tally.patches += 1
            StreamEvents.patch(
                slot.feature, from: name.from, to: name.to, intent: slot.intent, isStale: isStale, patch, into: &bytes)
        } else {
            streams.tally.states += 1
            StreamEvents.state(
                slot.feature, version: slot.version, intent: slot.intent, isStale: isStale, slot.view, into: &bytes)
        }
        streams.all[index].rare?.delta?.note(slot.feature, version: slot.version, view: slot.view)
    }

    /// Notes that the stream has sent all that it had to show.
    mutating func noteShown(_ index: Int) {
        guard streams.all[index].delta != nil else { return }
        for dirty in streams.all[index].dirty {
            guard let slot = stores[dirty.feature], slot.shown == nil else { continue }
            streams.all[index].rare?.delta?.note(slot.feature, version: slot.version, view: slot.view)
        }
    }
}

/// The position of a stream. Two streams of a session at the same position receive the same.
struct StreamPlace: Equatable, Sendable {
    let head: SessionHead
    let nextLabel: UInt64
    let dirty: ShortList<StreamState.Dirty>
    let filter: StreamFilter
    let denied: [FeatureID]
    let isPart: Bool
    /// The versions of the features in `dirty` that a stream of changes has sent, 0 for none; nil for whole states.
    let shown: Shown?
    /// The audiences to which features in `dirty` are shown.
    let audiences: [Audience]

    struct Audience: Equatable, Sendable {
        let key: AudienceKey
        /// The version of the view that the stream has sent, and the one that it owes; nil if it has sent none.
        let seen: UInt64?
        let owed: UInt64

        init(_ key: AudienceKey, _ seen: SeenView?) {
            (self.key, self.seen, owed) = (key, seen?.version, seen?.owed ?? 0)
        }
    }

    struct Shown: Equatable, Sendable {
        let form: DeltaForm
        let versions: [UInt64]
    }

    /// Nil if it is not known what the stream's client sees.
    init?(_ core: SessionCore, _ index: Int, _ forms: StreamForms?) {
        guard let audiences = core.places(ofAudiencesOf: index, forms) else { return nil }
        self.audiences = audiences
        head = core.head
        nextLabel = core.streams.all[index].nextLabel
        dirty = core.streams.all[index].dirty
        filter = core.streams.all[index].filter
        (denied, isPart) = (core.streams.all[index].denied, core.streams.all[index].isPart)
        shown = core.streams.all[index].delta.map { [dirty] delta in
            Shown(form: delta.form, versions: dirty.map { delta.version(of: $0.feature) ?? 0 })
        }
    }
}

/// The bytes that a stream was sent at a position, shared by all streams of the session that reach it: many streams of
/// one session hold one buffer.
final class SharedStep: Sendable {
    let place: StreamPlace
    let bytes: [UInt8]
    /// The places of its labels.
    let labels: [UInt64]
    /// The number of the first label's turn.
    let firstLabel: UInt64
    /// The time at which the first of its labels expires.
    let expiry: Duration
    /// The states and labels in it.
    let tally: EventTally
    /// The views of the audience in it.
    let seen: [(view: SeenView, bytes: [UInt8])]

    init(
        _ place: StreamPlace, _ bytes: [UInt8], labels: [UInt64], firstLabel: UInt64, expiry: Duration,
        tally: EventTally, seen: [(view: SeenView, bytes: [UInt8])]
    ) {
        (self.place, self.bytes, self.labels) = (place, bytes, labels)
        (self.firstLabel, self.expiry, self.tally, self.seen) = (firstLabel, expiry, tally, seen)
    }
}

extension SessionCore {
    /// Returns the bytes for the stream if another was sent the same, and moves the stream on.
    mutating func sharedStep(
        _ index: Int, _ stream: SessionStream, now: Duration, _ forms: StreamForms?
    ) -> [UInt8]? {
        // A label that was hidden from one credential may be visible to another.
        guard let step = streams.lastStep, access == nil, streams.all[index].isAtRest,
            !streams.all[index].holdsBack,
            step.place == StreamPlace(self, index, forms),
            streams.all[index].replayThrough < step.firstLabel, now < step.expiry,
            !isAnyDirected(to: index, stream, forms)
        else { return nil }
        noteShown(index)
        for (view, bytes) in step.seen { streams.all[index].makeRare().note(view, bytes) }
        streams.all[index].dirty = []
        streams.all[index].nextLabel = outbox.endPlace
        streams.all[index].handedOut = step.labels
        if streams.all[index].isPart { streams.all[index].rare?.covered = head.number }
        streams.tally.add(step.tally)
        return step.bytes
    }

    /// Shares a stream's step, unless other streams are sent other bytes: a label that is new to one may be a
    /// repetition to another.
    mutating func share(
        _ bytes: [UInt8], _ states: ShortList<Int>, _ labels: [UInt64], of place: StreamPlace,
        with stream: StreamState, _ forms: StreamForms?, _ tally: EventTally
    ) {
        let first = labels.first.map { outbox[$0].label.id.number } ?? .max
        guard stream.replayThrough < first, !stream.holdsBack else { return }
        if outbox.directedEnd > outbox.firstPlace, labels.contains(where: { outbox[$0].label.to != nil }) { return }
        let expiry = labels.reduce(Duration.nanoseconds(Int64.max)) { min($0, outbox[$1].expiry) }
        let seen = forms.map { forms in states.compactMap { seenView(stores[$0].feature, stream, forms) } } ?? []
        streams.lastStep = SharedStep(
            place, bytes, labels: labels, firstLabel: first, expiry: expiry, tally: tally, seen: seen)
    }
}
