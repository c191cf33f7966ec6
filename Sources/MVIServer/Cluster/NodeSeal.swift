import LibCrypto
import MicroHTTP
import SessionJournal

/// Proves that a request comes from another node of the same journal.
///
/// The key is derived from the journal's secret (HKDF, RFC 5869), which only its nodes have, so it needs no setting.
/// The proof is an HMAC (RFC 2104) over the stamp, method, target and fields; the stamp has a hash of the body.
struct NodeSeal: Sendable {
    /// The maximal age of a stamp, and the maximal difference of clocks.
    static let life: Duration = .seconds(60)

    /// The result of `open`.
    enum Finding: Equatable {
        case good(NodeStamp)
        /// The proof is valid, but the request is too old, or its node's clock is ahead: the age.
        case outOfTime(by: Duration)
        /// The proof is valid, but for another node.
        case misdirected(NodeStamp)
        /// The proof is not valid.
        case bad
    }

    /// The key for this node's requests.
    private let key: HMACKey
    /// The valid keys for requests of other nodes.
    private let keys: [HMACKey]

    /// - Parameter now: the time since 1970.
    init(_ secret: JournalSecret, now: Duration = .zero) {
        key = Self.key(secret.provingKey(at: now))
        // Another node's clock may be behind, and stamps stay valid for a while.
        let former = now < secret.since + JournalSecret.spread ? secret.formerKeys.prefix(1).map(\.key) : []
        keys = ([secret.key] + former).map(Self.key)
    }

    private static func key(_ secret: [UInt8]) -> HMACKey {
        .derived(from: secret, for: "mvi-server: requests between nodes")
    }

    static func hash(_ body: [UInt8]) -> [UInt8] { SHA256.digest(body) }

    /// Returns the field's value for a request.
    func seal(_ stamp: NodeStamp, method: String, target: String, fields: [(name: String, value: String)]) -> String {
        let message = Self.message(stamp, method: method, target: target, fields: fields)
        return "\(stamp.text) \(NodeStamp.hex(key.code(for: message)))"
    }

    /// Verifies a request's stamp. The time is the same for each wrong proof.
    ///
    /// - Parameters:
    ///   - node: this node; nil while it has no lease, when every request is for another one.
    ///   - now: the time since 1970.
    func open(_ head: RequestHead, at node: NodeID?, now: Duration) -> Finding {
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

    /// Prefixes each part with its length, so that different requests have different messages. The fields have a fixed
    /// order.
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
