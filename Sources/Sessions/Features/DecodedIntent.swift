import MVI
import WireJSON

/// What a body is to its feature: it is read once.
@usableFromInline
enum DecodedIntent: Sendable {
    /// Asks a store's feature whether the intent has to pass a check first.
    @usableFromInline
    typealias CheckOf = @Sendable (any StoreRunner) -> PendingCheck?

    /// The intent's turn; and what is to be asked about it before, where there was no store to ask yet.
    case turn(RunTurn, check: CheckOf?)
    /// It has to pass a check first.
    case check(PendingCheck)
    case fault(WireDecodingError)

    /// - Parameter runner: that of the store; nil where there is none in memory.
    @inlinable
    init<F: Feature>(_ body: [UInt8], of feature: F.Type, for runner: (any StoreRunner)?) {
        do throws(WireDecodingError) {
            let intent = try WireJSON.decode(F.Intent.self, from: body)
            guard let runner = runner as? TurnRunner<F> else {
                self = .turn(TurnRunner<F>.execute(intent)) { ($0 as? TurnRunner<F>)?.check(intent) }
                return
            }
            if let check = runner.check(intent) {
                self = .check(check)
            } else {
                self = .turn(TurnRunner<F>.execute(intent), check: nil)
            }
        } catch {
            self = .fault(error)
        }
    }

    var fault: WireDecodingError? { if case .fault(let fault) = self { fault } else { nil } }

    /// The check that the intent has to pass on a store; nil if there is none.
    func check(on runner: any StoreRunner) -> PendingCheck? {
        switch self {
        case .turn(_, let check): check?(runner)
        case .check(let check): check
        case .fault: nil
        }
    }
}
