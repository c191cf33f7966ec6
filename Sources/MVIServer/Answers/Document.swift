import MicroHTTP

/// Bytes that stay the same as long as the process runs, with the tag by which a client knows that it has them.
struct Document: Sendable {
    private let bytes: [UInt8]
    private let tag: String
    private let fields: [ResponseField]

    init(_ bytes: [UInt8], contentType: String, extra: [ResponseField] = []) {
        self.bytes = bytes
        tag = Self.hash(bytes)
        fields =
            [
                ResponseField("Content-Type", contentType), ResponseField("Cache-Control", "no-cache"),
                ResponseField("ETag", "\"\(tag)\""), AnswerFields.noSniff,
            ] + extra
    }

    func response(_ request: HeaderFields) -> Response {
        let known = try? EntityTags.read("if-none-match", of: request)?.get()
        return Response(
            status: known?.matchesWeakly(tag) == true ? 304 : 200, fields: fields, body: .bytes(bytes))
    }

    /// FNV-1a, 64 bits (http://www.isthe.com/chongo/tech/comp/fnv/): tells versions of a file apart, no adversary.
    private static func hash(_ bytes: [UInt8]) -> String {
        let hash = bytes.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return String(hash, radix: 36)
    }
}
