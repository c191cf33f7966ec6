import MVIServer

@main
struct Main {
    /// Serves the wallet. Its settings are the server's (`MVI_…`).
    static func main() async throws {
        try await FeatureServer { Wallet() }.run()
    }
}
