// swift-tools-version: 6.2
import PackageDescription

// What `script/test --oracle` runs: the repository's cryptography beside that of other libraries. A package of its own, so that
// nothing else fetches or compiles these. It has the sources of LibCrypto by links: what is of another package has no `package`
// access.

let settings: [SwiftSetting] = [.treatAllWarnings(as: .error), .enableUpcomingFeature("ExistentialAny")]

let package = Package(
    name: "oracle",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/vapor/jwt-kit", from: "5.7.1"),
    ],
    targets: [
        .systemLibrary(name: "CLibCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .target(name: "LibCrypto", dependencies: ["CLibCrypto"], swiftSettings: settings),
        .testTarget(
            name: "OracleTests",
            dependencies: [
                "LibCrypto", .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "JWTKit", package: "jwt-kit"),
            ],
            swiftSettings: settings),
    ]
)
