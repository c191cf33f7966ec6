import MVIServer

/// The program: serves the features in `content`, with all flags and commands of a server (`--help`).
@main
struct Server: FeatureServerCommand {
    static let name = "new-server"
    static let version = "0.1.0"

    var content: ServerContent {
        Tally()
    }

    var page: [PageResource] {
        [
            PageResource("/", PackageResources.index_html),
            PageResource("/page.js", PackageResources.page_js),
        ]
    }
}
