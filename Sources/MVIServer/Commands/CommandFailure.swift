import ArgumentParser

/// The reason for which a command was not carried out, and its remedy.
package struct CommandFailure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// A command beside serving.
package protocol ServerSubcommand: AsyncParsableCommand {
    /// The program that it is a command of.
    associatedtype Command: FeatureServerCommand
}

extension ServerSubcommand {
    /// Carries a command out; says on standard error why it was not, and ends with the exit code 1 then.
    package func reporting(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch let failure as CommandFailure {
            StandardError.say(failure.description, by: Command.name)
            throw ExitCode(1)
        }
    }
}
