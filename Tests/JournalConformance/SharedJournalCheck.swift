import SessionJournal
import Testing

/// One promise of `SharedJournal` with its check.
///
/// An engine's tests run all of them beside those of `JournalCheck`, each as a case of its own:
///
/// ```swift
/// @Test(arguments: SharedJournalCheck.all)
/// func `nodes that share the journal find what they are promised`(_ check: SharedJournalCheck) async throws {
///     let database = try TestDatabase()
///     try await check.run { try await database.openJournal() }
/// }
/// ```
package struct SharedJournalCheck: Sendable, CustomTestStringConvertible {
    /// The promise as a sentence.
    package let name: String
    let body: @Sendable (TestedNode, TestedNode) async throws -> Void

    init(_ name: String, body: @escaping @Sendable (TestedNode, TestedNode) async throws -> Void) {
        self.name = name
        self.body = body
    }

    package var testDescription: String { name }

    /// All promises.
    package static let all: [SharedJournalCheck] =
        [owners, callers, marks, nodes, orphans, streams, claims, news].flatMap(\.self)

    /// Opens a journal as two nodes, records a test issue for each violation of the promise, and closes it.
    ///
    /// - Parameters:
    ///   - limit: The time limit for a journal that does not respond.
    ///   - open: Opens an empty engine; the second call opens the same one beside the first.
    package func run(
        within limit: Duration = .seconds(600), open: @escaping @Sendable () async throws -> any SharedJournal
    ) async throws {
        let nodes = [try await TestedNode(1, open), try await TestedNode(2, open)]
        let ending = Answer<Result<Void, any Error>> {}
        let check = Task {
            do {
                try await body(nodes[0], nodes[1])
                for node in nodes { await node.journal.close() }
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
        for node in nodes { for fault in node.journal.faults { Issue.record(Comment(rawValue: fault)) } }
    }
}
