// swift-tools-version: 6.2
import PackageDescription

let strict: [CSetting] = [
    .define("_GNU_SOURCE"), .treatAllWarnings(as: .error), .enableWarning("all"), .enableWarning("extra"),
]

/// A package of its own, so that nobody who depends on mvi-server builds it.
let package = Package(
    name: "Benchmarks",
    products: [
        .executable(name: "loadgen", targets: ["loadgen"]),
        .executable(name: "limit", targets: ["limit"]),
    ],
    targets: [
        // C, one thread, no dependencies: it must cost less than what it measures.
        .executableTarget(name: "loadgen", cSettings: strict),
        // What libmicrohttpd allows: the same visible work in C with nothing around it.
        .systemLibrary(
            name: "CMicroHTTPD", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
        .executableTarget(name: "limit", dependencies: ["CMicroHTTPD"], cSettings: strict),
    ],
    cLanguageStandard: .c17
)
