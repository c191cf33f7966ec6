// swift-tools-version: 6.2
import Foundation
import PackageDescription

// Products of other packages that several targets take.
let arguments: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let deque: Target.Dependency = .product(name: "DequeModule", package: "swift-collections")
let heap: Target.Dependency = .product(name: "HeapModule", package: "swift-collections")
let lifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let metrics: Target.Dependency = .product(name: "CoreMetrics", package: "swift-metrics")
let signals: Target.Dependency = .product(name: "UnixSignals", package: "swift-service-lifecycle")
let tracing: Target.Dependency = .product(name: "Tracing", package: "swift-distributed-tracing")
let yaml: Target.Dependency = .product(name: "Yams", package: "Yams")

/// A library of the system, with the Debian package of its headers. Where they lie is pkg-config's to say.
func system(_ name: String, _ pkgConfig: String, _ package: String) -> Target {
    .systemLibrary(name: name, pkgConfig: pkgConfig, providers: [.apt([package])])
}

func library(_ name: String, _ dependencies: Target.Dependency..., in path: String? = nil) -> Target {
    .target(name: name, dependencies: dependencies, path: path)
}

func program(_ name: String, _ dependencies: Target.Dependency..., in path: String? = nil) -> Target {
    .executableTarget(name: name, dependencies: dependencies, path: path)
}

/// - Parameter outside: whether it sees the public declarations of the products only, as adopters do.
func tests(
    _ name: String, _ dependencies: Target.Dependency..., in path: String? = nil, not excluded: [String] = [],
    outside: Bool = false
) -> Target {
    .testTarget(name: name, dependencies: dependencies, path: path, exclude: excluded, packageAccess: !outside)
}

