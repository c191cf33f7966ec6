// swift-tools-version: 6.2
import PackageDescription

/// Every target of ours: Swift 6 mode (the tools version's default), no warnings, `any` written out.
let settings: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
]

// Products that several targets take.
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let deque: Target.Dependency = .product(name: "DequeModule", package: "swift-collections")
let tracing: Target.Dependency = .product(name: "Tracing", package: "swift-distributed-tracing")
let metrics: Target.Dependency = .product(name: "CoreMetrics", package: "swift-metrics")
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let lifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let arguments: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let yaml: Target.Dependency = .product(name: "Yams", package: "Yams")
let configuration: Target.Dependency = .product(name: "Configuration", package: "swift-configuration")

let package = Package(
    name: "mvi-server",
    platforms: [.macOS(.v15), .iOS(.v17)],
    products: [
        .library(name: "MVI", targets: ["MVI"]),
        .library(name: "MVITesting", targets: ["MVITesting"]),
        .library(name: "MVIClient", targets: ["MVIClient"]),
        .library(name: "MVIServer", targets: ["MVIServer"]),
        .library(name: "MVIServerTesting", targets: ["MVIServerTesting"]),
        .library(name: "SessionJournal", targets: ["SessionJournal"]),
        .library(name: "SQLiteJournal", targets: ["SQLiteJournal"]),
        .library(name: "PostgresJournal", targets: ["PostgresJournal"]),
        .library(name: "JournalConformance", targets: ["JournalConformance"]),
        .library(name: "PrometheusMetrics", targets: ["PrometheusMetrics"]),
        .library(name: "NodeTransport", targets: ["NodeTransport"]),
        .library(name: "PostgresServer", targets: ["PostgresServer"]),
        .library(name: "JWTAuthentication", targets: ["JWTAuthentication"]),
        .executable(name: "mvi-server", targets: ["mvi-server"]),
        .executable(name: "shop", targets: ["shop"]),
        .executable(name: "new-server", targets: ["NewServer"]),
    ],
    // What a server does without is not even fetched: `.package(url: …, traits: [])`.
    traits: [
        .default(enabledTraits: ["JWT", "Nodes", "Tools"]),
        .trait(name: "JWT", description: "The product JWTAuthentication."),
        .trait(
            name: "Nodes", description: "The products NodeTransport and PostgresServer: servers that share a database."),
        .trait(name: "Tools", description: "The executable mvi-server: the demo, top and doctor."),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        // Without its reader of JSON files, which alone would bring Foundation and ICU (44 MB) into the program.
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: []),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        // For script/docs. No target needs it, so packages that depend on this one do not fetch it.
        .package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"),
        .package(url: "https://github.com/vapor/jwt-kit", from: "5.7.1"),
    ],
    targets: [
        // The one lock; nothing else may be `@unchecked Sendable` outside the C borders.
        .target(name: "Locking", swiftSettings: settings),
        // Where clients come from, and how what is bounded is shared between their networks.
        .target(name: "Networks", dependencies: ["Locking"], swiftSettings: settings),

        // Pure code: no I/O, no HTTP.
        .target(name: "MVI", dependencies: ["Locking", deque, tracing], swiftSettings: settings),
        .target(
            name: "MVITesting", dependencies: ["MVI", "Sessions", "SessionJournal", "WireJSON", "Locking"],
            swiftSettings: settings),
        .target(name: "WireJSON", swiftSettings: settings),
        .target(name: "JSONDelta", dependencies: ["WireJSON"], swiftSettings: settings),
        // What types look like on the wire, for clients in other languages.
        .target(name: "Schema", dependencies: ["WireJSON"], swiftSettings: settings),
        .target(name: "EventStream", swiftSettings: settings),
        .target(
            name: "PrometheusMetrics", dependencies: ["Locking", metrics], swiftSettings: settings),
        // For apps: nothing of the server's, no C library.
        .target(
            name: "MVIClient",
            dependencies: ["MVI", "WireJSON", "JSONDelta", "EventStream", "Locking", deque],
            swiftSettings: settings),
        .target(
            name: "SessionJournal",
            dependencies: [
                "MVI", "Locking", deque, .product(name: "HeapModule", package: "swift-collections"),
            ],
            swiftSettings: settings),
        .target(
            name: "JournalConformance", dependencies: ["MVI", "SessionJournal", "Locking"], swiftSettings: settings),
        .target(
            name: "Sessions",
            dependencies: [
                "MVI", "WireJSON", "JSONDelta", "EventStream", "SessionJournal", "Locking", "Networks", metrics, crypto,
                deque, logging, tracing,
            ],
            swiftSettings: settings),

        // The C borders.
        .systemLibrary(
            name: "CMicroHTTPD", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
        .target(
            name: "MicroHTTP",
            dependencies: ["CMicroHTTPD", "Locking", "Networks", logging],
            swiftSettings: settings),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .target(name: "SQLite", dependencies: ["CSQLite", "Locking"], swiftSettings: settings),
        .target(
            name: "SQLiteJournal",
            dependencies: [
                "MVI", "SessionJournal", "SQLite", "Locking", deque, logging,
            ],
            swiftSettings: settings),
        // Of its own, so that only servers that share a database build it and need libpq.
        .systemLibrary(name: "CPostgreSQL", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .target(name: "PostgreSQL", dependencies: ["CPostgreSQL"], swiftSettings: settings),
        .target(
            name: "PostgresJournal",
            dependencies: [
                "MVI", "SessionJournal", "PostgreSQL", "Locking", deque, logging,
            ],
            swiftSettings: settings),
        // The page's files are no resources of SwiftPM's: `#embed` builds them in.
        .target(name: "CResources", exclude: ["page"]),

        // The server.
        .target(
            name: "MVIServer",
            dependencies: [
                "MVI", "Sessions", "SessionJournal", "SQLiteJournal", "MicroHTTP", "Networks", "WireJSON",
                "EventStream", "Locking", "CResources", "PrometheusMetrics", "Schema", arguments, configuration,
                metrics, crypto, logging, lifecycle, tracing,
            ],
            swiftSettings: settings),
        // A server for adopters' tests. Of its own, so that tests of features alone need no HTTP and no C library.
        .target(
            name: "MVIServerTesting",
            dependencies: [
                "EventStream", "Locking", "MVI", "MVIClient", "MVIServer", "MVITesting", "SQLiteJournal",
                "SessionJournal", "Sessions", "WireJSON", logging,
            ],
            swiftSettings: settings),
        // Of its own, so that only servers that share a journal build an HTTP client.
        .target(
            name: "NodeTransport",
            dependencies: [
                "MVIServer",
                .product(name: "AsyncHTTPClient", package: "async-http-client", condition: .when(traits: ["Nodes"])),
                .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["Nodes"])),
                .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["Nodes"])),
            ],
            swiftSettings: settings),
        // Servers that share a PostgreSQL database, as a command is told of it.
        .target(
            name: "PostgresServer",
            dependencies: ["MVIServer", "NodeTransport", "PostgresJournal", "SessionJournal", logging],
            swiftSettings: settings),
        // Of its own, so that only servers with JWTs build one.
        .target(
            name: "JWTAuthentication",
            dependencies: [
                "MVI", "MVIServer", "WireJSON", "Locking",
                .product(name: "AsyncHTTPClient", package: "async-http-client", condition: .when(traits: ["JWT"])),
                .product(name: "JWTKit", package: "jwt-kit", condition: .when(traits: ["JWT"])), logging,
            ],
            swiftSettings: settings),
        // What is wrong between clients and a server: a client of its own, of nothing that is the server's.
        .target(
            name: "Doctor",
            dependencies: [
                "EventStream", "Locking", "WireJSON",
                .product(name: "AsyncHTTPClient", package: "async-http-client", condition: .when(traits: ["Tools"])),
                .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["Tools"])),
                .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["Tools"])),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["Tools"])),
            ],
            swiftSettings: settings),
        .target(
            name: "DemoFeatures",
            dependencies: [
                "MVI", "MVIServer", "SQLite", "CResources", "Locking", logging, lifecycle,
            ],
            swiftSettings: settings),
        // A server's metrics as a table: read from the text that it gives, drawn as lines. Pure code.
        .target(name: "Top", swiftSettings: settings),
        .executableTarget(
            name: "mvi-server",
            dependencies: [
                "DemoFeatures", "Doctor", "JWTAuthentication", "MVIServer", "PostgresServer", "Top", arguments,
                .product(name: "AsyncHTTPClient", package: "async-http-client", condition: .when(traits: ["Tools"])),
                .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["Tools"])),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: .when(traits: ["Tools"])),
                .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["Tools"])), configuration,
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings),

        // An example: all that a product needs, by what the products above have alone.
        .executableTarget(
            name: "shop",
            dependencies: [
                "JWTAuthentication", "MVI", "MVIServer", crypto,
                .product(name: "JWTKit", package: "jwt-kit", condition: .when(traits: ["JWT"])), logging,
            ],
            path: "Examples/Shop/Sources", resources: [.embedInCode("Page")], packageAccess: false,
            swiftSettings: settings),
        // An example: the smallest server.
        .executableTarget(
            name: "minimal", dependencies: ["MVI", "MVIServer"], path: "Examples/Minimal/Sources",
            packageAccess: false, swiftSettings: settings),
        // An example: two releases of one feature, with a migration between.
        .executableTarget(
            name: "wallet-1", dependencies: ["MVI", "MVIServer"], path: "Examples/Migration/Sources/Version1",
            packageAccess: false, swiftSettings: settings),
        .executableTarget(
            name: "wallet-2", dependencies: ["MVI", "MVIServer"], path: "Examples/Migration/Sources/Version2",
            packageAccess: false, swiftSettings: settings),

        // What script/new copies.
        .executableTarget(
            name: "NewServer", dependencies: ["MVI", "MVIServer"], path: "Examples/Template/Sources/NewServer",
            resources: [.embedInCode("Page")], packageAccess: false, swiftSettings: settings),

        // For script/bench: the server with states of any size, and pieces of the hot path to count instructions of.
        .executableTarget(
            name: "sized-server", dependencies: ["MVI", "MVIServer"], path: "Benchmarks/Sources/sized",
            swiftSettings: settings),
        .executableTarget(
            name: "micro",
            dependencies: [
                "EventStream", "Locking", "MicroHTTP", "MVI", "MVIServer", "SessionJournal", "Sessions", "WireJSON",
            ],
            path: "Benchmarks/Sources/micro",
            swiftSettings: settings),
        .executableTarget(
            name: "journals",
            dependencies: [
                "Locking", "MVI", "PostgresJournal", "SQLiteJournal", "SessionJournal", logging,
            ],
            path: "Benchmarks/Sources/journals", swiftSettings: settings),

        // For script/fuzz: functions that take any bytes, and the program that runs libFuzzer on one of them. The fuzzer's
        // flags are the script's, so that a plain build has none.
        .target(
            name: "FuzzTargets",
            dependencies: [
                "EventStream", "JSONDelta", "Locking", "MicroHTTP", "MVI", "MVIServer", "MVITesting", "SessionJournal",
                "Sessions", "SQLiteJournal", "WireJSON",
            ],
            path: "Fuzzing/Sources/FuzzTargets", swiftSettings: settings),
        .executableTarget(
            name: "fuzz", dependencies: ["FuzzTargets"], path: "Fuzzing/Sources/fuzz", swiftSettings: settings),
        // For script/trial reminders: a feature that rings; and for script/trial exit, one whose handler does not return.
        .executableTarget(
            name: "reminding-server", dependencies: ["MVI", "MVIServer"], path: "Trials/Sources/reminding",
            swiftSettings: settings),
        .executableTarget(
            name: "blocking-server", dependencies: ["MVI", "MVIServer"], path: "Trials/Sources/blocking",
            swiftSettings: settings),
        // For script/trial nodes: long work in steps, and a feature in two schema versions, on a journal that nodes share.
        .executableTarget(
            name: "node-server",
            dependencies: [
                "MVI", "MVIServer", "NodeTransport", "PostgresJournal", "SessionJournal", logging,
            ],
            path: "Trials/Sources/nodes", swiftSettings: settings),

        // What several test targets share.
        .target(
            name: "TestSupport",
            dependencies: ["MVI", "SessionJournal", "Sessions", "Locking", "MVITesting", "WireJSON", logging],
            path: "Tests/TestSupport", swiftSettings: settings),

        // The Swift client as the conformance kit drives it.
        .executableTarget(
            name: "swift-client-driver", dependencies: ["MVIClient", "WireJSON", "Locking"],
            path: "Tests/MVIClientDriver", swiftSettings: settings),
        .testTarget(
            name: "MVITests",
            dependencies: ["MVI", "MVITesting", "Sessions", "SessionJournal", "TestSupport", "WireJSON"],
            swiftSettings: settings),
        .testTarget(name: "WireJSONTests", dependencies: ["WireJSON"], swiftSettings: settings),
        .testTarget(
            name: "JSONDeltaTests", dependencies: ["JSONDelta", "WireJSON"], swiftSettings: settings),
        .testTarget(
            name: "SchemaTests", dependencies: ["Schema", "MVI", "WireJSON"], swiftSettings: settings),
        .testTarget(
            name: "PrometheusMetricsTests",
            dependencies: ["PrometheusMetrics", .product(name: "Metrics", package: "swift-metrics")],
            swiftSettings: settings),
        .testTarget(name: "TopTests", dependencies: ["Top"], swiftSettings: settings),
        .testTarget(name: "EventStreamTests", dependencies: ["EventStream"], swiftSettings: settings),
        .testTarget(
            name: "SessionJournalTests",
            dependencies: ["MVI", "SessionJournal", "JournalConformance", "Locking", "TestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "SessionsTests",
            dependencies: [
                "Sessions", "JSONDelta", "SessionJournal", "TestSupport", "EventStream", "WireJSON", "MVITesting",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "MVIClientTests",
            dependencies: [
                "MVIClient", "Locking", "MVI", "MVIServer", "MVITesting", "SessionJournal", "Sessions", "TestSupport",
                "WireJSON", logging,
            ],
            swiftSettings: settings),
        .testTarget(name: "NetworksTests", dependencies: ["Networks", "Locking"], swiftSettings: settings),
        .testTarget(name: "MicroHTTPTests", dependencies: ["MicroHTTP", "Networks"], swiftSettings: settings),
        .testTarget(name: "SQLiteTests", dependencies: ["SQLite"], swiftSettings: settings),
        // A disk that fails when a test says so, as a layer under SQLite.
        .target(name: "CFaultyDisk", dependencies: ["CSQLite"], path: "Tests/CFaultyDisk"),
        .testTarget(
            name: "SQLiteJournalTests",
            dependencies: [
                "SQLiteJournal", "MVI", "SessionJournal", "JournalConformance", "SQLite", "Locking", "CFaultyDisk",
                "TestSupport", "Sessions", logging,
            ],
            exclude: ["schema-1.sql", "schema-3.sql"], swiftSettings: settings),
        .testTarget(
            name: "PostgresJournalTests",
            dependencies: [
                "mvi-server", "MVIServer", "PostgresJournal", "PostgreSQL", "MVI", "SessionJournal", "SQLiteJournal",
                "JournalConformance", "Locking", "TestSupport", logging,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "MVIServerTests",
            dependencies: [
                "MVIServer", "MVITesting", "TestSupport", "mvi-server", "CResources", "EventStream", "JSONDelta",
                "JWTAuthentication", "Locking", "MicroHTTP", "MVI", "Networks", "NodeTransport", "SessionJournal",
                "Sessions", "WireJSON", "PrometheusMetrics", crypto,
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"), logging, yaml,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "JWTAuthenticationTests",
            dependencies: [
                "JWTAuthentication", "Locking", "MVI", "MVIServer", "MVITesting", "TestSupport",
                .product(name: "CryptoExtras", package: "swift-crypto"), .product(name: "JWTKit", package: "jwt-kit"),
                logging,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "DoctorTests",
            dependencies: [
                "Doctor", "Locking", "MVI", "MVIServer", "MVITesting", "SessionJournal", "Sessions", "TestSupport",
                logging, .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "CommandTests",
            dependencies: [
                "mvi-server", "MVIServer", "DemoFeatures", "TestSupport", "SQLiteJournal", "SessionJournal",
                "MVITesting", "WireJSON", "Locking", lifecycle, logging, yaml,
            ],
            exclude: ["Types/Files"], swiftSettings: settings),
        .testTarget(
            name: "ShopTests",
            dependencies: ["shop", "JWTAuthentication", "MVI", "MVIServer", "MVIServerTesting", "MVITesting", crypto],
            path: "Examples/Shop/Tests", packageAccess: false, swiftSettings: settings),
        .testTarget(
            name: "MVIServerTestingTests",
            dependencies: ["MVI", "MVIServer", "MVIServerTesting", "MVITesting", lifecycle], packageAccess: false,
            swiftSettings: settings),
        .testTarget(
            name: "NewServerTests", dependencies: ["NewServer", "MVI", "MVITesting"],
            path: "Examples/Template/Tests/NewServerTests", packageAccess: false, swiftSettings: settings),
        .testTarget(
            name: "MinimalTests", dependencies: ["minimal", "MVITesting", "TestSupport"],
            path: "Examples/Minimal/Tests", swiftSettings: settings),
        .testTarget(
            name: "MigrationExampleTests", dependencies: ["wallet-1", "wallet-2", "MVI", "MVITesting", "TestSupport"],
            path: "Examples/Migration/Tests", swiftSettings: settings),
        // Holds the code of the pages and of the tutorial against Snippets and the compiler.
        .testTarget(
            name: "DocumentationTests", dependencies: ["TestSupport", "shop", .product(name: "Yams", package: "Yams")],
            swiftSettings: settings),
        .testTarget(name: "FuzzTargetsTests", dependencies: ["FuzzTargets"], swiftSettings: settings),
        .testTarget(
            name: "DemoFeaturesTests", dependencies: ["DemoFeatures", "MVITesting", "WireJSON"],
            swiftSettings: settings),
    ]
)
