import Testing

@testable import MicroHTTP

@Suite struct HeaderFieldsTests {
    /// Names whose lengths are above, at and below multiples of eight bytes.
    private static let names: [StaticString] = [
        "te", "host", "accept", "if-match", "intent-seq", "authorization", "last-event-id", "content-length",
        "idempotency-key", "content-encoding", "transfer-encoding", "access-control-request-method",
    ]

    @Test func `A name is found in any case, and no other name is taken for it`() {
        for name in Self.names {
            let wanted = Array(String(describing: name).utf8)
            for place in wanted.indices {
                for byte in UInt8.min...UInt8.max where byte.isTokenByte {
                    var sent = wanted
                    sent[place] = byte
                    let fields = HeaderFields([(String(decoding: sent, as: UTF8.self), "v")])
                    #expect(fields.contains(name) == (byte.lowercased == wanted[place]))
                }
            }
        }
    }

    @Test func `The first of several values is read, and all are counted`() {
        let fields = HeaderFields([("Prefer", "wait=1"), ("Host", "x"), ("PREFER", "return=minimal"), ("Preset", "y")])
        #expect(fields["prefer"] == "wait=1")
        #expect(fields.occurrences(of: "prefer").count == 2)
        #expect(fields.occurrences(of: "prefer").first.map(Array.init) == Array("wait=1".utf8))
        #expect(fields.values(of: "prefer") == ["wait=1", "return=minimal"])
        #expect(fields.occurrences(of: "accept").count == 0)
        #expect(fields.occurrences(of: "accept").first == nil)
    }
}
