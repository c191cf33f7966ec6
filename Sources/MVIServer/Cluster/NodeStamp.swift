import MicroHTTP
import Networks
import SessionJournal

/// The stamp of a request between nodes, in the header `MVI-Node`.
struct NodeStamp: Equatable {
    static let field: StaticString = "mvi-node"
    static let shownField = "MVI-Node"
    /// Bytes of the whole line, at most.
    static let longestField = 512

    /// The node that sends it.
    let node: NodeID
    /// The node that it is meant for.
    let receiver: NodeID
    /// The sender's time: milliseconds since 1970.
    let time: Int64
    /// The client's address as the first node judged it.
    let client: PeerAddress
    /// The SHA-256 of the body: 32 bytes.
    let bodyHash: [UInt8]

    /// The field's value without the proof at its end.
    var text: String { "\(node.number) \(receiver.number) \(time) \(client) \(Self.hex(bodyHash))" }

    /// Reads a field's value; nil if it is not well written.
    static func read(_ value: String) -> (stamp: NodeStamp, proof: [UInt8])? {
        let parts = value.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 6, let node = Int64(parts[0]), let receiver = Int64(parts[1]), let time = Int64(parts[2]),
            let client = parts[3] == "unknown" ? .unknown : PeerAddress(parts[3]), let hash = bytes(hex: parts[4]),
            let proof = bytes(hex: parts[5])
        else { return nil }
        let stamp = NodeStamp(
            node: NodeID(node), receiver: NodeID(receiver), time: time, client: client, bodyHash: hash)
        // Only one way to write it is taken: the proof is over the text that is made of the values.
        return value == "\(stamp.text) \(hex(proof))" ? (stamp, proof) : nil
    }

    static func hex(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// The 32 bytes that a text of 64 hexadecimal digits says.
    static func bytes(hex text: some StringProtocol) -> [UInt8]? {
        guard text.utf8.count == 64, text.utf8.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else {
            return nil
        }
        let digits = text.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        return stride(from: 0, to: 64, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}
