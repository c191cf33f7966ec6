import Locking
import MVI
import SessionJournal

/// The view of its audience that a stream has sent last.
struct SeenView {
    let feature: FeatureID
    let key: AudienceKey
    let version: UInt64
    /// The version of an answer to the stream's client, which waits for it: also an equal view is sent then.
    var owed: UInt64 = 0
}

/// The parts of a stream's next step that are made outside the session's lock. A class, since most steps have none.
final class StreamForms {
    /// The view of a stream's audience.
    struct Made {
        enum Outcome {
            case view(AudienceKey, AudienceView, patch: (from: UInt64, bytes: [UInt8])?)
            /// It is not known now which audience the client belongs to.
            case unclear
            /// The feature's code made what cannot be shown.
            case broken
            /// Too many audiences watch the store.
            case noRoom
        }

        let feature: FeatureID
        let shown: ShownState
        let outcome: Outcome

        /// The number of bytes of the view.
        var size: Int { if case .view(_, let view, _) = outcome { view.bytes.count } else { 0 } }
    }

    var patches: [PatchName: [UInt8]?] = [:]
    /// By the access generation below.
    var views: ShortList<Made> = []
    var generation: UInt64 = 0
    /// True if the audiences that the stream has seen are those of that generation.
    var areAudiencesKnown = true
    /// The JSON of its audiences by that generation; nil unless labels are directed to somebody.
    var audiences: [FeatureID: [UInt8]]?

    func made(_ feature: FeatureID) -> Made? { views.first { $0.feature == feature } }
}

extension SessionStream {
    private static let patchAttempts = 3

    /// Patches and views of audiences are made outside the session's lock. A change meanwhile requires other patches: after
    /// a few attempts the whole state is shown. A view is shown although there is a newer one.
    func nextStepOfChanges(now: Duration) -> StreamStep {
        let forms = StreamForms()
        var attempts = 0
        while true {
            let generation = accessGeneration
            if generation != forms.generation { (forms.views, forms.audiences) = ([], nil) }
            forms.generation = generation
            forms.areAudiencesKnown = !hasAudiences || audiences.withLock { $0.generation } == generation
            typealias Attempt = (step: StreamStep?, patches: [SharedPatch], views: [WantedView])
            let attempt = session.judging(filter, of: client) { core, access -> Attempt in
                guard accessGeneration == generation else { return (nil, [], []) }
                let views = hasAudiences ? core.wantedViews(of: number, without: access.denied, forms) : []
                let patches =
                    attempts < Self.patchAttempts
                    ? core.wantedPatches(of: number, without: access.denied, beside: forms.patches) : []
                guard views.isEmpty, patches.isEmpty, !core.wantsAudiences(of: number, forms) else {
                    return (nil, patches, views)
                }
                return (core.nextStep(of: self, now: now, access, forms), [], [])
            }
            if let step = attempt.step {
                audiences.withLock { $0.generation = generation }
                return step
            }
            if attempt.views.isEmpty, attempt.patches.isEmpty {
                forms.audiences = audiencesAsJSON(areKnown: forms.areAudiencesKnown)
                continue
            }
            attempts += 1
            // A view may be of a store that the stream did not show before.
            if !attempt.views.isEmpty { forms.audiences = nil }
            for patch in attempt.patches { forms.patches[patch.name] = .some(patch.bytes) }
            for view in attempt.views { forms.views.append(make(view, areAudiencesKnown: forms.areAudiencesKnown)) }
        }
    }

    /// A view that has to be made for a stream.
    struct WantedView {
        let feature: FeatureID
        let shown: ShownState
        /// The view that the stream has sent last.
        let seen: SeenView?
        let old: [UInt8]?
        let form: DeltaForm?
    }

    /// The audiences that a stream shows stores to.
    struct Audiences {
        /// The access generation of its client by which they were judged.
        var generation: UInt64?
        var uses: [FeatureID: AudienceUse] = [:]
    }

    /// The access generation of the client's session: who the client is changes with it.
    var accessGeneration: UInt64 { (client.caller ?? session).accessGeneration.load(ordering: .acquiring) }

    /// Takes a place among the audiences of the stores that it shows. Returns false if one of them has none.
    func entersAudiences() -> Bool {
        guard hasAudiences else { return true }
        let shown = session.core.withLock { core in
            core.stores.compactMap { slot in
                filter.shows(slot.feature) ? slot.shown.map { (slot.feature, $0.book) } : nil
            }
        }
        let viewers = shown.isEmpty ? [] : session.viewers(of: client)
        return shown.allSatisfy { feature, book in book.audience(of: viewers).map { enter(feature, book, $0) } ?? true }
    }

    private func enter(_ feature: FeatureID, _ book: AudienceBook, _ key: AudienceKey) -> Bool {
        let known = audiences.withLock { $0.uses[feature] }
        if let known, known.book === book, known.key == key { return true }
        let use = AudienceUse(book, key, from: client.address) { [weak self] in self?.goAway(.busy) }
        // The former one is released after the lock.
        let former = audiences.withLock { audiences in
            defer { audiences.uses[feature] = use }
            return audiences.uses[feature]
        }
        withExtendedLifetime(former) {}
        return use != nil
    }

