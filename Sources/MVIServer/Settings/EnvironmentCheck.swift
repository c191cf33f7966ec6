import Locking
import Logging

/// Finds the variables named `MVI_…` that set nothing.
package struct EnvironmentCheck: Sendable, Equatable {
    /// Kubernetes' variables in place of settings: it gives each pod `MVI_PORT=tcp://10.96.0.1:80` for a Service named
    /// `mvi`.
    package private(set) var serviceLinks: [String] = []
    /// The other variables without a setting.
    package private(set) var unknown: [String] = []

    /// - Parameters:
    ///   - environment: the environment variables; nil for the process's own.
    ///   - catalogue: all settings of the program.
    package init(_ environment: [String: String]?, _ catalogue: [SettingDeclaration]) {
        let environment = environment ?? ProcessState.environment
        let known = Set((catalogue.withFileForms + [SettingsSource.configuration]).map(\.environmentName))
        let links = environment.filter { Self.isServiceLink($0.key, $0.value) }.keys
        // Of a Service come `MVI_PORT`, `MVI_PORT_80_TCP_ADDR`, `MVI_SERVICE_HOST` and others.
        let families = links.flatMap { ["\($0)_", "\($0.dropLast(4))SERVICE_"] }
        for name in environment.keys.sorted() where name.hasPrefix("MVI_") {
            if links.contains(name) {
                if known.contains(name) { serviceLinks.append(name) }
            } else if !known.contains(name), !families.contains(where: { name.hasPrefix($0) }) {
                unknown.append(name)
            }
        }
    }

    /// Returns true if Kubernetes makes such a variable for a Service
    /// (https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables).
    static func isServiceLink(_ name: String, _ value: String) -> Bool {
        name.hasSuffix("_PORT") && ["tcp://", "udp://", "sctp://"].contains { value.hasPrefix($0) }
    }

    /// Logs a warning about Kubernetes' variables.
    package func warnOfServiceLinks(_ logger: Logger) {
        guard !serviceLinks.isEmpty else { return }
        logger.warning(
            "Variables of a Kubernetes Service are ignored: they have the names of settings. Set enableServiceLinks: false for the pod",
            metadata: ["variables": "\(serviceLinks.joined(separator: ", ").withoutInvisibles)"])
    }

    /// Logs a warning about variables without a setting.
    package func warnOfUnknown(_ logger: Logger) {
        guard !unknown.isEmpty else { return }
        logger.warning(
            "Variables are ignored: no setting has these names; --help lists all",
            metadata: ["variables": "\(unknown.joined(separator: ", ").withoutInvisibles)"])
    }
}
