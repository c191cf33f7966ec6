import MVI
import SessionJournal
import WireJSON

/// A store without its types. An intent enters by a closure made where the feature's type is known, which costs one
/// indirect call; all else is rare, and goes over a protocol. All that leads here is `@inlinable`, so that the type is
/// known in the module of the feature's author, too.
@usableFromInline
struct StoreHandle: Sendable {
    /// An intent that was understood, ready to be accepted.
    @usableFromInline
    typealias Accept =
        @Sendable (
            _ id: IntentID, _ precondition: IntentPrecondition?, _ reply: PendingReply?,
            _ completion: @escaping @Sendable (Result<IntentOutcome, IntentRejection>) -> Void
        ) -> Void

    /// What a body is to the feature. No `Result`: a closure inside of one is wrapped and unwrapped by closures.
    @usableFromInline
    enum Decoded {
        case intent(Accept)
        case fault(WireDecodingError)
    }

    @usableFromInline let decode: @Sendable (_ body: [UInt8]) -> Decoded
    @usableFromInline let store: any UntypedStore

    @inlinable
    init<F: Feature>(_ store: Store<F>) {
        self.store = store
        decode = { body in
            do throws(WireDecodingError) {
                let intent = try WireJSON.decode(F.Intent.self, from: body)
                return .intent { id, precondition, reply, completion in
                    store.accept(
                        intent, id: id, precondition: precondition, attachment: reply, completion: completion)
                }
            } catch {
                return .fault(error)
            }
        }
    }
}

/// What a session asks of a store whatever its feature; see `Store`.
@usableFromInline
protocol UntypedStore: AnyObject, Sendable {
    var diagnostics: StoreDiagnostics { get }
    func start()
    func passivate() -> Bool
    func dispose()
    func whenSettled(_ intentID: IntentID, id: UInt64, _ action: @escaping @Sendable () -> Void) -> Bool
    func stopWaiting(for intentID: IntentID, id: UInt64)
    @discardableResult func beginWatching() -> Bool
    func endWatching()
}

extension Store: UntypedStore {}
