// swift-tools-version: 6.2
import Foundation
import PackageDescription

// Products of other packages that several targets take.
let arguments: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let configuration: Target.Dependency = .product(name: "Configuration", package: "swift-configuration")
let deque: Target.Dependency = .product(name: "DequeModule", package: "swift-collections")
let heap: Target.Dependency = .product(name: "HeapModule", package: "swift-collections")
let lifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let metrics: Target.Dependency = .product(name: "CoreMetrics", package: "swift-metrics")
let signals: Target.Dependency = .product(name: "UnixSignals", package: "swift-service-lifecycle")
let tracing: Target.Dependency = .product(name: "Tracing", package: "swift-distributed-tracing")
let yaml: Target.Dependency = .product(name: "Yams", package: "Yams")

/// A library of the system, with the Debian package of its headers. Where they lie is pkg-config's to say.
func systemLibrary(_ name: String, _ pkgConfig: String, _ package: String) -> Target {
    .systemLibrary(name: name, pkgConfig: pkgConfig, providers: [.apt([package])])
}

/// What adopters can write themselves: it sees the public declarations of the products only.
func example(_ name: String, _ path: String, _ dependencies: [Target.Dependency], resources: [Resource]? = nil)
    -> Target
{
    .executableTarget(
        name: name, dependencies: dependencies, path: path, resources: resources, packageAccess: false)
}

