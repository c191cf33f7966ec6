import CLibCurl
import Locking

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The thread that runs all requests of a client, with the operations for other threads.
final class CurlLoop: Sendable {
    typealias Waiter = CheckedContinuation<CurlFailure?, Never>

    private struct Asked {
        var starts: [(Transfer, Waiter)] = []
        var cancels: [Transfer] = []
        var isRunning = false
        var isClosed = false
    }

    private let asked = Lock(Asked())
    private let multi: Multi

    init(connections: Int, idleTime: Duration) {
        multi = Multi(connections: connections, idleTime: idleTime)
    }

    func start(_ transfer: Transfer, _ waiter: Waiter) {
        let (isClosed, isFirst) = asked.withLock { asked in
            guard !asked.isClosed else { return (true, false) }
            asked.starts.append((transfer, waiter))
            defer { asked.isRunning = true }
            return (false, !asked.isRunning)
        }
        guard !isClosed else { return waiter.resume(returning: .closed) }
        guard isFirst else { return multi.wake() }
        if let thread = SystemThread({ [self] in run() }) { return thread.detach() }
        let starts = asked.withLock { asked in
            defer { (asked.starts, asked.isRunning) = ([], false) }
            return asked.starts
        }
        for (_, waiter) in starts { waiter.resume(returning: .noThread) }
    }

    func cancel(_ transfer: Transfer) {
        // This may happen before the start.
        transfer.isCancelled.withLock { $0 = true }
        asked.withLock { $0.cancels.append(transfer) }
        multi.wake()
    }

    func close() {
        asked.withLock { $0.isClosed = true }
        multi.wake()
    }

    private func run() {
        // A write to a closed connection returns an error instead of a signal.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)

        var running: [Transfer: Waiter] = [:]
        func end(_ transfer: Transfer, _ failure: CurlFailure?) {
            guard let waiter = running.removeValue(forKey: transfer) else { return }
            multi.remove(transfer)
            waiter.resume(returning: failure)
        }
        var isClosed = false
        while !isClosed {
            let now = ContinuousClock.now
            let asked = asked.withLock { asked in
                let copy = asked
                (asked.starts, asked.cancels) = ([], [])
                return copy
            }
            isClosed = asked.isClosed
            for (transfer, waiter) in asked.starts {
                running[transfer] = waiter
                if let failure = multi.add(transfer, now) { end(transfer, failure) }
            }
            for transfer in asked.cancels { end(transfer, transfer.failure(.cancelled, "the request was canceled")) }
            multi.perform()
            while let (transfer, failure) = multi.next() { end(transfer, failure) }
            for transfer in running.keys where transfer.deadline.map({ $0 <= now }) ?? false {
                end(transfer, transfer.failure(.tookTooLong, "the time limit was exceeded"))
            }
            if !isClosed { multi.wait(until: running.keys.compactMap(\.deadline).min()) }
        }
        for transfer in Array(running.keys) { end(transfer, transfer.failure(.cancelled, "the client was closed")) }
    }
}
