import MVI
import SessionJournal
import Sessions

/// The shared knowledge of one session's clients.
final class SessionOfClients {
    let token: SessionToken
    let features: [FeatureID]
    /// The features that are sometimes disposed.
    let disposable: Set<FeatureID>
    let limit: Int
    var numbers = 0
    /// The newest version of each feature that a client saw, with its number of entries.
    var floors: [FeatureID: UInt64] = [:]
    var known: [FeatureID: (epoch: String, version: UInt64, seen: Int)] = [:]
    /// True if the session was ended, or may have been.
    var isEnding = false

    /// Forgets all knowledge of a lost log.
    func goBack() { (floors, known) = ([:], [:]) }

    init(_ token: SessionToken, _ features: [FeatureID], disposable: Set<FeatureID>, limit: Int) {
        (self.token, self.features, self.disposable, self.limit) = (token, features, disposable, limit)
    }
}
