import DequeModule
import Dispatch
import Locking
import SessionJournal

/// What waits for the writer, and how far it is.
///
/// Each item gets a ticket, one after the other. A read must see what was handed over before it for the same session,
/// so it looks at the ticket of the last such item; sessions share some thousand places for that, which costs a read now
/// and then a needless wait for the transaction under way, and an append one store into an array.
final class WriterQueue: Sendable {
    struct Entry: Sendable {
        let item: WriteItem
        let bytes: Int
        let ticket: UInt64
    }

    private struct State {
        var waiting: Deque<Entry> = []
        var lastTicket: UInt64 = 0
        /// Everything up to it was done or refused.
        var doneTicket: UInt64 = 0
        var unfinishedBytes = 0
        var sessionTickets = [UInt64](repeating: 0, count: 4_096)
        var tokenTickets = [UInt64](repeating: 0, count: 256)
        /// How many items wake the writer; nil while it is awake.
        var wakeCount: Int?
        /// Whether the reader waits for `doneTicket` to grow.
        var isReaderWaiting = false
        var isClosing = false
    }

    private let state = Lock(State())
    private let signal = DispatchSemaphore(value: 0)
    private let limits: (items: UInt64, bytes: Int)
    /// Called when the reader waits and something was done.
    let wakeReader: @Sendable () -> Void

    init(items: Int, bytes: Int, wakeReader: @escaping @Sendable () -> Void) {
        limits = (UInt64(items), bytes)
        self.wakeReader = wakeReader
    }

    // MARK: Those who hand over

    /// Takes an item for the writer; says why if it does not.
    func hand(_ item: WriteItem) -> JournalFailure? {
        let bytes = item.bytes
        let (refusal, wakes) = state.withLock { state -> (JournalFailure?, Bool) in
            if state.isClosing { return (.closed, false) }
            if state.lastTicket - state.doneTicket >= limits.items || state.unfinishedBytes > limits.bytes {
                return (.tooMuchWaits, false)
            }
            state.lastTicket += 1
            Self.note(item, state.lastTicket, &state)
            state.unfinishedBytes += bytes
            state.waiting.append(Entry(item: item, bytes: bytes, ticket: state.lastTicket))
            guard let count = state.wakeCount, state.waiting.count >= count else { return (nil, false) }
            state.wakeCount = nil
            return (nil, true)
        }
        if wakes { signal.signal() }
        return refusal
    }

    /// Refuses what comes from now on.
    func close() {
        state.withLock { $0.isClosing = true }
        signal.signal()
    }

    var isClosing: Bool { state.withLock { $0.isClosing } }

    /// How many items were handed over and are not done.
    var length: Int { state.withLock { Int($0.lastTicket - $0.doneTicket) } }

    // MARK: The writer

    /// Moves what waits to `pending`; says whether there comes no more.
    func take(_ pending: inout Deque<Entry>) -> Bool {
        state.withLock { state in
            if pending.isEmpty { swap(&pending, &state.waiting) } else { pending.append(contentsOf: state.waiting) }
            state.waiting.removeAll(keepingCapacity: true)
            return state.isClosing
        }
    }

    /// Waits until so many items were handed over, at most for a time.
    func wait(for count: Int = 1, atMost time: Duration?) {
        let sleeps = state.withLock { state in
            if state.waiting.count >= count || state.isClosing { return false }
            state.wakeCount = count
            return true
        }
        guard sleeps else { return }
        if let time {
            _ = signal.wait(timeout: .now() + .nanoseconds(Int(max(0, time.nanoseconds))))
            state.withLock { $0.wakeCount = nil }
        } else {
            signal.wait()
        }
    }

    /// Notes that everything up to a ticket is done, so many bytes of it.
    func finished(_ ticket: UInt64, bytes: Int) {
        let wakes = state.withLock { state in
            state.doneTicket = ticket
            state.unfinishedBytes -= bytes
            defer { state.isReaderWaiting = false }
            return state.isReaderWaiting
        }
        if wakes { wakeReader() }
    }

    // MARK: The reader

    /// The last ticket, that of the last item about a session, or of the last new session with such a token.
    func ticket(_ scope: TicketScope) -> UInt64 {
        state.withLock { state in
            switch scope {
            case .all: state.lastTicket
            case .session(let session): state.sessionTickets[Self.place(session, state)]
            case .token(let token): state.tokenTickets[token.shard % state.tokenTickets.count]
            }
        }
    }

    var doneTicket: UInt64 { state.withLock { $0.doneTicket } }

    /// Calls for `wakeReader` when more is done than up to `ticket`; false if there is more already.
    func wakeReader(after ticket: UInt64) -> Bool {
        state.withLock { state in
            guard state.doneTicket == ticket else { return false }
            state.isReaderWaiting = true
            return true
        }
    }

    private static func note(_ item: WriteItem, _ ticket: UInt64, _ state: inout State) {
        switch item {
        case .touch(let touches, _):
            for touch in touches { state.sessionTickets[place(touch.session, state)] = ticket }
        case .create(let session, _):
            state.tokenTickets[session.tokenHash.shard % state.tokenTickets.count] = ticket
        default:
            if let session = item.session { state.sessionTickets[place(session, state)] = ticket }
        }
    }

    private static func place(_ session: SessionKey, _ state: State) -> Int {
        Int(truncatingIfNeeded: session.number) & (state.sessionTickets.count - 1)
    }
}

/// What a read must not miss.
enum TicketScope {
    case all
    case session(SessionKey)
    case token(TokenHash)
}

extension JournalFailure {
    static let tooMuchWaits = JournalFailure(
        .unavailable, "Too much waits for the journal already; its disk does not keep up.")
}
