import Dispatch
import MVI
import MVITesting
import Testing

/// The texts of the failures that `body` records, none of which fails this test.
func failures(of body: () async -> Void) async -> [String] {
    let texts = Collected<String>()
    await withKnownIssue(isIntermittent: true) {
        await body()
    } matching: { issue in
        texts.append(issue.comments.map(\.rawValue).joined(separator: "\n"))
        return true
    }
    return texts.all
}

/// Runs `body` that many times at once, each time on a thread of its own as far as there are any.
func concurrently(_ count: Int, _ body: @escaping @Sendable (Int) async -> Void) async {
    await withTaskGroup(of: Void.self) { group in
        for index in 0..<count { group.addTask { await body(index) } }
    }
}

/// Blocks the thread that comes to it, as a handler that must not block does, until the test opens it.
/// Only for code on a thread of its own, such as a `TestExecutor`'s: a machine with two cores has two threads for all
/// tasks.
final class BlockingGate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let reached = Collected<Void>()

    func wait() {
        reached.append(())
        semaphore.wait()
    }

    func isReached() async { await reached.atLeast(1) }

    func open() { semaphore.signal() }
}

extension Result where Success == IntentOutcome, Failure == StoreError {
    /// `committed`, or the error's code.
    var text: String {
        switch self {
        case .success: "committed"
        case .failure(let error): error.code.name
        }
    }
}
