import ArgumentParser
import Logging
import MVI

/// A program that serves features, with all that goes with a server: flags, environment variables and a configuration
/// file, `--help`, health checks, and commands that list, export, back up and restore what is kept.
///
/// ```swift
/// @main
/// struct Shop: FeatureServerCommand {
///     var content: ServerContent {
///         Catalogue()
///         Keyed { Cart(shop: $0) }
///     }
/// }
/// ```
///
/// One that needs more (middleware, services, settings of its own) makes its `FeatureServer` itself:
///
/// ```swift
/// @main
/// struct Shop: FeatureServerCommand {
///     @Setting("reservation", .time(.seconds(1) ... .seconds(3_600)), "How long an order waits.")
///     var reservation: Duration = .seconds(600)
///
///     func server(_ start: ServerStart) async throws -> FeatureServer {
///         let database = try Database(start.settings.dataFile("shop.sqlite"))
///         return FeatureServer(page: page, services: [database]) { Catalogue(database) }
///     }
/// }
/// ```
///
/// What cannot be started says so in one line on standard error, and the program ends with the code 1; 64
/// (`EX_USAGE` of sysexits.h) where a flag or a setting is not right.
public protocol FeatureServerCommand: Sendable {
    /// The program's name, in help, errors and logs. By default the type's name, `LittleShop` becoming `little-shop`.
    static var name: String { get }
    /// One sentence for `--help`.
    static var summary: String { get }
    /// The output of `--version`; empty for no such flag.
    static var version: String { get }
    /// The prefix of variables for the command's own settings. By default the name in capitals: `SHOP`.
    static var environmentPrefix: String { get }
    /// Commands of its own, beside those that every server has.
    static var subcommands: [any ParsableCommand.Type] { get }

    /// A command with its settings: each stored property that is a ``Setting``, and those of stored properties that have
    /// such.
    init()

    /// The served content. Not used by a command that has `server(_:)`.
    @FeatureBuilder var content: ServerContent { get throws }
    /// The page for browsers. None by default.
    var page: [PageResource] { get }
    /// The server. What it was not given (settings, logger, metrics, journal) it gets from the command.
    func server(_ start: ServerStart) async throws -> FeatureServer
    /// The storage that several servers share: `SharedStorage.postgres` of the product `PostgresServer`. Nil, the
    /// default, for a server that keeps its sessions alone.
    var sharedStorage: SharedStorage? { get }
}

extension FeatureServerCommand {
    /// The type's name in lower case with hyphens.
    public static var name: String { kebabCase(String(describing: Self.self)) }
    /// `Serve features over HTTP.`
    public static var summary: String { "Serve features over HTTP." }
    /// None.
    public static var version: String { "" }
    /// The name in capitals.
    public static var environmentPrefix: String { String(name.uppercased().map { $0 == "-" ? "_" : $0 }) }
    /// None.
    public static var subcommands: [any ParsableCommand.Type] { [] }

    /// Nothing.
    public var content: ServerContent { ServerContent() }
    /// None.
    public var page: [PageResource] { [] }
    /// None.
    public var sharedStorage: SharedStorage? { nil }

    /// A server of the content and the page.
    public func server(_ start: ServerStart) async throws -> FeatureServer {
        try FeatureServer(page: page) { try content }
    }

    /// Runs the program with its arguments; called by `@main`. Ends the process where something is not right.
    public static func main() async { await main(Array(CommandLine.arguments.dropFirst())) }

    /// The same with arguments that are given, without the program's name.
    public static func main(_ arguments: [String]) async {
        StandardStreams.prepare()
        await ServerProgram<Self>.main(arguments)
    }
}

/// The parameters from which a server is made.
public struct ServerStart: Sendable {
    /// The settings of flags, environment and configuration file, checked.
    public let settings: ServerSettings
    /// The program's log.
    public let logger: Logger
    /// False where the server will not run, because the features' types are to be printed (`schema`, `types`): settings
    /// then say that nothing is kept, and secrets may be missing.
    public let isServing: Bool
}
