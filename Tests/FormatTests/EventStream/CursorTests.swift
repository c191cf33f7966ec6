import EventStream
import Testing

@Suite("Epochs and cursors")
struct CursorTests {
    @Test("an epoch is thirteen characters of lower-case base32, and another one each time")
    func epochs() {
        let epochs = (0..<1000).map { _ in Epoch.random() }
        #expect(Set(epochs).count == 1000)
        let alphabet = Set("abcdefghijklmnopqrstuvwxyz234567".utf8)
        for epoch in epochs {
            #expect(epoch.utf8.count == 13)
            #expect(epoch.utf8.allSatisfy(alphabet.contains))
            #expect(Epoch.isValid(epoch))
        }
        // 64 bits in 13 times 5: the first character holds four bits only, and all of them are used.
        #expect(Set(epochs.compactMap(\.utf8.first)).count == 16)
        #expect(Set(epochs.compactMap(\.utf8.last)).count == 32)
    }

    @Test("a cursor is its epoch, a dot and its number", arguments: [0, 1, 41, 1 << 53, .max] as [UInt64])
    func roundTrips(sequence: UInt64) throws {
        let longest = String(repeating: "x", count: Epoch.maximumLength)
        for epoch in ["k3", "A.b_c~d-9", "..", longest] {
            let cursor = Cursor(epoch: epoch, sequence: sequence)
            #expect(cursor.description == "\(epoch).\(sequence)")
            #expect(cursor.description.utf8.count <= 128)
            #expect(Cursor(cursor.description) == cursor)
            #expect(Cursor("<\(cursor)>".dropFirst().dropLast()) == cursor)
        }
    }

    @Test(
        "every other text is none",
        arguments: [
            "", ".", "k3", "k3.", ".5", "k3.05", "k3.00", "k3.+5", "k3.-5", "k3.5 ", " k3.5", "k3 .5", "k3.5.", "k3.x",
            "k3.5x", "k3.18446744073709551616", "k3.99999999999999999999999", "k/3.5", "k3\r.5", "k3\r\n.5", "k3\0.5",
            "é.5", "k3.５", "k3,5", "earliest", "now",
            String(repeating: "x", count: 108) + ".5", String(repeating: "x", count: 127) + ".5",
        ])
    func refuses(text: String) {
        #expect(Cursor(text) == nil)
    }

    @Test("what may be an epoch")
    func validEpochs() {
        #expect(!Epoch.isValid(""))
        #expect(!Epoch.isValid("a b"))
        #expect(!Epoch.isValid("a\n"))
        #expect(!Epoch.isValid(String(repeating: "a", count: Epoch.maximumLength + 1)))
    }
}
