/// A fault that the simulation identifies by its symptoms.
///
/// A run that finds one of `known` continues, so that others can be found while one is being fixed.
enum CoreFault: Int, CaseIterable, Sendable {
    case zombieOfOneBatch = 1
    case refusedStateKept = 2
    case reminderForEver = 3
    case reminderUnderUnreadable = 4
    case streamStays = 5
    case labelOfExclusion = 6
    /// Only the simulation of nodes finds it.
    case unreadableElsewhere = 7
    case expiredPushOut = 8
    case settledTooEarly = 9
    case aliveAfterEnd = 11
    case judgedAgain = 12
    case tooManyReminders = 13
    case signInUntold = 14
    case damagedForEver = 15
    case noBackoff = 16
    case starved = 17
    /// A node that gets a renewal replaces it by an older read.
    case staleRenewal = 18
    /// A sign-in whose disposal had a conflict is answered as one of another subject.
    case otherIdentity = 19
    /// A stream sends a label before the state of its turn.
    case labelBeforeState = 20
    /// Clients of a session whose row was damaged for a while are told that it has ended.
    case endedByDamage = 21

    static let known: Set<CoreFault> = []
}

/// A fault in a run.
struct ChoreFinding: Sendable, CustomStringConvertible {
    let text: String
    let fault: CoreFault?

    var description: String { fault.map { "\(text) (fault \($0.rawValue))" } ?? text }
}
