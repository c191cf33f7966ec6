import Locking
import MVI
import SessionJournal
import Tracing

/// Loads of stores that are under way or failed.
struct StoreLoads {
    private var underWay: Set<FeatureID> = []
    private var failures: [FeatureID: StoreError] = [:]
    /// The failures that a turn received.
    private var told: Set<FeatureID> = []
    private var waiters: [@Sendable () -> Void] = []
    /// The number of loads in a row that were of no use, since the log is not the one known here, or beyond it.
    private var strays = 0
    /// True until the log is read again after such a load.
    private var isStray = false

    var isEmpty: Bool { underWay.isEmpty }
    var isBlank: Bool { isEmpty && failures.isEmpty && told.isEmpty && waiters.isEmpty && strays == 0 }

    /// Returns those of some passive stores that the caller has to load: no load is under way.
    mutating func begin(_ features: [FeatureID]) -> [FeatureID] {
        let missing = features.filter { !underWay.contains($0) }
        underWay.formUnion(missing)
        for feature in missing { failures[feature] = nil }
        return missing
    }

    /// Ends loads. Returns the callbacks that waited for them.
    mutating func end(_ features: [FeatureID], _ failures: [FeatureID: StoreError]) -> [@Sendable () -> Void] {
        underWay.subtract(features)
        for feature in features { self.failures[feature] = failures[feature] }
        defer { waiters = [] }
        return waiters
    }

    /// Notes a load that was of no use. Returns false if there were too many in a row.
    mutating func noteStray() -> Bool {
        strays += 1
        isStray = strays < 8
        defer { if !isStray { strays = 0 } }
        return isStray
    }

    mutating func noteUse() { (strays, isStray) = (0, false) }

    /// True once after such a load: the caller reads the log again before the stores are loaded again.
    mutating func takeStray() -> Bool {
        defer { isStray = false }
        return isStray
    }

    /// Marks loads that are under way as failed, since they took too long.
    mutating func fail(_ features: [FeatureID]) {
        for feature in features where underWay.contains(feature) { failures[feature] = .loadTimeOut }
    }

    /// The error of a store's last load; nil if it did not fail, or another one is under way.
    func failure(of feature: FeatureID) -> StoreError? { failures[feature] }

    /// Notes that a turn received the failure: see `forgetTold`.
    mutating func noteTold(_ feature: FeatureID) { told.insert(feature) }

    /// Clears failures that a finished turn received: the next turn that needs these stores has them loaded again.
    mutating func forgetTold() {
        if told.isEmpty { return }
        for feature in told { failures[feature] = nil }
        told = []
    }

    func contains(anyOf features: [FeatureID]) -> Bool {
        features.contains { underWay.contains($0) && failures[$0] == nil }
    }

    /// Calls `waiter` when a load is over. Returns false, and does not call, if none of those is under way.
    mutating func wait(for features: [FeatureID], _ waiter: @escaping @Sendable () -> Void) -> Bool {
        guard contains(anyOf: features) else { return false }
        waiters.append(waiter)
        return true
    }
}

/// A store as its session sees it: the committed head as bytes.
struct StoreSlot: Identifiable {
    /// The pending start of a store that was created or loaded.
    enum Start {
        case done
        /// Bootstrap, and a new view state if the code derives another one than is stored.
        case restored(view: [UInt8]?)
        /// The store replaces a state that cannot be read, for this reason.
        case replaces(String)
    }

    var summary: StoreSummary
    /// The name of the log that the version and the view state are of.
    var epoch: String
    /// Nil if the store is not in memory.
    var store: SessionStore?
    /// Empty if the store is not in memory and no stream shows it.
    var view: [UInt8] { didSet { forgetPatches() } }
    /// The intent that led to `view`; nil if none did.
    var intent: String?
    /// The time of its last turn, read or stream, on the monotonic clock.
    private(set) var lastUse: Duration
    /// Nil for most stores. Another object after each change, so that a copy of the slot keeps its own. Read as a stored
    /// property: a computed one would copy the slot.
    private(set) var rare: Rare?

    final class Rare: Sendable {
        let patches: [SharedPatch]
        let start: Start
        let lost: [String]
        let waiters: [VersionWaiter]
        let shown: ShownState?

