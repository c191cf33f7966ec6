import LibCrypto
import Locking
import MVI
import Networks
import WireJSON

/// An audience without its type.
@usableFromInline
struct AudienceKey: Hashable, Sendable {
    let value: any Hashable & Sendable

    @usableFromInline
    init(_ value: any Hashable & Sendable) { self.value = value }

    @usableFromInline
    static func == (one: AudienceKey, other: AudienceKey) -> Bool { AnyHashable(one.value) == AnyHashable(other.value) }

    @usableFromInline
    func hash(into hasher: inout Hasher) { value.hash(into: &hasher) }

    /// Nil if no label can be directed to it.
    var json: [UInt8]? { (value as? any Encodable).flatMap { try? WireJSON.encode($0) } }
}

/// A committed state of a store whose feature has audiences. Views are made of it when somebody looks.
final class ShownState: Sendable {
    let book: AudienceBook
    /// Of the feature's type.
    let state: any Sendable
    /// The number of its turn, and the version and the log that it belongs to.
    let number: UInt64
    let version: UInt64
    let epoch: String

    init(_ book: AudienceBook, number: UInt64, version: UInt64, epoch: String) {
        (self.book, state) = (book, book.capture(false))
        (self.number, self.version, self.epoch) = (number, version, epoch)
    }
}

/// The view of an audience as JSON.
struct AudienceView: Sendable {
    let bytes: [UInt8]
    /// The versions of the store of which it is the view: the newest is that of the state from which it was made.
    let versions: ClosedRange<UInt64>
    let epoch: String

    /// The state that a client is given.
    func snapshot(_ storeVersion: UInt64) -> StateSnapshot {
        // Two audiences may see different views of one version.
        let check = SHA256.digest(bytes).prefix(9)
        let tag = "-" + check.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        return StateSnapshot(
            version: versions.upperBound, view: bytes, epoch: epoch,
            audience: StateSnapshot.Audience(check: tag, version: storeVersion))
    }
}

/// The views of one store by audience, each made once for a version, when somebody looks.
///
/// All views that an audience is given come from here, so its versions never go back: who asks for an older state gets the
/// newest that the audience was given.
@usableFromInline
final class AudienceBook: Sendable {
    /// The number of audiences whose clients may watch a store at the same time.
    static let most = 1_024
    /// The number of audiences above which changes are shown at most once an interval, not each.
    static let crowd = 64
    static let interval = Duration.milliseconds(100)
    /// The bytes of views that are kept; the least recently used ones are made again.
    static let mostBytes = 16 << 20

    fileprivate struct Entry {
        /// The streams that show it.
        var uses = 0
        /// Its place among the store's audiences, of the network of its first stream.
        var place: NetworkPlaces.Place?
        /// Its first streams, and how each is ended.
        var users: [User] = []
        /// Nil if it has to be made.
        var view: AudienceView?
        var patches: [SharedPatch] = []
        var lastUse: UInt64 = 0
        var bytes: Int { view?.bytes.count ?? 0 }
    }

    fileprivate struct User {
        let number: UInt64
        let end: @Sendable () -> Void
    }

    /// The number of streams above which an audience keeps its place when another network needs one.
    fileprivate static let mostUsers = 8

    fileprivate struct Entries {
        var all: [AudienceKey: Entry] = [:]
        var lastUser: UInt64 = 0
        var bytes = 0
        var inUse = 0
        var uses: UInt64 = 0
        /// The time at which streams were last woken for a change, on the monotonic clock.
        var lastShown: Duration?
        var isPostponed = false
    }

    /// The time at which streams are woken for a change.
    enum Showing: Equatable {
        case now, later(Duration), withEarlier
    }

    /// Calls the feature's code, so under no lock, as does `encode`.
    let audience: @Sendable (Viewer) -> AudienceKey
    /// The committed state, or that with the turns of the running batch.
    let capture: @Sendable (_ isWorking: Bool) -> any Sendable
    let encode: @Sendable (any Sendable, AudienceKey) throws(StoreError) -> [UInt8]
    private let entries = Lock(Entries())
    /// The networks that brought audiences share them.
    private let places = NetworkPlaces(most)

    @usableFromInline
    init(
        audience: @escaping @Sendable (Viewer) -> AudienceKey,
        capture: @escaping @Sendable (_ isWorking: Bool) -> any Sendable,
        encode: @escaping @Sendable (any Sendable, AudienceKey) throws(StoreError) -> [UInt8]
    ) {
        (self.audience, self.capture, self.encode) = (audience, capture, encode)
    }

    /// The audience of a client by all its principals; nil if these do not agree, or if there is none.
    func audience(of viewers: [Viewer]) -> AudienceKey? {
        guard let first = viewers.first else { return nil }
        let key = audience(first)
        return viewers.dropFirst().allSatisfy { audience($0) == key } ? key : nil
    }

    /// The view of a state, or of a newer one that the audience was given before.
    func view(of shown: ShownState, for key: AudienceKey) throws(StoreError) -> AudienceView {
        if let view = entries.withLock({ $0.view(of: shown, for: key) }) { return view }
        let bytes = try encode(shown.state, key)
        return entries.withLock { $0.note(bytes, of: shown, for: key) }
    }

    /// The versions that clients of an audience may know of the state with the turns of the running batch; nil if they know
    /// none of it.
    func versions(
        working isChanged: Bool, since shown: ShownState, for key: AudienceKey
    ) throws(StoreError) -> ClosedRange<UInt64>? {
        let view = try view(of: shown, for: key)
        guard isChanged, try encode(capture(true), key) != view.bytes else { return view.versions }
        return nil
    }

