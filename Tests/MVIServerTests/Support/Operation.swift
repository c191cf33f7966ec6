/// The operations of the contract by their `operationId` in `openapi.yaml`; `HEAD` and `OPTIONS` are told apart by their
/// method (`Declared.id`).
enum Operation: String, Sendable, CaseIterable {
    case createSession
    case describeSession
    case endSession
    case signIn
    case signOut
    case listFeatures
    case describeFeature
    case readState
    case disposeStore
    case sendIntent
    case streamFeature
    case streamSession
    case reportLiveness
    case reportReadiness
    case describeRequest
    case readOpenAPI
    case readClient
    case explainProblem
    case readPage
    case readFile
    /// CORS preflight and `Allow`, of whatever path.
    case describeOptions
}
