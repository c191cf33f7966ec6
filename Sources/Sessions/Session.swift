import SessionJournal
import Locking
import MVI

/// One client's stores and everything that its streams may have to be told.
///
/// All methods may be called from any thread. No handler, callback or write to a socket runs under the session's lock.
public final class Session: Sendable {
    /// How the client proves whose it is.
    public enum Credential: Sendable, Equatable {
        /// With a token that it sends itself.
        case bearer
        /// With a cookie that its browser sends.
        case cookie
    }

    /// The public id.
    public let id: String
    /// Names this session's log; a part of cursors and entity tags.
    public let epoch: String
    /// How the client proves whose it is.
    public let credential: Credential

    let tokenHash: TokenHash
    let environment: SessionEnvironment
    let core: Lock<SessionCore>

    init(id: String, epoch: String, credential: Credential, tokenHash: TokenHash, environment: SessionEnvironment) {
        self.id = id
        self.epoch = epoch
        self.credential = credential
        self.tokenHash = tokenHash
        self.environment = environment
        core = Lock(SessionCore(now: environment.time.monotonic()))
    }

    /// When the session ends if nothing comes any more: time since 1970. It moves with every request.
    public var expiresAt: Duration {
        let now = environment.time.monotonic()
        let left = core.withLock { core in
            (core.streams.isEmpty ? core.lastTouch : now) + environment.limits.sessionLife - now
        }
        return environment.time.sinceEpoch() + left
    }

    /// The feature instances that have a store, sorted.
    public var storeIDs: [FeatureID] {
        core.withLock { $0.stores.keys.sorted { $0.text < $1.text } }
    }

    /// How many streams are open.
    public var streamCount: Int { core.withLock { $0.streams.count } }

    /// Whether the session was deleted or has expired.
    public var isEnded: Bool { core.withLock { $0.isEnded } }

    /// Notes a request: the session lives on from now.
    public func touch() {
        let now = environment.time.monotonic()
        core.withLock { $0.lastTouch = now }
    }

    /// Whether half of the cookie's life has passed since it was last set; if so it counts as set now.
    public func cookieIsDue() -> Bool {
        let now = environment.time.monotonic()
        let life = environment.limits.sessionLife
        return core.withLock { core in
            guard now - core.cookieSet >= life / 2 else { return false }
            core.cookieSet = now
            return true
        }
    }

    /// How long until the session expires if nothing comes; zero or less if it has.
    func timeLeft(now: Duration) -> Duration {
        core.withLock { core in
            core.streams.isEmpty
                ? core.lastTouch + environment.limits.sessionLife - now : environment.limits.sessionLife
        }
    }

    /// The entity tag of a version, without quotes.
    public func entityTag(version: UInt64) -> String { "\(epoch).\(version)" }

    /// Ends the session: its work is cancelled, its streams are told and closed, its waits answered. A second call
    /// does nothing.
    func end(_ reason: GoAwayReason) {
        let (stores, streams, waits) = core.withLock { core -> ([StoreSlot], [StreamState], [Wait]) in
            guard !core.isEnded else { return ([], [], []) }
            core.isEnded = true
            for index in core.streams.indices { core.streams[index].finish(reason) }
            let stores = Array(core.stores.values)
            core.stores = [:]
            return (stores, core.streams, Array(core.waits.values))
        }
        for slot in stores { slot.handle.dispose() }
        for wait in waits { wait.end(false) }
        for stream in streams { stream.waker?.wake() }
    }

    /// Gives back the memory of labels whose time is over; streams pass over them without it.
    func forgetExpiredLabels(now: Duration) {
        core.withLock { $0.outbox.forgetExpired(now: now) }
    }

    /// How many labels are kept.
    var labelCount: Int { core.withLock { $0.outbox.count } }

    /// Tells every stream that the server goes away, and answers every wait.
    func drain() {
        let (waits, streams) = core.withLock { core in
            for index in core.streams.indices { core.streams[index].finish(.drain) }
            return (Array(core.waits.values), core.streams)
        }
        for wait in waits { wait.end(false) }
        for stream in streams { stream.waker?.wake() }
    }
}
