/// What a view shows of something that is loaded.
enum LoadStatus: String, Codable, Sendable {
    /// Nothing has been loaded.
    case empty
    case loading
    case content
    case error

    /// Loading is shown before an error of earlier, and an error before what was loaded earlier still.
    init(isLoading: Bool, hasFailed: Bool, isEmpty: Bool) {
        self =
            if isLoading {
                .loading
            } else if hasFailed {
                .error
            } else {
                isEmpty ? .empty : .content
            }
    }
}
