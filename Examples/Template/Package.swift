// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "new-server",
    platforms: [.macOS(.v15)],
    products: [.executable(name: "new-server", targets: ["NewServer"])],
    dependencies: [
        .package(name: "mvi-server", path: "../..")
    ],
    targets: [
        .executableTarget(
            name: "NewServer",
            dependencies: [
                .product(name: "MVI", package: "mvi-server"), .product(name: "MVIServer", package: "mvi-server"),
            ],
            resources: [.embedInCode("Page")]),
        .testTarget(
            name: "NewServerTests",
            dependencies: [
                "NewServer", .product(name: "MVI", package: "mvi-server"),
                .product(name: "MVITesting", package: "mvi-server"),
            ]),
    ]
)
