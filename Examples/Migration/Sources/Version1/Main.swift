import MVIServer

@main
struct Main: FeatureServerCommand {
    static let name = "wallet-1"
    static let summary = "Serve a wallet, as of its release 1."

    var content: ServerContent { Wallet() }
}
