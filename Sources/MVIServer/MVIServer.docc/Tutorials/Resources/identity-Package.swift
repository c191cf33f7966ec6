// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "little-shop",
    platforms: [.macOS(.v15)],
    products: [.executable(name: "little-shop", targets: ["LittleShop"])],
    dependencies: [
        .package(name: "mvi-server", path: "../mvi-server")
    ],
    targets: [
        .executableTarget(
            name: "LittleShop",
            dependencies: [
                .product(name: "JWTAuthentication", package: "mvi-server"),
                .product(name: "MVI", package: "mvi-server"), .product(name: "MVIServer", package: "mvi-server"),
            ],
            resources: [.embedInCode("Page")]),
        .testTarget(
            name: "LittleShopTests",
            dependencies: ["LittleShop", .product(name: "MVITesting", package: "mvi-server")]),
    ]
)