/// What adopters can write themselves, from outside.
func example(_ name: String, _ dependencies: Target.Dependency..., in path: String, page: [Resource]? = nil) -> Target {
    .executableTarget(name: name, dependencies: dependencies, path: path, resources: page, packageAccess: false)
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
        // Options of a server: who does not name them does not build them.
        .library(name: "JWTAuthentication", targets: ["JWTAuthentication"]),
        .library(name: "PostgresServer", targets: ["PostgresServer"]),
        .library(name: "PrometheusMetrics", targets: ["PrometheusMetrics"]),
        // A thread for the SQLite database of one's own features.
        .library(name: "SQLite", targets: ["SQLite"]),
        // Journals to give a server.
        .library(name: "SessionJournal", targets: ["SessionJournal"]),
        .library(name: "SQLiteJournal", targets: ["SQLiteJournal"]),
        .library(name: "PostgresJournal", targets: ["PostgresJournal"]),
        .executable(name: "mvi-server", targets: ["mvi-server"]),
        .executable(name: "mvi-tools", targets: ["mvi-tools"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        // The borders to C.
        system("CLibCrypto", "libcrypto", "libssl-dev"),
        system("CLibCurl", "libcurl", "libcurl4-openssl-dev"),
        system("CMicroHTTPD", "libmicrohttpd", "libmicrohttpd-dev"),
        system("CPostgreSQL", "libpq", "libpq-dev"),
        system("CSQLite", "sqlite3", "libsqlite3-dev"),
        .target(name: "CLocking"),
        .target(name: "CResources", exclude: ["base.css", "inspector", "page"]),

        // Pure code: no I/O, no HTTP.
        library("Locking", "CLocking"),
        library("Networks", "Locking"),
        library("RFC3339"),
        library("MVI", "Locking", "RFC3339", tracing),
        library("WireJSON", "RFC3339"),
        library("JSONDelta", "WireJSON"),
        library("Schema", "WireJSON"),
        library("EventStream"),
        library("PrometheusMetrics", "Locking", metrics),
        library("SessionJournal", "LibCrypto", "Locking", "MVI", deque, heap),
        library(
            "Sessions", "EventStream", "JSONDelta", "LibCrypto", "Locking", "MVI", "Networks", "SessionJournal",
            "WireJSON", deque, metrics, tracing),

        // Over the borders to C.
        library("LibCrypto", "CLibCrypto"),
        library("LibCurl", "CLibCurl", "Locking"),
        library("MicroHTTP", "CMicroHTTPD", "Locking", "Networks", logging),
        library("SQLite", "CSQLite", "Locking"),
        library("PostgreSQL", "CPostgreSQL", "Locking"),
        library("SQLiteJournal", "EventStream", "Locking", "MVI", "SQLite", "SessionJournal", deque, logging),
        library("PostgresJournal", "Locking", "MVI", "PostgreSQL", "SessionJournal", deque, logging),

        // The server, its options, the demo. The tools know a server by its address only.
        library(
            "MVIServer", "CResources", "EventStream", "JSONDelta", "LibCrypto", "Locking", "MVI", "MicroHTTP",
            "Networks", "PrometheusMetrics", "SQLiteJournal", "Schema", "SessionJournal", "Sessions", "WireJSON",
            arguments, lifecycle, logging, metrics, tracing),
        library("PostgresServer", "LibCurl", "MVIServer", "PostgresJournal", "SessionJournal", logging),
        library("JWTAuthentication", "LibCrypto", "LibCurl", "Locking", "MVI", "MVIServer", "WireJSON", logging),
        library("DemoFeatures", "CResources", "Locking", "MVI", "MVIServer", "SQLite", lifecycle, logging),
        program("mvi-server", "DemoFeatures", "JWTAuthentication", "MVIServer", "PostgresServer"),
        program("mvi-tools", "EventStream", "LibCurl", "Locking", "WireJSON", arguments, signals),

        // Clients, and tests of adopters' own.
        library("MVIClient", "EventStream", "JSONDelta", "Locking", "MVI", "WireJSON", deque),
        library("MVITesting", "Locking", "MVI", "Networks", "SessionJournal", "Sessions", "WireJSON"),
        library(
            "MVIServerTesting", "EventStream", "Locking", "MVI", "MVIClient", "MVIServer", "MVITesting",
            "SQLiteJournal", "SessionJournal", "Sessions", "WireJSON", logging),

        // Examples; NewServer and NewSharedServer are what script/new copies, trial-server has features for script/trial and script/bench.
        example(
            "shop", "JWTAuthentication", "MVI", "MVIServer", in: "Examples/Shop/Sources",
            page: [.embedInCode("Page")]),
        example(
            "desk", "JWTAuthentication", "MVI", "MVIServer", "SQLite", lifecycle, in: "Examples/Desk/Sources",
            page: [.embedInCode("Page")]),
        example("minimal", "MVI", "MVIServer", in: "Examples/Minimal/Sources"),
        example("wallet-1", "MVI", "MVIServer", in: "Examples/Migration/Sources/Version1"),
        example("wallet-2", "MVI", "MVIServer", in: "Examples/Migration/Sources/Version2"),
        example(
            "NewServer", "MVI", "MVIServer", in: "Examples/Template/Sources/NewServer", page: [.embedInCode("Page")]),
        example(
            "NewSharedServer", "JWTAuthentication", "MVI", "MVIServer",
            in: "Examples/SharedTemplate/Sources/NewSharedServer", page: [.embedInCode("Page")]),
        example(
            "trial-server", "MVI", "MVIServer", "PostgresJournal", "PostgresServer", "SessionJournal", logging,
            in: "Trials/Sources"),

        // For script/bench: pieces of the hot path to count instructions of, and the journals alone.
        program(
            "micro", "EventStream", "Locking", "MVI", "MVIServer", "MicroHTTP", "SessionJournal", "Sessions",
            "WireJSON", in: "Benchmarks/Sources/micro"),
        program(
            "journals", "Locking", "MVI", "PostgresJournal", "SQLiteJournal", "SessionJournal", logging,
            in: "Benchmarks/Sources/journals"),
        // For script/fuzz: functions that take any bytes, and the program that runs libFuzzer on one of them.
        library(
            "FuzzTargets", "EventStream", "JSONDelta", "JWTAuthentication", "Locking", "MVI", "MVIServer", "MVITesting",
            "MicroHTTP", "Networks",
            "SQLite", "SQLiteJournal", "SessionJournal", "Sessions", "WireJSON", in: "Fuzzing/Sources/FuzzTargets"),
        program("fuzz", "FuzzTargets", in: "Fuzzing/Sources/fuzz"),

        // What tests share, a disk that fails when a test says so, the Swift client as the conformance kit drives it.
        library("TestSupport", "Locking", "MVITesting", logging, in: "Tests/TestSupport"),
        library("JournalConformance", "Locking", "MVI", "SessionJournal", in: "Tests/JournalConformance"),
        library("CFaultyDisk", "CSQLite", in: "Tests/CFaultyDisk"),
        program("swift-client-driver", "Locking", "MVIClient", "WireJSON", in: "Tests/MVIClientDriver"),
        // They name the top of their dependencies.
        tests("MVITests", "MVITesting", "TestSupport"),
        tests("FormatTests", "EventStream", "JSONDelta", "MVI", "Schema", "WireJSON"),
        tests("BorderTests", "LibCrypto", "LibCurl", "SQLite", "TestSupport"),
        tests("MicroHTTPTests", "MicroHTTP"),
        tests("SessionsTests", "MVITesting", "TestSupport"),
        tests("MVIClientTests", "MVIClient", "MVIServer", "MVITesting", "TestSupport"),
        tests("JournalTests", "CFaultyDisk", "JournalConformance", "MVITesting", "SQLiteJournal", "TestSupport"),
        tests("PostgresJournalTests", "JournalConformance", "TestSupport", "mvi-server"),
        tests(
            "MVIServerTests", "MVITesting", "TestSupport", "mvi-server", yaml,
            .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
            .product(name: "Metrics", package: "swift-metrics")),
        tests("JWTAuthenticationTests", "JWTAuthentication", "MVITesting", "TestSupport"),
        tests("ToolsTests", "MVIServer", "MVITesting", "TestSupport", "mvi-tools"),
        tests(
            "CommandTests", "MVIServerTesting", "MVITesting", "TestSupport", "desk", "mvi-server", yaml,
            not: ["Types/Files"]),
        tests("FuzzTargetsTests", "FuzzTargets"),
        // The code of the pages; DocumentationTests compares it.
        tests(
            "PagesTests", "JWTAuthentication", "MVIServerTesting", "PostgresServer", in: "Examples/Pages", outside: true
        ),
        tests("DocumentationTests", "TestSupport", "desk", "shop", yaml),
        tests("MinimalTests", "MVITesting", "TestSupport", "minimal", in: "Examples/Minimal/Tests"),
        tests("MigrationTests", "MVITesting", "TestSupport", "wallet-1", "wallet-2", in: "Examples/Migration/Tests"),
        tests("ShopTests", "MVIServerTesting", "MVITesting", "shop", in: "Examples/Shop/Tests", outside: true),
        tests("DeskTests", "MVIServerTesting", "MVITesting", "desk", in: "Examples/Desk/Tests", outside: true),
        tests("NewServerTests", "MVITesting", "NewServer", in: "Examples/Template/Tests/NewServerTests", outside: true),
        tests(
            "NewSharedServerTests", "MVIServerTesting", "MVITesting", "NewSharedServer",
            in: "Examples/SharedTemplate/Tests/NewSharedServerTests", outside: true),
        tests("MVIServerTestingTests", "MVIServerTesting", "MVITesting", outside: true),
    ]
)

// For script/docs; nobody else fetches it.
if Context.environment["MVI_DOCS"] != nil {
    package.dependencies.append(.package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"))
}

// Where only a server is built, as in the Dockerfile, tests and examples are not there.
package.targets.removeAll { target in
    guard let folder = target.path ?? (target.type == .test ? "Tests/\(target.name)" : nil) else { return false }
    return !FileManager.default.fileExists(atPath: "\(Context.packageDirectory)/\(folder)")
}
// The programs as script/new names them.
for (name, target) in [("new-server", "NewServer"), ("new-shared-server", "NewSharedServer")]
where package.targets.contains(where: { $0.name == target }) {
    package.products.append(.executable(name: name, targets: [target]))
}
// Swift 6 mode (the tools version's default), no warnings, `any` written out.
for target in package.targets where target.type != .system {
    target.swiftSettings = [.treatAllWarnings(as: .error), .enableUpcomingFeature("ExistentialAny")]
}
