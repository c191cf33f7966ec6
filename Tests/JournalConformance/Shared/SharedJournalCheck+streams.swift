import MVI
import SessionJournal
import Testing

/// The number of a session's streams on all nodes.
extension SharedJournalCheck {
    static let streams: [SharedJournalCheck] = [
        SharedJournalCheck("streams of a session are counted over all nodes") { one, other in
            try await one.join()
            try await other.join()
            let (log, free) = (try await one.journal.newLog(), try await one.journal.newLog())
            #expect(try await one.noteStreams(3, of: log, limit: 4))
            #expect(try await other.noteStreams(2, of: log, limit: 4) == false)
            #expect(try await other.noteStreams(1, of: log, limit: 4))
            #expect(try await one.noteStreams(4, of: log, limit: 4) == false)
            // Other sessions are unaffected.
            #expect(try await one.noteStreams(4, of: free, limit: 4))
            #expect(try await one.noteStreams(1, of: log, limit: 4))
            #expect(try await other.noteStreams(3, of: log, limit: 4))
            #expect(try await one.noteStreams(0, of: log, limit: nil))
            #expect(try await other.noteStreams(4, of: log, limit: 4))
            // Noted without a limit.
            #expect(try await one.noteStreams(9, of: log, limit: nil))
            #expect(try await other.noteStreams(5, of: log, limit: 12) == false)
            #expect(try await other.noteStreams(3, of: log, limit: 12))
        },
        SharedJournalCheck("streams of a node that is gone do not count") { one, other in
            try await one.join()
            try await other.join()
            let log = try await one.journal.newLog()
            #expect(try await one.noteStreams(4, of: log, limit: 4))
            #expect(try await other.noteStreams(1, of: log, limit: 4) == false)
            #expect(try await other.forget(one.id))
            #expect(try await other.noteStreams(4, of: log, limit: 4))
        },
        SharedJournalCheck("two nodes that open streams at the same time stay within the limit") { one, other in
            try await one.join()
            try await other.join()
            var logs: [Log] = []
            for _ in 0..<20 { logs.append(try await one.journal.newLog()) }
            for log in logs {
                async let first = one.noteStreams(1, of: log, limit: 1)
                async let second = other.noteStreams(1, of: log, limit: 1)
                let results = [try await first, try await second]
                #expect(results.count { $0 } == 1)
            }
        },
    ]
}
