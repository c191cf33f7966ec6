/// A fault that the simulation tells from others by how it shows.
///
/// A run that finds one of `known` goes on, for who looks for others while one is being mended.
enum CoreFault: Int, CaseIterable, Sendable {
    case zombieOfOneBatch = 1
    case refusedStateKept = 2
    case reminderForEver = 3
    case reminderUnderUnreadable = 4
    case streamStays = 5
    case labelOfExclusion = 6
    /// Seen by the simulation of nodes alone.
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
    /// A state that a node read before a renewal replaces the renewed one.
    case staleRenewal = 18
    /// A sign-in whose disposal lost against other writers is answered as one of another subject.
    case otherIdentity = 19
    /// A stream shows a label before the state of its turn.
    case labelBeforeState = 20
    /// The clients of a session whose row was damaged for a while are told that it has ended.
    case endedByDamage = 21

    static let known: Set<CoreFault> = []
}

/// Something that went wrong in a run.
struct ChoreFinding: Sendable, CustomStringConvertible {
    let text: String
    let fault: CoreFault?

    var description: String { fault.map { "\(text) (fault \($0.rawValue))" } ?? text }
}
