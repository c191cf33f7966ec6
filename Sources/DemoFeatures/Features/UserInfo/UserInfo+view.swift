extension UserInfo {
    /// The content of the screen, ready to display.
    struct ViewState: Codable, Equatable, Sendable {
        enum Status: String, Codable, Sendable { case loading, content, error }

        struct Profile: Codable, Equatable, Sendable {
            var name: String
            /// "AB"
            var initials: String
            var email: String
            var phone: String?
            var city: String
            /// "Team plan · member since March 2021"
            var membership: String
        }

        var status: Status
        /// The profile loaded last; it stays during the next load and when that fails.
        var profile: Profile?
        var error: String?
    }

    func view(_ state: State) -> ViewState {
        let profile = state.user.map(profile)
        return switch state.progress {
        case .loading: ViewState(status: .loading, profile: profile)
        case .failed:
            ViewState(status: .error, profile: profile, error: "Your profile could not be loaded. Try again.")
        case .idle: ViewState(status: profile == nil ? .loading : .content, profile: profile)
        }
    }

    private func profile(_ user: User) -> ViewState.Profile {
        ViewState.Profile(
            name: user.name, initials: String(user.name.split(separator: " ").prefix(2).compactMap(\.first)),
            email: user.email, phone: user.phone, city: user.city,
            membership: "\(user.plan) plan · member since \(user.joinedAt.monthText)")
    }
}
