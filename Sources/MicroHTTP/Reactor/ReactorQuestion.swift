import Locking

/// Tests if a reactor's thread still runs its loop.
final class ReactorQuestion: ReactorMember {
    private let thread: ReactorThread
    private let answer: @Sendable () -> Void
    private let id = Lock<UInt64>(0)

    init(_ thread: ReactorThread, answer: @escaping @Sendable () -> Void) {
        self.thread = thread
        self.answer = answer
    }

    func ask() {
        let number = thread.add(self, .question, deadline: .max / 2)
        id.withLock { $0 = number }
        _ = thread.enqueue(number)
    }

    func ready(_ events: SocketEvents) {}
    func timeReached(_ now: UInt64) -> UInt64? { nil }

    func run() {
        thread.remove(id.withLock { $0 })
        answer()
    }

    func dismissed() { thread.remove(id.withLock { $0 }) }
}