        fileprivate init?(
            _ patches: [SharedPatch], _ start: Start, _ lost: [String], _ waiters: [VersionWaiter], _ shown: ShownState?
        ) {
            if case .done = start, patches.isEmpty, lost.isEmpty, waiters.isEmpty, shown == nil { return nil }
            (self.patches, self.start, self.lost, self.waiters) = (patches, start, lost, waiters)
            self.shown = shown
        }
    }

    /// The patches to `view`, each created once for all streams that show changes.
    private(set) var patches: [SharedPatch] {
        get { rare?.patches ?? [] }
        set { if rare != nil || !newValue.isEmpty { rare = Rare(newValue, start, lost, waiters, shown) } }
    }
    var start: Start {
        get { rare?.start ?? .done }
        set { rare = Rare(patches, newValue, lost, waiters, shown) }
    }
    /// JSON Pointers of members that the next commit would lose: the stored state is set aside then.
    var lost: [String] {
        get { rare?.lost ?? [] }
        set { if rare != nil || !newValue.isEmpty { rare = Rare(patches, start, newValue, waiters, shown) } }
    }
    /// Requests that wait for the view state to change.
    var waiters: [VersionWaiter] {
        get { rare?.waiters ?? [] }
        set { if rare != nil || !newValue.isEmpty { rare = Rare(patches, start, lost, newValue, shown) } }
    }

    /// The state of which audiences are shown views; nil if all clients see `view`, and if the store is not in memory.
    private(set) var shown: ShownState? {
        get { rare?.shown }
        set { if shown != nil || newValue != nil { rare = Rare(patches, start, lost, waiters, newValue) } }
    }

    /// A stored store that is not in memory.
    init(_ summary: StoreSummary, of epoch: String, lastUse: Duration) {
        (self.summary, self.epoch) = (summary, epoch)
        view = []
        self.lastUse = lastUse
    }

    /// A store that a committed turn created.
    init(_ change: StoreChange, _ store: SessionStore, of epoch: String, now: Duration, lastSeen: Duration) {
        self.init(
            StoreSummary(
                feature: change.feature, number: change.number, version: change.version, made: change.made,
                replaced: change.setsAside == nil ? 0 : change.made, lastSeen: lastSeen), of: epoch, lastUse: now)
        self.store = store
        view = change.view ?? []
        intent = change.viewIntent
        showHead()
    }

    /// Has audiences see the store's head, which is of `version`.
    mutating func showHead() {
        shown = store?.audiences.map { ShownState($0, number: summary.number, version: version, epoch: epoch) }
    }

    /// Notes a committed turn of this node or of another one, or a read or a stream of a store in memory: a request does
    /// not bring back a store whose lifetime is over.
    mutating func use(at time: Duration) { lastUse = max(lastUse, time) }

    /// Notes that its pending start is committed.
    mutating func hasBegun() {
        start = .done
        store?.hasBegun()
    }

    /// Returns the patch of that name, which may still have to be computed.
    mutating func patch(_ name: PatchName, from old: [UInt8]) -> SharedPatch {
        if let patch = patches.first(where: { $0.name == name }) { return patch }
        let patch = SharedPatch(name, old: old, new: view)
        patches.append(patch)
        return patch
    }

    /// Removes the patches, since no stream shows changes any more.
    mutating func forgetPatches() { if rare != nil { patches = [] } }

    var feature: FeatureID { summary.feature }
    var id: FeatureID { summary.feature }
    var version: UInt64 { summary.version }
    var known: KnownState {
        if let shown { .audiences(shown) } else { .everyone(StateSnapshot(version: version, view: view, epoch: epoch)) }
    }

    /// True if readers can be shown something.
    @inline(__always)
    var isShowable: Bool {
        if case .replaces = start { return false }
        return store != nil
    }

    var isStarted: Bool {
        if case .done = start { store != nil } else { false }
    }
}

/// A state as it is read.
enum KnownState {
    case everyone(StateSnapshot)
    /// Each audience sees a view of it.
    case audiences(ShownState)
}

/// A request that waits for a view state to change.
struct VersionWaiter {
    let number: UInt64
    let resume: @Sendable () -> Void
}
