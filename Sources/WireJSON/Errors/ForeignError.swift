/// Errors of `init(from:)` that come from an author, the compiler or the standard library.
enum ForeignError {
    /// Returns the description for the sender of the document.
    ///
    /// The text of an author's `dataCorrupted` is meant for the sender. Other texts may contain type names and are
    /// replaced.
    static func detail(of error: any Error, _ type: any Any.Type) -> String {
        let fallback = type is any RawRepresentable.Type ? "not one of the values allowed" : "not a valid value"
        switch error as? DecodingError {
        case .dataCorrupted(let context):
            return isPresentable(context.debugDescription, type) ? context.debugDescription : fallback
        case .keyNotFound: return "a member is missing"
        case .valueNotFound: return "expected a value, found none"
        case .typeMismatch: return "expected a value of another kind"
        default: return fallback
        }
    }

    /// Returns the place that the error itself names.
    static func path(of error: any Error) -> [any CodingKey] {
        guard let error = error as? DecodingError, let context = error.context else { return [] }
        if case .keyNotFound(let key, _) = error { return context.codingPath + [key] }
        return context.codingPath
    }

    /// Returns true if the synthesized decoding of an enum found no case, or several.
    static func isComplaintAboutCase(_ error: any Error) -> Bool {
        guard case .typeMismatch(_, let context) = error as? DecodingError else { return false }
        return context.debugDescription.hasPrefix("Invalid number of keys found")
    }

    private static func isPresentable(_ text: String, _ type: any Any.Type) -> Bool {
        // Enums with raw values throw "Cannot initialize Mode from invalid String value x".
        !text.isEmpty && text.utf8.count <= 256 && !text.hasPrefix("Cannot initialize ")
            && !contains(text, _typeName(type, qualified: false))
    }

    private static func contains(_ text: String, _ part: String) -> Bool {
        let (text, part) = (Array(text.utf8), Array(part.utf8))
        guard part.count <= text.count else { return false }
        return (0...text.count - part.count).contains { text[$0...].starts(with: part) }
    }
}
