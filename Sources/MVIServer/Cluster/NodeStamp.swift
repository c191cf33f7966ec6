import MicroHTTP
import Networks
import SessionJournal

/// The stamp of a request between nodes, in the field `MVI-Node`.
struct NodeStamp: Equatable {
    static let field: StaticString = "mvi-node"
    static let shownField = "MVI-Node"
    /// The maximal length of the field.
    static let longestField = 512

    /// The sender.
    let node: NodeID
    /// The receiver.
    let receiver: NodeID
    /// The sender's time: milliseconds since 1970.
    let time: Int64
    /// The client's address as the first node determined it.
    let client: PeerAddress
    /// The SHA-256 of the body: 32 bytes.
    let bodyHash: [UInt8]

    /// The field's value without the proof at its end.
    var text: String { "\(node.number) \(receiver.number) \(time) \(client) \(Self.hex(bodyHash))" }

    /// Parses a field's value; nil if it is malformed.
    static func read(_ value: String) -> (stamp: NodeStamp, proof: [UInt8])? {
        let parts = value.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 6, let node = Int64(parts[0]), let receiver = Int64(parts[1]), let time = Int64(parts[2]),
            let client = parts[3] == "unknown" ? .unknown : PeerAddress(parts[3]), let hash = bytes(hex: parts[4]),
            let proof = bytes(hex: parts[5])
        else { return nil }
        let stamp = NodeStamp(
            node: NodeID(node), receiver: NodeID(receiver), time: time, client: client, bodyHash: hash)
        // Only the canonical text is valid, because the proof covers the text that is made of the values.
        return value == "\(stamp.text) \(hex(proof))" ? (stamp, proof) : nil
    }

    static func hex(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// Returns as many bytes as hexadecimal digits write; nil for other texts.
    static func bytes(hex text: some StringProtocol, count: Int = 32) -> [UInt8]? {
        guard text.utf8.count == 2 * count, text.utf8.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else {
            return nil
        }
        let digits = text.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        return stride(from: 0, to: 2 * count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}
