import DemoFeatures
import MVIServer

/// What the demo features are told.
struct DemoSettings: Sendable {
    var latency: Duration = .milliseconds(400)
    /// How many of a hundred calls fail.
    var failures = 0

    static let catalogue: [Setting<DemoSettings>] = [
        Setting(
            "demo-latency", .demo, "time", "How long each call of the demo's services takes at least.", \.latency,
            .time(.zero ... .seconds(60)), defaults: DemoSettings()),
        Setting(
            "demo-failures", .demo, "percent", "How many of a hundred calls of the demo's services fail, by chance.",
            \.failures, .number(0...100), defaults: DemoSettings()),
    ]
}
