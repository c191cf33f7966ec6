/// `<epoch>.<sequence>`.
struct Cursor: CustomStringConvertible {
    let epoch: String
    let sequence: Int

    init(epoch: String, sequence: Int) {
        self.epoch = epoch
        self.sequence = sequence
    }

    /// Nil if the text is not a cursor of this epoch.
    init?(_ text: some StringProtocol, epoch: String) {
        guard text.hasPrefix(epoch), let sequence = Int(text.dropFirst(epoch.utf8.count + 1)) else { return nil }
        self.init(epoch: epoch, sequence: sequence)
    }

    var description: String { "\(epoch).\(sequence)" }
}
