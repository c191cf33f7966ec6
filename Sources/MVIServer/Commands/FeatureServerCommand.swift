import ArgumentParser
import Logging
import MVI

/// A program that serves features, with flags, environment variables, a configuration file, `--help`, health checks,
/// and commands that list, export, back up and restore sessions.
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
/// A program that needs more (middleware, services, its own settings) creates its `FeatureServer` itself:
///
/// ```swift
/// @main
/// struct Shop: FeatureServerCommand {
///     @Setting("reservation", .time(.seconds(1) ... .seconds(3_600)), "The time to pay an order.")
///     var reservation: Duration = .seconds(600)
///
///     func server(_ start: ServerStart) async throws -> FeatureServer {
///         let database = try Database(start.settings.dataFile("shop.sqlite"))
///         return FeatureServer(page: page, services: [database]) { Catalogue(database) }
///     }
/// }
/// ```
///
/// If the program cannot start, it writes one line to the standard error and exits with 1, or with 64 (`EX_USAGE` of
/// sysexits.h) for an invalid flag or setting.
public protocol FeatureServerCommand: Sendable {
    /// The program's name, in help, errors and logs. By default the type's name in kebab case: `little-shop` for
    /// `LittleShop`.
    static var name: String { get }
    /// One sentence for `--help`.
    static var summary: String { get }
    /// The text of `--version`; empty for no such flag.
    static var version: String { get }
    /// The prefix of the variables of the command's own settings. By default the name in capitals: `SHOP`.
    static var environmentPrefix: String { get }
    /// Additional subcommands.
    static var subcommands: [any ParsableCommand.Type] { get }

    /// Creates the command with its settings: each stored property that is a ``Setting``, also in nested values.
    init()

    /// The features and endpoints to serve. Not used by a command with its own `server(_:)`.
    @FeatureBuilder var content: ServerContent { get throws }
    /// The files to show in a browser. None by default.
    var page: [PageResource] { get }
    /// Returns the server. The command completes it with settings, logger, metrics and journal if they are nil.
    func server(_ start: ServerStart) async throws -> FeatureServer
    /// The shared storage of several servers, for settings that name it: `SharedStorage.postgres` of the product
    /// `PostgresServer`. Nil by default: the server stores its sessions alone.
    var sharedStorage: SharedStorage? { get }
    /// The command's own files, such as a SQLite database of its features, which `backup` and `restore` copy together with
    /// a SQLite journal. None by default.
    func ownFiles(_ settings: ServerSettings) throws -> [OwnFile]
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
    /// None.
    public func ownFiles(_ settings: ServerSettings) throws -> [OwnFile] { [] }

    /// Returns a server with the content and the page.
    public func server(_ start: ServerStart) async throws -> FeatureServer {
        try FeatureServer(page: page) { try content }
    }

    /// Runs the program with its arguments; called by `@main`. Exits on an error.
    public static func main() async { await main(Array(CommandLine.arguments.dropFirst())) }

    /// Runs the program with given arguments, without the program's name.
    public static func main(_ arguments: [String]) async {
        StandardStreams.prepare()
        await ServerProgram<Self>.main(arguments)
    }
}

/// The values that a server is created with.
public struct ServerStart: Sendable {
    /// The checked settings of flags, environment and configuration file.
    public let settings: ServerSettings
    /// The program's log.
    public let logger: Logger
    /// False if the server will not run, because the features' types are printed (`schema`, `types`). The settings then
    /// name no data folder, and secrets may be missing.
    public let isServing: Bool
}
