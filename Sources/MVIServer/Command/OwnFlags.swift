/// The flags of a command's own settings, as they were given. They are taken out before the others are parsed, since
/// those are known when the library is built and these are not.
enum OwnFlags {
    struct Fault: Error {
        let description: String
    }

    /// By name without dashes.
    @TaskLocal static var given: [String: String] = [:]

    /// The flags of a catalogue, and the arguments without them. `--name value` and `--name=value` are taken, up to `--`;
    /// the last of two that are alike counts.
    static func take<Root>(
        _ catalogue: [Setting<Root>], from arguments: [String]
    ) throws(Fault) -> (own: [String: String], others: [String]) {
        let catalogue = catalogue.withFileForms()
        var own: [String: String] = [:]
        var others: [String] = []
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--" { return (own, others + [argument] + rest) }
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let setting = catalogue.first(where: { parts.first == "--\($0.name)" }) else {
                others.append(argument)
                continue
            }
            if parts.count == 2 {
                own[setting.name] = String(parts[1])
            } else if setting.isSwitch {
                own[setting.name] = "true"
            } else if let value = rest.first, !value.hasPrefix("--") {
                own[setting.name] = value
                rest = rest.dropFirst()
            } else {
                throw Fault(description: "Missing value for '--\(setting.name) <\(setting.valueName)>'")
            }
        }
        return (own, others)
    }

    /// The part of `--help` about them.
    static func help<Root>(_ catalogue: [Setting<Root>]) -> String {
        guard !catalogue.isEmpty else { return "" }
        return catalogue.withFileForms().reduce("\n\nOWN SETTINGS:") { text, setting in
            let flag = "  --\(setting.name)\(setting.isSwitch ? "" : " <\(setting.valueName)>")"
            let isLong = flag.count > indent - 2
            let first = isLong ? "\(flag)\n" : flag
            let lines = lines(of: setting.help).map { String(repeating: " ", count: indent) + $0 }
            return text + "\n" + first
                + lines.joined(separator: "\n").dropFirst(isLong ? 0 : flag.count)
        }
    }

    /// As the library that prints the other flags has it: lines shorter than 80, the texts from the 27th column on.
    private static let (columns, indent) = (79, 26)

    private static func lines(of text: String) -> [String] {
        text.split(separator: " ").reduce(into: [String]()) { lines, word in
            if let last = lines.last, last.count + 1 + word.count <= columns - indent {
                lines[lines.count - 1] = "\(last) \(word)"
            } else {
                lines.append(String(word))
            }
        }
    }
}
