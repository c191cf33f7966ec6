import Locking

/// The id of an accepted intent. Turns and launched work that result from the intent have the same id.
public struct IntentID: Hashable, Sendable, CustomStringConvertible {
    /// The id as clients see it. It is the client's idempotency key if there is one.
    public let text: String

    /// Creates an id with a given text.
    public init(_ text: String) { self.text = text }

    /// Returns a new id: 64 bits in base 32, 13 characters. It is unique within a process and unlikely to repeat across
    /// processes; it is not a secret.
    public static func random() -> IntentID {
        // The system's generator would cost a system call for each intent.
        IntentID(bits: generator.withLock { $0.next() })
    }

    /// Creates an id from a number.
    package init(bits: UInt64) {
        let alphabet = Self.alphabet
        text = String(unsafeUninitializedCapacity: 13) { buffer in
            var rest = bits
            for index in 0..<13 {
                buffer[index] = alphabet[Int(rest & 31)]
                rest >>= 5
            }
            return 13
        }
    }

    private static let generator = Lock(SplitMix(state: .random(in: .min ... .max)))
    private static let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)

    /// The text.
    public var description: String { text }
}

extension IntentID {
    /// The id of bootstrap and its work. It is not ASCII, so it never equals a client's key.
    public static let bootstrap = IntentID("‹bootstrap›")
    @usableFromInline static let end = IntentID("end")

    /// True for `bootstrap`. Its first byte is unique; comparing texts of two forms takes ten times as long.
    package var isBootstrap: Bool {
        guard let first = text.utf8.first, first > 0x7F else { return false }
        return self == .bootstrap
    }
}

/// A permutation of the 64-bit numbers from a random start (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
/// Generators, 2014).
package struct SplitMix: Sendable {
    private var state: UInt64

    package init(state: UInt64) { self.state = state }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var bits = state
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return bits ^ (bits >> 31)
    }
}

/// The outcome of an intent whose turn is committed.
public struct IntentOutcome: Sendable {
    /// The intent's id.
    public let id: IntentID
    /// The store's version after the turn: the number of the last turn that changed its view state.
    public let version: UInt64
    /// True if no work that the intent launched is running.
    public var isSettled: Bool
    /// The view state as the session's clients see it, if requested: after the turn, after the wait if there was one,
    /// or the present one for a repeated request.
    public var state: StateSnapshot?
    /// True if the client requested the state, and lost its access after the intent ran or cannot be shown its view.
    public var isWithheld = false
    /// True if this is the outcome of an earlier request, from its receipt.
    public var isReplayed = false
    /// True if the request asked for a wait and the wait was granted.
    public var isWaitGranted = false

    /// The stored answer if an earlier request with the same number was refused; nil if the intent ran.
    public let refusal: RecordedRefusal?

    package init(id: IntentID, version: UInt64, isSettled: Bool) {
        (self.id, self.version, self.isSettled, refusal) = (id, version, isSettled, nil)
    }

    package init(id: IntentID, refusal: RecordedRefusal) {
        (self.id, version, isSettled, isReplayed, self.refusal) = (id, 0, true, true, refusal)
    }
}

/// The answer that is stored when a refusal consumes its `Intent-Seq`.
public struct RecordedRefusal: Sendable, Equatable {
    /// The status of the answer.
    public let status: Int
    /// The body of the answer.
    public let body: [UInt8]

    /// Creates an answer.
    public init(status: Int, body: [UInt8]) {
        self.status = status
        self.body = body
    }
}

/// A committed view state as JSON.
public struct StateSnapshot: Sendable, Equatable {
    /// The store's version.
    public let version: UInt64
    /// The view state.
    public let view: [UInt8]
    /// True if the state may be out of date: what the feature observes had no result in time, or the journal that other nodes
    /// write did not answer.
    public var isStale = false
    /// The name of the epoch that the version belongs to.
    package let epoch: String
    /// Nil if all clients see the same.
    package let audience: Audience?

    /// An audience's view. A class, since most states are for everyone.
    package final class Audience: Sendable, Equatable {
        /// The end of the entity tag, which tells several views of a version apart.
        package let check: String
        /// The version of the store.
        package let version: UInt64

        package init(check: String, version: UInt64) { (self.check, self.version) = (check, version) }

        package static func == (one: Audience, other: Audience) -> Bool { one.check == other.check }
    }

    package init(version: UInt64, view: [UInt8], epoch: String = "", audience: Audience? = nil) {
        (self.version, self.view, self.epoch, self.audience) = (version, view, epoch, audience)
    }

    /// The entity tag without quotes, unique among the states of the feature instance.
    package var entityTag: String { "\(epoch).\(version)\(audience?.check ?? "")" }
}