let package = Package(
    name: "mvi-server",
    platforms: [.macOS(.v15), .iOS(.v17)],
    products: [
        // A feature, its tests, its server, the server's tests, an app.
        .library(name: "MVI", targets: ["MVI"]),
        .library(name: "MVITesting", targets: ["MVITesting"]),
        .library(name: "MVIServer", targets: ["MVIServer"]),
        .library(name: "MVIServerTesting", targets: ["MVIServerTesting"]),
        .library(name: "MVIClient", targets: ["MVIClient"]),
        // Options of a server. Whoever does not name them does not build them.
        .library(name: "JWTAuthentication", targets: ["JWTAuthentication"]),
        .library(name: "PostgresServer", targets: ["PostgresServer"]),
        .library(name: "PrometheusMetrics", targets: ["PrometheusMetrics"]),
        // Journals, and what each must do.
        .library(name: "SessionJournal", targets: ["SessionJournal"]),
        .library(name: "SQLiteJournal", targets: ["SQLiteJournal"]),
        .library(name: "PostgresJournal", targets: ["PostgresJournal"]),
        .library(name: "JournalConformance", targets: ["JournalConformance"]),
        .executable(name: "mvi-server", targets: ["mvi-server"]),
        .executable(name: "mvi-tools", targets: ["mvi-tools"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: []),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        // The borders to C.
        systemLibrary("CLibCrypto", "libcrypto", "libssl-dev"),
        systemLibrary("CLibCurl", "libcurl", "libcurl4-openssl-dev"),
        systemLibrary("CMicroHTTPD", "libmicrohttpd", "libmicrohttpd-dev"),
        systemLibrary("CPostgreSQL", "libpq", "libpq-dev"),
        systemLibrary("CSQLite", "sqlite3", "libsqlite3-dev"),
        .target(name: "CResources", exclude: ["page"]),

        // Pure code: no I/O, no HTTP.
        .target(name: "Locking"),
        .target(name: "Networks", dependencies: ["Locking"]),
        .target(name: "MVI", dependencies: ["Locking", deque, tracing]),
        .target(name: "WireJSON"),
        .target(name: "JSONDelta", dependencies: ["WireJSON"]),
        .target(name: "Schema", dependencies: ["WireJSON"]),
        .target(name: "EventStream"),
        .target(name: "PrometheusMetrics", dependencies: ["Locking", metrics]),
        .target(name: "SessionJournal", dependencies: ["MVI", "Locking", deque, heap]),
        .target(
            name: "Sessions",
            dependencies: [
                "MVI", "WireJSON", "JSONDelta", "EventStream", "SessionJournal", "LibCrypto", "Locking", "Networks",
                metrics, deque, logging, tracing,
            ]),

        // Over the borders to C.
        .target(name: "LibCrypto", dependencies: ["CLibCrypto"]),
        .target(name: "LibCurl", dependencies: ["CLibCurl", "Locking"]),
        .target(name: "MicroHTTP", dependencies: ["CMicroHTTPD", "Locking", "Networks", logging]),
        .target(name: "SQLite", dependencies: ["CSQLite", "Locking"]),
        .target(name: "PostgreSQL", dependencies: ["CPostgreSQL"]),
        .target(name: "SQLiteJournal", dependencies: ["MVI", "SessionJournal", "SQLite", "Locking", deque, logging]),
        .target(
            name: "PostgresJournal", dependencies: ["MVI", "SessionJournal", "PostgreSQL", "Locking", deque, logging]),

        // The server, its options, the demo.
        .target(
            name: "MVIServer",
            dependencies: [
                "MVI", "Sessions", "SessionJournal", "SQLiteJournal", "MicroHTTP", "Networks", "WireJSON",
                "EventStream", "Locking", "CResources", "PrometheusMetrics", "Schema", arguments, configuration,
                "LibCrypto", metrics, logging, lifecycle, tracing,
            ]),
        .target(
            name: "PostgresServer",
            dependencies: ["LibCurl", "MVIServer", "PostgresJournal", "SessionJournal", logging]),
        .target(
            name: "JWTAuthentication",
            dependencies: [
                "LibCrypto", "LibCurl", "Locking", "MVI", "MVIServer", "WireJSON", logging,
            ]),
        .target(
            name: "DemoFeatures",
            dependencies: ["MVI", "MVIServer", "SQLite", "CResources", "Locking", logging, lifecycle]),
        .executableTarget(
            name: "mvi-server",
            dependencies: ["DemoFeatures", "JWTAuthentication", "MVIServer", "PostgresServer", arguments]),
        // What examines and watches a server by its address.
        .executableTarget(
            name: "mvi-tools", dependencies: ["EventStream", "LibCurl", "Locking", "WireJSON", arguments, signals]),

        // Clients, and tests of adopters' own.
        .target(
            name: "MVIClient", dependencies: ["MVI", "WireJSON", "JSONDelta", "EventStream", "Locking", deque]),
        .target(name: "MVITesting", dependencies: ["MVI", "Sessions", "SessionJournal", "WireJSON", "Locking"]),
        .target(
            name: "MVIServerTesting",
            dependencies: [
                "EventStream", "Locking", "MVI", "MVIClient", "MVIServer", "MVITesting", "SQLiteJournal",
                "SessionJournal", "Sessions", "WireJSON", logging,
            ]),

        example(
            "shop", "Examples/Shop/Sources",
            ["JWTAuthentication", "MVI", "MVIServer", logging],
            resources: [.embedInCode("Page")]),
        example("minimal", "Examples/Minimal/Sources", ["MVI", "MVIServer"]),
        example("wallet-1", "Examples/Migration/Sources/Version1", ["MVI", "MVIServer"]),
        example("wallet-2", "Examples/Migration/Sources/Version2", ["MVI", "MVIServer"]),
        example(
            "NewServer", "Examples/Template/Sources/NewServer", ["MVI", "MVIServer"],
            resources: [.embedInCode("Page")]),

        // For script/bench: pieces of the hot path to count instructions of, and the journals alone.
        .executableTarget(
            name: "micro",
            dependencies: [
                "EventStream", "Locking", "MicroHTTP", "MVI", "MVIServer", "SessionJournal", "Sessions", "WireJSON",
            ],
            path: "Benchmarks/Sources/micro"),
        .executableTarget(
            name: "journals",
            dependencies: ["Locking", "MVI", "PostgresJournal", "SQLiteJournal", "SessionJournal", logging],
            path: "Benchmarks/Sources/journals"),

        // For script/fuzz: functions that take any bytes, and the program that runs libFuzzer on one of them. The fuzzer's
        // flags are the script's, so that a plain build has none.
        .target(
            name: "FuzzTargets",
            dependencies: [
                "EventStream", "JSONDelta", "Locking", "MicroHTTP", "MVI", "MVIServer", "MVITesting", "SessionJournal",
                "Sessions", "SQLiteJournal", "WireJSON",
            ],
            path: "Fuzzing/Sources/FuzzTargets"),
        .executableTarget(name: "fuzz", dependencies: ["FuzzTargets"], path: "Fuzzing/Sources/fuzz"),

        // For script/trial and script/bench: features that no product has.
        example(
            "trial-server", "Trials/Sources",
            ["MVI", "MVIServer", "PostgresJournal", "PostgresServer", "SessionJournal", logging]),

        // What several test targets share, a disk that fails when a test says so, and the Swift client as the conformance
        // kit drives it.
        .target(
            name: "TestSupport",
            dependencies: ["MVI", "SessionJournal", "Sessions", "Locking", "MVITesting", "WireJSON", logging],
            path: "Tests/TestSupport"),
        .target(
            name: "JournalConformance", dependencies: ["MVI", "SessionJournal", "Locking"],
            path: "Tests/JournalConformance"),
        .target(name: "CFaultyDisk", dependencies: ["CSQLite"], path: "Tests/CFaultyDisk"),
        .executableTarget(
            name: "swift-client-driver", dependencies: ["MVIClient", "WireJSON", "Locking"],
            path: "Tests/MVIClientDriver"),

        .testTarget(
            name: "MVITests",
            dependencies: ["MVI", "MVITesting", "Sessions", "SessionJournal", "TestSupport", "WireJSON"]),
        .testTarget(name: "FormatTests", dependencies: ["EventStream", "JSONDelta", "MVI", "Schema", "WireJSON"]),
        .testTarget(name: "MicroHTTPTests", dependencies: ["Locking", "MicroHTTP", "Networks"]),
        .testTarget(name: "BorderTests", dependencies: ["CLibCrypto", "LibCrypto", "LibCurl", "Locking", "SQLite", "TestSupport"]),
        .testTarget(
            name: "SessionsTests",
            dependencies: [
                "Sessions", "JSONDelta", "LibCrypto", "SessionJournal", "TestSupport", "EventStream", "WireJSON",
                "MVITesting",
            ]),
        .testTarget(
            name: "MVIClientTests",
            dependencies: [
                "MVIClient", "Locking", "MVI", "MVIServer", "MVITesting", "SessionJournal", "Sessions", "TestSupport",
                "WireJSON", logging,
            ]),
        .testTarget(
            name: "JournalTests",
            dependencies: [
                "CFaultyDisk", "JournalConformance", "Locking", "MVI", "SQLite", "SQLiteJournal", "SessionJournal",
                "Sessions", "TestSupport", logging,
            ],
            exclude: ["SQLite/schema-1.sql", "SQLite/schema-3.sql"]),
        .testTarget(
            name: "PostgresJournalTests",
            dependencies: [
                "mvi-server", "MVIServer", "PostgresJournal", "PostgreSQL", "MVI", "SessionJournal", "SQLiteJournal",
                "JournalConformance", "Locking", "TestSupport", logging,
            ]),
        .testTarget(
            name: "MVIServerTests",
            dependencies: [
                "MVIServer", "MVITesting", "TestSupport", "mvi-server", "CResources", "EventStream", "JSONDelta",
                "JWTAuthentication", "Locking", "MicroHTTP", "MVI", "Networks", "PostgresServer", "SessionJournal",
                "Sessions", "WireJSON", "PrometheusMetrics", "LibCrypto",
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
                .product(name: "Metrics", package: "swift-metrics"), logging, yaml,
            ]),
        .testTarget(
            name: "JWTAuthenticationTests",
            dependencies: [
                "CLibCrypto", "JWTAuthentication", "LibCrypto", "Locking", "MVI", "MVIServer", "MVITesting",
                "TestSupport", logging,
            ]),
        .testTarget(
            name: "ToolsTests",
            dependencies: [
                "mvi-tools", "Locking", "MVI", "MVIServer", "MVITesting", "SessionJournal", "Sessions", "TestSupport",
                logging,
            ]),
        .testTarget(
            name: "CommandTests",
            dependencies: [
                "mvi-server", "MVIServer", "DemoFeatures", "TestSupport", "SQLiteJournal", "SessionJournal",
                "MVITesting", "WireJSON", "Locking", lifecycle, logging, yaml,
            ],
            exclude: ["Types/Files"]),
        .testTarget(name: "FuzzTargetsTests", dependencies: ["FuzzTargets"]),
        // Holds the code of the pages and of the tutorial against Snippets and the compiler.
        .testTarget(name: "DocumentationTests", dependencies: ["TestSupport", "shop", yaml]),
        .testTarget(
            name: "ShopTests",
            dependencies: ["shop", "JWTAuthentication", "MVI", "MVIServer", "MVIServerTesting", "MVITesting"],
            path: "Examples/Shop/Tests", packageAccess: false),
        .testTarget(
            name: "MVIServerTestingTests",
            dependencies: ["MVI", "MVIServer", "MVIServerTesting", "MVITesting", lifecycle], packageAccess: false),
        .testTarget(
            name: "NewServerTests", dependencies: ["NewServer", "MVI", "MVITesting"],
            path: "Examples/Template/Tests/NewServerTests", packageAccess: false),
        .testTarget(
            name: "MinimalTests", dependencies: ["minimal", "MVITesting", "TestSupport"],
            path: "Examples/Minimal/Tests"),
        .testTarget(
            name: "MigrationExampleTests", dependencies: ["wallet-1", "wallet-2", "MVI", "MVITesting", "TestSupport"],
            path: "Examples/Migration/Tests"),
    ]
)

// For script/docs; nobody else fetches it.
if Context.environment["MVI_DOCS"] != nil {
    package.dependencies.append(.package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"))
}

// Every target of ours: Swift 6 mode (the tools version's default), no warnings, `any` written out.
// Where only a server is built, as in the Dockerfile, tests and examples are not there.
package.targets.removeAll { target in
    let folder = target.path ?? "\(target.type == .test ? "Tests" : "Sources")/\(target.name)"
    return !FileManager.default.fileExists(atPath: "\(Context.packageDirectory)/\(folder)")
}
let names = Set(package.targets.map(\.name))
package.products.removeAll { !names.isSuperset(of: ($0 as? Product.Library)?.targets ?? []) }
for target in package.targets where target.type != .system {
    target.swiftSettings = [.treatAllWarnings(as: .error), .enableUpcomingFeature("ExistentialAny")]
}
