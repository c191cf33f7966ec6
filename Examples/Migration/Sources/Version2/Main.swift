import MVIServer

@main
struct Main: FeatureServerCommand {
    static let name = "wallet-2"
    static let summary = "Serve a wallet, as of its release 2."

    var content: ServerContent { Wallet() }
}
