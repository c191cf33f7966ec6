// swift-tools-version: 6.2
import PackageDescription

// The package of `script/test --oracle`: it compares the repository's cryptography with other libraries. It is
// separate, so that nothing else fetches or compiles these. It links LibCrypto's sources, since another package has no
// `package` access.

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
