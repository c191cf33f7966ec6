import SessionJournal
import Testing

/// One promise of `Journal` with its check.
///
/// An engine's tests run all of them, each as a case of its own:
///
/// ```swift
/// @Test(arguments: JournalCheck.all) func `the journal keeps its promises`(_ check: JournalCheck) async throws {
///     try await check.run { MemoryJournal() }
/// }
/// ```
///
/// and for an engine that outlives its process, each twice, the second time opening it anew before every look at what
/// was kept:
///
/// ```swift
/// @Test(arguments: JournalCheck.all, [false, true])
/// func `the journal keeps its promises`(_ check: JournalCheck, reopening: Bool) async throws {
///     let folder = try TemporaryFolder()
///     try await check.run(reopening: reopening) { try SQLiteJournal(folder: folder.path) }
/// }
/// ```
///
/// Times are whole milliseconds: an engine need not keep finer ones.
package struct JournalCheck: Sendable, CustomTestStringConvertible {
    /// The promise as a sentence.
    package let name: String
    let body: @Sendable (TestedJournal) async throws -> Void

    init(_ name: String, body: @escaping @Sendable (TestedJournal) async throws -> Void) {
        self.name = name
        self.body = body
    }

    package var testDescription: String { name }

    /// All promises.
    package static let all: [JournalCheck] = [
        creation, credentials, changes, subjects, removal, stores, heads, news, units, receipts, labels, reminders,
        alarms, touches, expiry, spaces, visits, heard, order, recordings, contents, closing,
    ].flatMap(\.self)

    /// Opens a journal, records an issue of the current test for each violation of the promise, and closes it.
    ///
    /// - Parameters:
    ///   - reopening: True to close and reopen the journal before each read of stored data.
    ///   - limit: The time limit for a journal that does not respond.
    ///   - open: Opens an empty engine; a later call, after `close`, opens the same one again.
    package func run(
        reopening: Bool = false, within limit: Duration = .seconds(600),
        open: @escaping @Sendable () async throws -> any Journal
    ) async throws {
        let journal = try await TestedJournal(reopens: reopening, open: open)
        // Separate tasks instead of a group: a journal that blocks its caller forever must not block the check's end.
        let ending = Answer<Result<Void, any Error>> {}
        let check = Task {
            do {
                try await body(journal)
                await journal.close()
                ending.give(.success(()))
            } catch {
                ending.give(.failure(error))
            }
        }
        let alarm = Task {
            try await Task.sleep(for: limit)
            ending.give(.failure(JournalDoesNotAnswer(limit: limit)))
        }
        defer {
            check.cancel()
            alarm.cancel()
        }
        try await ending.value.get()
        for fault in journal.faults { Issue.record(Comment(rawValue: fault)) }
    }
}

/// A check that did not complete.
struct JournalDoesNotAnswer: Error, CustomStringConvertible {
    let limit: Duration

    var description: String { "The journal did not answer within \(limit): `done` was not called, or `close` waits." }
}