    /// Makes a view for the stream's audience. Calls the feature's code.
    ///
    /// - Parameter areAudiencesKnown: true if the client is who it was at the last step.
    func make(_ wanted: WantedView, areAudiencesKnown: Bool) -> StreamForms.Made {
        StreamForms.Made(
            feature: wanted.feature, shown: wanted.shown, outcome: outcome(of: wanted, areAudiencesKnown))
    }

    private func outcome(of wanted: WantedView, _ areAudiencesKnown: Bool) -> StreamForms.Made.Outcome {
        let book = wanted.shown.book
        var known = areAudiencesKnown ? audiences.withLock { $0.uses[wanted.feature] } : nil
        if known?.book !== book { known = nil }
        guard let key = known?.key ?? book.audience(of: session.viewers(of: client)) else { return .unclear }
        guard known != nil || enter(wanted.feature, book, key) else { return .noRoom }
        do throws(StoreError) {
            let view = try book.view(of: wanted.shown, for: key)
            guard let form = wanted.form, let seen = wanted.seen, seen.key == key, let old = wanted.old,
                seen.version < view.versions.lowerBound,
                let patch = book.patch(form, of: wanted.feature, from: seen.version, old, to: view, for: key)
            else { return .view(key, view, patch: nil) }
            return .view(key, view, patch: (seen.version, patch))
        } catch {
            let failure = Failure(stage: .view, intentID: .bootstrap, error: error)
            session.shared.report(.failure(failure, in: session.place(of: wanted.feature)))
            return .broken
        }
    }
}

extension SessionCore {
    /// The views that a stream's next step shows and that are not made.
    func wantedViews(
        of number: UInt64, without denied: [FeatureID], _ forms: StreamForms
    ) -> [SessionStream.WantedView] {
        guard let index = streams.index(of: number), !streams.all[index].isOver,
            streams.all[index].farewell?.last != nil
                || streams.all[index].farewell == nil
        else { return [] }
        let stream = streams.all[index]
        if forms.views.isEmpty, canShare(index, forms) { return [] }
        return stores.compactMap { slot in
            guard let shown = slot.shown, slot.isShowable, stream.filter.shows(slot.feature),
                !denied.contains(slot.feature), forms.made(slot.feature) == nil,
                !forms.areAudiencesKnown || stream.dirty.contains(where: { $0.feature == slot.feature })
            else { return nil }
            return SessionStream.WantedView(
                feature: slot.feature, shown: shown, seen: stream.seen(slot.feature),
                old: stream.delta?.view(of: slot.feature), form: stream.delta?.form)
        }
    }

    /// Has a stream show again what another audience was shown. Returns false if it has to end: too many audiences watch one
    /// of its stores.
    mutating func noteAudiences(_ index: Int, _ forms: StreamForms) -> Bool {
        for made in forms.views {
            guard let seen = streams.all[index].seen(made.feature) else { continue }
            if case .view(let key, _, _) = made.outcome, key == seen.key { continue }
            streams.all[index].forgetSeen(made.feature)
            streams.all[index].rare?.delta?.forget(made.feature)
            streams.all[index].markDirty(made.feature, since: head.number)
        }
        let hasRoom = !forms.views.contains { if case .noRoom = $0.outcome { true } else { false } }
        if !hasRoom { streams.all[index].cut(.busy) }
        return hasRoom
    }

    /// Returns whether a store that a stream has yet to show is shown now, and what is left to show then.
    mutating func takeView(
        _ store: Int, _ dirty: StreamState.Dirty, _ index: Int, _ forms: StreamForms?
    ) -> (isShown: Bool, rest: StreamState.Dirty?) {
        guard let shown = stores[store].shown else { return (true, nil) }
        guard let made = forms?.made(dirty.feature), made.shown.book === shown.book, made.shown.epoch == shown.epoch
        else {
            return (false, dirty)
        }
        switch made.outcome {
        case .unclear, .noRoom: return (false, dirty)
        case .broken: return (false, nil)
        case .view(let key, let view, _):
            // A newer state came while the view was made: labels of its turn and later ones wait for it.
            let rest =
                made.shown.number < shown.number && view.versions.upperBound < shown.version
                ? StreamState.Dirty(feature: dirty.feature, since: made.shown.number + 1) : nil
            let seen = streams.all[index].seen(dirty.feature)
            let isSame =
                seen.map { $0.key == key && view.versions.contains($0.version) && $0.owed <= $0.version } ?? false
            return (!isSame, rest)
        }
    }

