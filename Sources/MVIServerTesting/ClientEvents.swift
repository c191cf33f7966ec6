import EventStream
import Locking
import MVI
import MVIClient
import MVITesting
import WireJSON

/// The events of a client's stream, in order. A call that waits for an event drops earlier ones of its kind and store.
public final class ClientEvents: Sendable {
    private struct State {
        var parser = EventParser()
        var waiting: [ParsedEvent] = []
        /// All events, for the text of a failure.
        var names: [String] = []
        var isOver = false
        var client: PlainClient?
    }

    private struct Named: Decodable { var feature: String? }
    private struct Shown<Value: Decodable>: Decodable { let state: Value }
    private struct Published<Value: Decodable>: Decodable { let label: Value }

    private static let patience: Duration = .seconds(30)
    private let state = Lock(State())
    private let signal = Signal()

    init() {}

    /// Keeps the connection open during the lifetime of the events.
    func keep(_ client: PlainClient) { state.withLock { $0.client = client } }

    func take(_ piece: PlainClient.Piece) {
        state.withLock { state in
            switch piece {
            case .end: state.isOver = true
            case .bytes(let bytes):
                do throws(EventParsingError) {
                    let events = try state.parser.feed(bytes)
                    state.waiting += events
                    state.names += events.map { "\($0.name) \($0.text.prefix(200))" }
                } catch {
                    state.isOver = true
                }
            }
        }
        signal.send()
    }

    /// Waits for a state of a store that satisfies a condition.
    ///
    /// - Throws: ``TestServerError`` with the received events, after 30 s of real time.
    @discardableResult
    public func state<F: Feature>(
        of store: ClientStore<F>, where isWanted: @escaping @Sendable (F.ViewState) -> Bool = { _ in true }
    ) async throws(TestServerError) -> F.ViewState {
        try await next("state", of: store.id) { data in
            guard let shown = try? WireJSON.decode(Shown<F.ViewState>.self, from: data).state else { return nil }
            return isWanted(shown) ? shown : nil
        }
    }

    /// Waits for the next label of a store.
    ///
    /// - Throws: as ``state(of:where:)``.
    @discardableResult
    public func label<F: Feature>(of store: ClientStore<F>) async throws(TestServerError) -> F.Label {
        try await next("label", of: store.id) { try? WireJSON.decode(Published<F.Label>.self, from: $0).label }
    }

    /// Waits for the next event with a name: `denied`, `store-ended`, `goaway` or another event of the HTTP API.
    ///
    /// - Returns: the event's data.
    /// - Throws: as ``state(of:where:)``.
    @discardableResult
    public func event(_ name: String) async throws(TestServerError) -> String {
        try await next(name, of: nil) { String(decoding: $0, as: UTF8.self) }
    }

    private func next<Value: Sendable>(
        _ name: String, of store: String?, _ read: @escaping @Sendable ([UInt8]) -> Value?
    ) async throws(TestServerError) -> Value {
        let found = Lock<Value?>(nil)
        let isOver = await signal.wait(atMost: Self.patience) { [state] in
            state.withLock { state in
                while let index = state.waiting.firstIndex(where: { Self.isOf($0, name, store) }) {
                    let value = read(state.waiting.remove(at: index).data)
                    if let value {
                        found.withLock { $0 = value }
                        return true
                    }
                }
                return state.isOver
            }
        }
        if let value = found.withLock({ $0 }) { return value }
        let came = state.withLock { $0.names }.map { "\n  \($0)" }.joined()
        throw TestServerError(
            "No event \"\(name)\"\(store.map { " of \($0)" } ?? "") arrived: "
                + (isOver
                    ? "the stream has ended." : "none within 30 seconds. Waiting work needs `server.advance(by:)`.")
                + (came.isEmpty ? " No events arrived." : " These arrived:\(came)"))
    }

    private static func isOf(_ event: ParsedEvent, _ name: String, _ store: String?) -> Bool {
        guard event.name == name else { return false }
        guard let store else { return true }
        return (try? WireJSON.decode(Named.self, from: event.data))?.feature == store
    }
}
