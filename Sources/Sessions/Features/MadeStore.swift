import MVI
import SessionJournal
import WireJSON

/// A store that was just made or brought back, and what its session is to know of it.
@usableFromInline
struct MadeStore: Sendable {
    @usableFromInline let handle: StoreHandle
    @usableFromInline let view: [UInt8]
    /// The state that the store begins with as it is kept; nil if the journal has it.
    @usableFromInline let unwrittenState: [UInt8]?
    /// Why the state that was kept could not be read; nil if it could, or none was.
    @usableFromInline let setsAside: String?

    @inlinable
    init<F: Feature>(_ feature: F, seed: StoreSeed) throws {
        let initialState = feature.initialState
        var state: F.State?
        var setsAside: String?
        if let stored = seed.stored {
            do {
                state = try StoredState.read(stored, of: F.self, initial: initialState)
            } catch {
                setsAside = "\(error)"
            }
        }
        let log = EncodingLog<F>(
            feature: feature, stateLimit: seed.stateLimit, outboxLimit: seed.outboxLimit,
            isRecording: seed.environment.isRecording, commit: seed.commit)
        let store = Store(
            feature, state: state, environment: seed.environment, middleware: seed.middleware, log: log)
        handle = StoreHandle(store)
        view = try WireJSON.encode(store.view)
        self.setsAside = setsAside
        // A view that another version of the code made of the same state is another view.
        let isKept = state != nil && view == seed.stored?.view && seed.stored?.schemaVersion == F.schemaVersion
        unwrittenState = isKept ? nil : try StoredState.write(state ?? initialState)
    }
}
