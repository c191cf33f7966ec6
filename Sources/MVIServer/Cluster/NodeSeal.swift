import LibCrypto
import MicroHTTP
import SessionJournal

/// Proves to a node that a request comes from another node of the same journal.
///
/// The key follows from the journal's secret (HKDF, RFC 5869), which only its nodes have: nothing has to be
/// set. The proof is an HMAC (RFC 2104) over the stamp, method, target and fields; the stamp has a hash of the body.
struct NodeSeal: Sendable {
    /// The maximum age of a stamp, and its maximum lead over this node's clock.
    static let life: Duration = .seconds(60)

    /// The result of `open`.
    enum Finding: Equatable {
        case good(NodeStamp)
        /// Proven, but too old, or from a clock that is ahead: how much older.
        case outOfTime(by: Duration)
        /// Proven, but meant for another node.
        case misdirected(NodeStamp)
        /// Not proven.
        case bad
    }

    /// The key for requests of this node.
    private let key: HMACKey
    /// The keys that requests of other nodes may be proven by.
    private let keys: [HMACKey]

    /// - Parameter now: time since 1970.
    init(_ secret: JournalSecret, now: Duration = .zero) {
        key = Self.key(secret.provingKey(at: now))
        // Another node's clock may be behind, and a stamp lives for a while.
        let former = now < secret.since + JournalSecret.spread ? secret.formerKeys.prefix(1).map(\.key) : []
        keys = ([secret.key] + former).map(Self.key)
    }

    private static func key(_ secret: [UInt8]) -> HMACKey {
        .derived(from: secret, for: "mvi-server: requests between nodes")
    }

    static func hash(_ body: [UInt8]) -> [UInt8] { SHA256.digest(body) }

    /// The field's value for a request.
    func seal(_ stamp: NodeStamp, method: String, target: String, fields: [(name: String, value: String)]) -> String {
        let message = Self.message(stamp, method: method, target: target, fields: fields)
        return "\(stamp.text) \(NodeStamp.hex(key.code(for: message)))"
    }

    /// Verifies a request's stamp. Takes the same time for every wrong proof.
    ///
    /// - Parameters:
    ///   - node: this one.
    ///   - now: time since 1970.
    func open(_ head: RequestHead, at node: NodeID, now: Duration) -> Finding {
        let values = head.fields.values(of: NodeStamp.field)
        guard values.count == 1, let (stamp, proof) = NodeStamp.read(values[0]) else { return .bad }
        var target = head.path
        if let query = head.query { target += [UInt8(ascii: "?")] + query }
        let message = Self.message(
            stamp, method: head.method, target: String(decoding: target, as: UTF8.self),
            fields: ForwardedFields.select(ForwardedFields.all, from: head.fields))
        guard keys.contains(where: { $0.isCode(proof, for: message) }) else { return .bad }
        let age = now - .milliseconds(stamp.time)
        guard age <= Self.life, .zero - age <= Self.life else { return .outOfTime(by: age) }
        return stamp.receiver == node ? .good(stamp) : .misdirected(stamp)
    }

    /// Each part with its length before it, so that no two requests have the same message. The fields in one order.
    private static func message(
        _ stamp: NodeStamp, method: String, target: String, fields: [(name: String, value: String)]
    ) -> [UInt8] {
        var message: [UInt8] = []
        func add(_ part: String) {
            let part = part.utf8
            message += stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: part.count >> $0) }
            message += part
        }
        for part in ["1", stamp.text, method, target] { add(part) }
        for name in ForwardedFields.all {
            for field in fields where field.name == name {
                add(field.name)
                add(field.value)
            }
        }
        return message
    }
}
