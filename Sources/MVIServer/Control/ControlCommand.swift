/// Something that a running server does when a command on its machine asks for it.
package struct ControlCommand: Sendable {
    /// The word by which it is asked for.
    let name: String
    /// Does it; what comes back, or why it could not be done, is one line of text.
    let run: @Sendable (_ argument: String) async -> Result<String, ControlFailure>

    package init(_ name: String, run: @escaping @Sendable (String) async -> Result<String, ControlFailure>) {
        self.name = name
        self.run = run
    }
}
