/// A place in a session's log, written `<epoch>.<sequence>`: what a stream hands out as `id` and takes back as
/// `Last-Event-ID`. Clients treat the text as opaque.
public struct Cursor: Hashable, Sendable {
    /// The life of the log that ``sequence`` counts in.
    public let epoch: String
    /// The number of the last turn that the cursor covers.
    public let sequence: UInt64

    /// A cursor of parts that the server knows to be good.
    ///
    /// - Precondition: `epoch` passes ``Epoch/isValid(_:)``; check one that comes from outside the process first.
    public init(epoch: String, sequence: UInt64) {
        precondition(Epoch.isValid(epoch), "an epoch has 1 to \(Epoch.maximumLength) bytes of [A-Za-z0-9._~-]")
        self.epoch = epoch
        self.sequence = sequence
    }

    /// A cursor from its text; nil for every text that ``description`` never gives: other bytes, more than 128 of
    /// them, no number, one with leading zeros or beyond 64 bits.
    public init?(_ text: some StringProtocol) {
        guard text.utf8.count <= 128 else { return nil }
        let text = String(text)
        guard let dot = text.utf8.lastIndex(of: UInt8(ascii: ".")) else { return nil }
        let epoch = text[..<dot]
        let digits = text[text.utf8.index(after: dot)...]
        guard Epoch.isValid(epoch), let sequence = UInt64(digits), digits.utf8.elementsEqual("\(sequence)".utf8) else {
            return nil
        }
        self.epoch = String(epoch)
        self.sequence = sequence
    }
}

extension Cursor: CustomStringConvertible {
    /// `<epoch>.<sequence>`, at most 128 bytes.
    public var description: String { "\(epoch).\(sequence)" }
}
