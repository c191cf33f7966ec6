import Locking

/// Names one accepted intent. Everything that it leads to carries it, launched work included.
public struct IntentID: Hashable, Sendable, CustomStringConvertible {
    /// The text clients see; their own idempotency key where they gave one.
    public let text: String

    /// An id with a text of the caller's.
    public init(_ text: String) { self.text = text }

    /// A new one: 64 bits in base 32, 13 characters. No two of a process are the same, and of two processes only by
    /// chance; it is a name, not a secret.
    public static func random() -> IntentID {
        // Asking the system for each would be a system call on every intent.
        IntentID(bits: generator.withLock { $0.next() })
    }

    /// The name of a number.
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
    /// The id of bootstrap and its work. It is not ASCII, so no client's key can equal it.
    public static let bootstrap = IntentID("‹bootstrap›")
    @usableFromInline static let end = IntentID("end")

    /// True if it is `bootstrap`. Its first byte is no other's: comparing texts of two forms takes ten times as long.
    package var isBootstrap: Bool {
        guard let first = text.utf8.first, first > 0x7F else { return false }
        return self == .bootstrap
    }
}

/// A permutation of the numbers of 64 bits, from a random start (Steele, Lea, Flood: Fast Splittable Pseudorandom
/// Number Generators, 2014).
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

/// An intent whose turn is committed.
public struct IntentOutcome: Sendable {
    /// The intent's id.
    public let id: IntentID
    /// The store's version after the turn: the number of the last turn that changed its view state.
    public let version: UInt64
    /// True if no work that the intent launched is running.
    public var isSettled: Bool
    /// The view state as its session's clients are shown it, where the request wants it: after the turn, after the wait
    /// if there was one, the present one for a repeated request.
    public var state: StateSnapshot?
    /// True if the client may not be shown the state that it wants: it lost its access after the intent had run.
    public var isWithheld = false
    /// True if this is the outcome of an earlier request, from its receipt.
    public var isReplayed = false
    /// True if the request's wait was granted; false also where none was asked for.
    public var isWaitGranted = false

    /// The answer of an earlier request with the same number, which was refused; nil if the intent ran.
    public let refusal: RecordedRefusal?

    package init(id: IntentID, version: UInt64, isSettled: Bool) {
        (self.id, self.version, self.isSettled, refusal) = (id, version, isSettled, nil)
    }

    package init(id: IntentID, refusal: RecordedRefusal) {
        (self.id, version, isSettled, isReplayed, self.refusal) = (id, 0, true, true, refusal)
    }
}

/// The answer that is stored when a refusal uses up its `Intent-Seq`.
public struct RecordedRefusal: Sendable, Equatable {
    /// The answer's status.
    public let status: Int
    /// The answer's body.
    public let body: [UInt8]

    /// An answer's status and body.
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
    /// The name of the log that the version is of.
    package let epoch: String

    package init(version: UInt64, view: [UInt8], epoch: String = "") {
        (self.version, self.view, self.epoch) = (version, view, epoch)
    }

    /// Its entity tag, without quotes: no other state of the feature instance has it.
    package var entityTag: String { "\(epoch).\(version)" }
}
