/// Why an enum cannot travel as the flat JSON of the wire; found by ``WireJSON/checkMapping(of:)`` at start-up.
public struct WireMappingError: Error, Hashable, Sendable {
    /// The case, as its `type` would be; nil when the example did not even give one.
    public let caseName: String?
    /// What is wrong and what to do about it.
    public let detail: String

    /// An error of its parts.
    public init(caseName: String?, detail: String) {
        self.caseName = caseName
        self.detail = detail
    }
}

extension WireMappingError: CustomStringConvertible {
    /// The case and what is wrong with it, in one line.
    public var description: String {
        caseName.map { "The case \"\($0)\" cannot be sent as JSON: \(detail)" } ?? "An example \(detail)"
    }
}
