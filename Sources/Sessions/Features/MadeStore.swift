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
        let (state, setsAside) = Self.read(seed.stored, of: F.self, initial: initialState)
        let log = EncodingLog<F>(
            feature: feature, stateLimit: seed.stateLimit, outboxLimit: seed.outboxLimit,
            isRecording: seed.environment.isRecording, commit: seed.commit)
        let store = Store(
            feature, state: state, environment: seed.environment, middleware: seed.middleware, log: log)
        handle = StoreHandle(store)
        view = try WireJSON.encode(store.view)
        self.setsAside = setsAside
        let isKept = state != nil && Self.isKept(view, schemaVersion: F.schemaVersion, in: seed.stored)
        unwrittenState = isKept ? nil : try StoredState.write(state ?? initialState)
    }

    /// The state that is kept, if there is one; or why it cannot be read.
    @inlinable
    static func read<F: Feature>(
        _ stored: StoredStore?, of type: F.Type, initial: F.State
    ) -> (state: F.State?, setsAside: String?) {
        guard let stored else { return (nil, nil) }
        do {
            return (try StoredState.read(stored, of: F.self, initial: initial), nil)
        } catch {
            return (nil, "\(error)")
        }
    }

    /// Whether the journal has all that there is: a view that another version of the code made of the same state is
    /// another view.
    @usableFromInline
    static func isKept(_ view: [UInt8], schemaVersion: Int, in stored: StoredStore?) -> Bool {
        stored?.view == view && stored?.schemaVersion == schemaVersion
    }
}
