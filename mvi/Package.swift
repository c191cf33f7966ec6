// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "mvi",
    platforms: [.macOS(.v15)],
    products: [.executable(name: "mvi", targets: ["Mvi"])],
    dependencies: [
        .package(name: "mvi-server", path: "/work/main", traits: [])
    ],
    targets: [
        .executableTarget(
            name: "Mvi",
            dependencies: [
                .product(name: "MVI", package: "mvi-server"), .product(name: "MVIServer", package: "mvi-server"),
            ],
            resources: [.embedInCode("Page")]),
        .testTarget(
            name: "MviTests",
            dependencies: ["Mvi", .product(name: "MVITesting", package: "mvi-server")]),
    ]
)
