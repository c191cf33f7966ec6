// swift-tools-version: 6.2
import PackageDescription

/// A package of its own, so that nobody who depends on mvi-server builds it.
let package = Package(
    name: "Benchmarks",
    products: [.executable(name: "loadgen", targets: ["loadgen"])],
    targets: [
        // C, one thread, no dependencies: it must cost less than what it measures.
        .executableTarget(
            name: "loadgen",
            cSettings: [
                .define("_GNU_SOURCE"), .treatAllWarnings(as: .error), .enableWarning("all"), .enableWarning("extra"),
            ])
    ],
    cLanguageStandard: .c17
)
