import Locking
import MVI
import SessionJournal

extension StoreError.Code {
    /// Another node runs the session's turns: the request has to be made there. See `Session.owningNode`.
    package static let elsewhere = Self("elsewhere")
}

extension StoreError {
    static let elsewhere = StoreError(.elsewhere, "Another node runs the session's turns.", retryAfter: .seconds(1))
}
