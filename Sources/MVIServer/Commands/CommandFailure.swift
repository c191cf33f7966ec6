import ArgumentParser

/// An error that ends a command: the cause and a remedy.
package struct CommandFailure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// A subcommand other than serving.
package protocol ServerSubcommand: AsyncParsableCommand {
    /// The program of the command.
    associatedtype Command: FeatureServerCommand
}

extension ServerSubcommand {
    /// Runs a command. Writes an error to the standard error and exits with 1.
    package func reporting(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch let failure as CommandFailure {
            StandardError.say(failure.description, by: Command.name)
            throw ExitCode(1)
        }
    }
}