    /// The patch from an earlier view of the audience; nil if it is not shorter than the view.
    func patch(
        _ form: DeltaForm, of feature: FeatureID, from version: UInt64, _ old: [UInt8], to view: AudienceView,
        for key: AudienceKey
    ) -> [UInt8]? {
        let name = PatchName(feature: feature, form: form, from: version, to: view.versions.upperBound)
        let patch = entries.withLock { entries -> SharedPatch in
            if let known = entries.all[key]?.patches.first(where: { $0.name == name }) { return known }
            let made = SharedPatch(name, old: old, new: view.bytes)
            entries.all[key]?.patches.append(made)
            return made
        }
        return patch.bytes
    }

    /// Counts a stream that shows the store to an audience. Returns its number; nil if there are too many audiences.
    ///
    /// - Parameter end: ends the stream, if another network needs the audience's place.
    fileprivate func enter(
        _ key: AudienceKey, from address: PeerAddress?, _ end: @escaping @Sendable () -> Void
    ) -> UInt64? {
        if let number = entries.withLock({ $0.enter(key, nil, end) }) { return number }
        // May end streams, so under no lock.
        guard let place = try? places.take(for: address) else { return nil }
        let number = entries.withLock { $0.enter(key, place, end) }
        place.onGiveWay { [weak self] in self?.giveWay(key) }
        return number
    }

    private func giveWay(_ key: AudienceKey) {
        let users = entries.withLock { entries -> [User] in
            guard let entry = entries.all[key], entry.uses <= Self.mostUsers else { return [] }
            return entry.users
        }
        for user in users { user.end() }
    }

    fileprivate func leave(_ key: AudienceKey, _ number: UInt64) {
        // Its place is released after the lock.
        _ = entries.withLock { entries -> Entry? in
            guard let entry = entries.all[key] else { return nil }
            if entry.uses > 1 {
                entries.all[key]?.uses -= 1
                entries.all[key]?.users.removeAll { $0.number == number }
                return nil
            }
            entries.inUse -= 1
            entries.bytes -= entry.bytes
            return entries.all.removeValue(forKey: key)
        }
    }

    /// Notes a change. Calls nothing, so that it may be used under a lock.
    func changed(now: Duration) -> Showing {
        entries.withLock { entries in
            if entries.isPostponed { return .withEarlier }
            let next = entries.lastShown.map { $0 + Self.interval } ?? now
            if entries.inUse > Self.crowd, now < next {
                entries.isPostponed = true
                return .later(next - now)
            }
            entries.lastShown = now
            return .now
        }
    }

    /// Notes that streams are woken for a change that was postponed.
    func showsPostponed(now: Duration) { entries.withLock { ($0.isPostponed, $0.lastShown) = (false, now) } }
}

extension AudienceBook.Entries {
    /// Counts a stream of an audience that has a place, or gets this one. Returns its number; nil without a place.
    fileprivate mutating func enter(
        _ key: AudienceKey, _ place: NetworkPlaces.Place?, _ end: @escaping @Sendable () -> Void
    ) -> UInt64? {
        let uses = all[key]?.uses ?? 0
        guard uses > 0 || place != nil else { return nil }
        if uses == 0 {
            inUse += 1
            all[key, default: AudienceBook.Entry()].place = place
        }
        lastUser += 1
        all[key]?.uses += 1
        if uses < AudienceBook.mostUsers { all[key]?.users.append(AudienceBook.User(number: lastUser, end: end)) }
        return lastUser
    }

    /// Nil if it has to be made.
    fileprivate mutating func view(of shown: ShownState, for key: AudienceKey) -> AudienceView? {
        guard let view = all[key]?.view, view.epoch == shown.epoch, view.versions.upperBound >= shown.version else {
            return nil
        }
        uses += 1
        all[key]?.lastUse = uses
        return view
    }

    fileprivate mutating func note(_ made: [UInt8], of shown: ShownState, for key: AudienceKey) -> AudienceView {
        // Another thread was faster.
        if let view = view(of: shown, for: key) { return view }
        var entry = all[key] ?? AudienceBook.Entry()
        var view = AudienceView(bytes: made, versions: shown.version...shown.version, epoch: shown.epoch)
        if let old = entry.view, old.epoch == shown.epoch, old.bytes == made {
            // The same array, which streams share.
            view = AudienceView(
                bytes: old.bytes, versions: old.versions.lowerBound...shown.version, epoch: shown.epoch)
        } else {
            bytes += made.count - entry.bytes
        }
        uses += 1
        (entry.view, entry.patches, entry.lastUse) = (view, [], uses)
        all[key] = entry
        makeRoom(besides: key)
        return view
    }

    private mutating func makeRoom(besides key: AudienceKey) {
        let mostEntries = AudienceBook.most + inUse
        guard bytes > AudienceBook.mostBytes || all.count > mostEntries else { return }
        // Some at once, since they are sorted for it.
        for (old, entry) in all.sorted(by: { $0.value.lastUse < $1.value.lastUse }) where old != key {
            if bytes <= AudienceBook.mostBytes / 8 * 7, all.count <= mostEntries / 8 * 7 { return }
            bytes -= entry.bytes
            all[old] = entry.uses > 0 ? AudienceBook.Entry(uses: entry.uses) : nil
        }
    }
}

/// A stream's use of an audience, which ends with it.
final class AudienceUse: Sendable {
    let book: AudienceBook
    let key: AudienceKey

    private let number: UInt64

    /// Nil if there are too many audiences.
    ///
    /// - Parameter end: ends the stream, if another network needs the audience's place.
    init?(
        _ book: AudienceBook, _ key: AudienceKey, from address: PeerAddress? = nil,
        _ end: @escaping @Sendable () -> Void = {}
    ) {
        guard let number = book.enter(key, from: address, end) else { return nil }
        (self.book, self.key, self.number) = (book, key, number)
    }

    deinit { book.leave(key, number) }
}
