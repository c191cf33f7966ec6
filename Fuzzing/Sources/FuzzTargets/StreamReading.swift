import EventStream
import Locking
import Sessions
import WireJSON

/// Reads a session's stream as a client does, and checks the guarantees of every stream.
struct StreamReading {
    private var parser = EventParser()
    private var last: Cursor?

    /// Reads all available events; returns false at the end of the stream.
    mutating func read(_ nextStep: () -> StreamStep) throws(BrokenProperty) -> Bool {
        for _ in 0..<1_000 {
            switch nextStep() {
            case .write(let bytes), .writeAll(let bytes): try take(bytes)
            case .wait: return true
            case .finish(let bytes):
                try take(bytes)
                return false
            }
        }
        throw BrokenProperty("a stream never waits")
    }

    private mutating func take(_ bytes: [UInt8]) throws(BrokenProperty) {
        let openings = [": ok", "retry: ", "id: ", "event: ", "data: {"].map { Array($0.utf8) }
        for line in bytes.split(separator: 0x0A) {
            try hold(
                openings.contains { line.starts(with: $0) } && !line.contains(0x0D),
                "a stream has the line '\(String(decoding: line, as: UTF8.self))'")
        }
        var parser = parser
        let events = try succeed("a stream cannot be read") { try parser.feed(bytes) }
        self.parser = parser
        for event in events {
            try hold(StreamEvents.names.contains(event.name), "a stream has the event '\(event.name)'")
            _ = try succeed("'\(event.text)' is not JSON") { try WireJSON.decode(JSONText.self, from: event.data) }
            if let id = event.id { try note(id) }
        }
    }

    /// Checks that the ids of one log never go back.
    private mutating func note(_ id: String) throws(BrokenProperty) {
        guard let cursor = Cursor(id) else { throw BrokenProperty("a stream has the id '\(id)'") }
        if let last, last.epoch == cursor.epoch {
            try hold(last.sequence <= cursor.sequence, "a stream goes back from \(last) to \(cursor)")
        }
        last = cursor
    }
}
