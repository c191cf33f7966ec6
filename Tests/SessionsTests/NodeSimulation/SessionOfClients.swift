import SessionJournal
import Sessions

/// The common knowledge of one session's clients.
final class SessionOfClients {
    let token: SessionToken
    let features: [FeatureID]
    /// Those that are disposed of now and then.
    let disposable: Set<FeatureID>
    let limit: Int
    var numbers = 0
    /// The newest version of each feature that one of them saw, with how many entries it has.
    var floors: [FeatureID: UInt64] = [:]
    var known: [FeatureID: (epoch: String, version: UInt64, seen: Int)] = [:]
    /// True if the session was ended, or may have been.
    var isEnding = false

    /// Drops the knowledge of a lost log.
    func goBack() { (floors, known) = ([:], [:]) }

    init(_ token: SessionToken, _ features: [FeatureID], disposable: Set<FeatureID>, limit: Int) {
        (self.token, self.features, self.disposable, self.limit) = (token, features, disposable, limit)
    }
}
