import Logging
import MVI
import MVIServer

/// The newest key set of a source. Each read replaces all keys; concurrent requests share one read.
actor KeyCache {
    private struct Held {
        let keys: KeySet
        /// The time of the last read that returned these keys.
        var confirmed: Duration
    }

    private let source: KeySource
    private let algorithms: Set<SignatureAlgorithm>
    private let uptime: @Sendable () -> Duration
    private var log: KeyLog

    private var held: Held?
    /// The reason why the last read failed; nil if it succeeded.
    private(set) var failure: String?
    private var lastRead: Duration?
    private var lastReadForUnknownID: Duration?
    private var reading: Task<Void, Never>?

    /// Creates a cache without keys. `uptime` is a monotonic clock.
    init(
        _ source: KeySource, for algorithms: Set<SignatureAlgorithm>, logger: Logger,
        uptime: @escaping @Sendable () -> Duration
    ) {
        (self.source, self.algorithms, self.uptime) = (source, algorithms, uptime)
        log = KeyLog(logger: logger, source: source.name)
    }

    /// Returns the key for a token's header.
    ///
    /// Waits for a read if the keys are due, or if the `kid` is unknown and there was no such read recently.
    func verifier(_ header: TokenHeader) async throws(AuthenticationError) -> SignatureVerifier {
        var hasWaited = false
        if isDue {
            await refresh()
            hasWaited = true
        }
        var match = try current().match(id: header.keyID, header.algorithm)
        if case .unknownID = match, !hasWaited, mayReadForUnknownID() {
            await refresh()
            match = try current().match(id: header.keyID, header.algorithm)
        }
        switch match {
        case .one(let verifier): return verifier
        case .unknownID:
            // The key may be in the set that could not be read.
            guard failure == nil else {
                throw AuthenticationError(.unavailable, "The issuer's newest keys cannot be read now.")
            }
            throw AuthenticationError(.rejected, "The JWT's 'kid' names no key of the issuer.")
        case .unfit: throw AuthenticationError(.rejected, "The key of the JWT's 'kid' is not for its algorithm.")
        case .undecided:
            throw AuthenticationError(.rejected, "The JWT has no 'kid', and not exactly one key fits its algorithm.")
        }
    }

    /// Reads the source at startup if that is due.
    func prepare() async {
        if isDue { await refresh() }
    }

    /// Reads the source, or waits for the running read.
    private func refresh() async {
        if let reading { return await reading.value }
        let task = Task { await read() }
        reading = task
        await task.value
    }

    private var isDue: Bool {
        let now = uptime()
        let age = held.map { now - $0.confirmed }
        if let age, age < source.pace.refresh { return false }
        if reading != nil { return true }
        guard failure != nil, let lastRead else { return true }
        let pause = age.map { $0 < source.pace.keep } ?? false ? source.pace.retry : source.pace.retryWithoutKeys
        return now - lastRead >= pause
    }

    /// Returns true if an unknown `kid` may cause a read now, and records that it did. Waits for a running read.
    private func mayReadForUnknownID() -> Bool {
        if reading != nil { return true }
        let now = uptime()
        if let lastReadForUnknownID, now - lastReadForUnknownID < source.pace.unknownID { return false }
        lastReadForUnknownID = now
        return true
    }

    private func current() throws(AuthenticationError) -> KeySet {
        if let held, uptime() - held.confirmed < source.pace.keep { return held.keys }
        if held != nil {
            held = nil
            log.tooOld(source.pace.keep)
        }
        throw AuthenticationError(.unavailable, "The issuer's keys cannot be read now.")
    }

    private func read() async {
        defer { reading = nil }
        // The age counts from here: the read may miss keys that are published during it.
        let begin = uptime()
        lastRead = begin
        do throws(KeyReadError) {
            switch try await source.read(failure != nil || held == nil) {
            case .unchanged: held?.confirmed = begin
            case .document(let bytes): held = Held(keys: try keys(bytes), confirmed: begin)
            }
            failure = nil
        } catch {
            failure = error.description
            log.failed(error.description, at: begin, hasKeys: held != nil, keep: source.pace.keep)
        }
    }

    private func keys(_ bytes: [UInt8]) throws(KeyReadError) -> KeySet {
        do throws(KeySetDocument.Unusable) {
            let document = try KeySetDocument.read(bytes, for: algorithms)
            log.read(document)
            return document.keys
        } catch {
            throw KeyReadError("the key set is rejected: \(error)")
        }
    }
}