    /// Appends the event that shows the view of a stream's audience.
    mutating func appendView(
        _ store: Int, _ index: Int, _ forms: StreamForms?, into bytes: inout [UInt8]
    ) {
        let feature = stores[store].feature
        guard case .view(let key, let view, let patch)? = forms?.made(feature)?.outcome else { return }
        let isStale = streams.all[index].rare?.stale.contains(feature) == true
        let version = view.versions.upperBound
        if let patch {
            streams.tally.patches += 1
            StreamEvents.patch(
                feature, from: patch.from, to: version, intent: stores[store].intent, isStale: isStale, patch.bytes,
                into: &bytes)
        } else {
            streams.tally.states += 1
            StreamEvents.state(
                feature, version: version, intent: stores[store].intent, isStale: isStale, view.bytes, into: &bytes)
        }
        streams.all[index].makeRare().note(SeenView(feature: feature, key: key, version: version), view.bytes)
    }

    /// The view of a feature that a stream has just sent.
    func seenView(
        _ feature: FeatureID, _ stream: StreamState, _ forms: StreamForms
    ) -> (view: SeenView, bytes: [UInt8])? {
        guard let seen = stream.seen(feature), case .view(_, let view, _)? = forms.made(feature)?.outcome else {
            return nil
        }
        return (seen, view.bytes)
    }

    /// The audiences to which a stream shows the stores that it has yet to show, and what they have seen; nil if one is not
    /// known.
    func places(ofAudiencesOf index: Int, _ forms: StreamForms?) -> [StreamPlace.Audience]? {
        var places: [StreamPlace.Audience] = []
        for dirty in streams.all[index].dirty where stores[dirty.feature]?.shown != nil {
            let seen = streams.all[index].seen(dirty.feature)
            if case .view(let key, _, _)? = forms?.made(dirty.feature)?.outcome {
                places.append(StreamPlace.Audience(key, seen?.key == key ? seen : nil))
            } else if let seen, forms?.areAudiencesKnown == true {
                places.append(StreamPlace.Audience(seen.key, seen))
            } else {
                return nil
            }
        }
        return places
    }

    /// True if the last step of another stream is that of this one.
    private func canShare(_ index: Int, _ forms: StreamForms) -> Bool {
        !hasDirected(index) && streams.lastStep.map { $0.place == StreamPlace(self, index, forms) } ?? false
    }
}

extension SessionCore {
    /// The same for the answers of receipts, also of those that another node gave.
    mutating func owe(_ receipts: [StoredReceipt]) {
        for receipt in receipts {
            guard case .ran(let version) = receipt.outcome else { continue }
            switch receipt.key {
            case .key(let name, let feature): owe(version, of: feature) { name.hasPrefix($0) }
            case .sequence(_, let epoch): owe(version, of: nil) { epoch.hasPrefix($0) }
            }
        }
    }

    /// - Parameter feature: nil if it is not known.
    fileprivate mutating func owe(_ version: UInt64, of feature: FeatureID?, to isMeant: (_ scope: String) -> Bool) {
        let head = head.number
        streams.change({ stream in
            stream.rare?.scope.map(isMeant) == true
                && stream.rare?.seen.contains { $0.version < version && feature ?? $0.feature == $0.feature } == true
        }) { stream in
            guard let rare = stream.rare else { return }
            for place in rare.seen.indices where feature ?? rare.seen[place].feature == rare.seen[place].feature {
                rare.seen[place].owed = version
                stream.markDirty(rare.seen[place].feature, since: head)
            }
        }
    }
}

/// Changes that many audiences see.
extension SessionCore {
    /// Returns whether streams are woken for a change now.
    func isShownNow(_ index: Int, now: Duration, _ applied: inout Applied) -> Bool {
        guard let book = stores[index].shown?.book else { return true }
        switch book.changed(now: now) {
        case .now: return true
        case .withEarlier: return false
        case .later(let time):
            applied.changes.append(.postponed(book, stores[index].feature, time))
            return false
        }
    }
}

extension Session {
    /// Has streams of a client show the version of an answer, which it waits for, although its audience's view is the same.
    func owe(_ version: UInt64, of feature: FeatureID, to client: SessionClient) {
        let scope = client.scoped("")
        changeStreams { $0.owe(version, of: feature) { scope == $0 } }
    }

    /// Wakes streams that show a store after a time.
    func show(_ feature: FeatureID, of book: AudienceBook, after time: Duration) {
        shared.after(time) { [self] in
            book.showsPostponed(now: shared.time.monotonic())
            changeStreams { $0.streams.change(showing: feature) }
        }
    }
}

extension StreamState {
    func seen(_ feature: FeatureID) -> SeenView? { rare?.seen.first { $0.feature == feature } }

    mutating func forgetSeen(_ feature: FeatureID) { rare?.seen.removeAll { $0.feature == feature } }
}

extension StreamState.Rare {
    /// Notes the view that a stream sends.
    func note(_ view: SeenView, _ bytes: [UInt8]) {
        seen.removeAll { $0.feature == view.feature }
        seen.append(view)
        delta?.note(view.feature, version: view.version, view: bytes)
    }
}
