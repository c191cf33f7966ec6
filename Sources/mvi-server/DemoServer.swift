import DemoFeatures
import JWTAuthentication
import MVIServer
import PostgresServer

/// `mvi-server`: serves the demo features.
@main
struct DemoServer: FeatureServerCommand {
    static let name = "mvi-server"
    static let summary = "Serve MVI features over HTTP: clients post intents, and read states and labels."
    static let version = ServerVersion.number
    static let environmentPrefix = "MVI"

    var jwt = JWTSettings()
    @Setting(
        "demo-latency", .time(.zero ... .seconds(60)), "Minimal duration of each call of the demo's services.")
    var latency: Duration = .milliseconds(400)
    @Setting(
        "demo-failures", .number(0...100), "Percentage of the demo's service calls that fail at random.",
        valueName: "percent")
    var failures = 0

    var sharedStorage: SharedStorage? { .postgres }

    func server(_ start: ServerStart) async throws -> FeatureServer {
        let demo = try Demo(
            databasePath: try start.settings.dataFile("demo.sqlite"),
            conditions: DemoConditions(
                latency: latency, failures: failures == 0 ? .none : .rate(Double(failures) / 100)),
            logger: start.logger)
        let authenticator = start.isServing ? try await jwt.authenticator(logger: start.logger) : nil
        return FeatureServer(page: Demo.page, authenticator: authenticator, services: [demo]) { demo.features }
    }
}
