/// What fields are compared by, without making texts of them.
extension ArraySlice<UInt8> {
    /// Whether these are the bytes of `text`, which is in lower case, their own letters being in whatever case.
    func isCaselessly(_ text: [UInt8]) -> Bool {
        guard count == text.count else { return false }
        for (byte, wanted) in zip(self, text) {
            let isCapital = byte &- 0x41 < 26
            guard isCapital ? byte | 0x20 == wanted : byte == wanted else { return false }
        }
        return true
    }

    /// Without optional whitespace at both ends (RFC 9110 section 5.6.3).
    func trimmingBlanks() -> Self {
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
        var start = startIndex
        var end = endIndex
        while start < end, isBlank(self[start]) { start += 1 }
        while end > start, isBlank(self[end - 1]) { end -= 1 }
        return self[start..<end]
    }

    /// The number that these digits are; nil if they are none, or it is too large.
    var decimal: Int? {
        var number = 0
        for byte in self {
            let (shifted, overflow) = number.multipliedReportingOverflow(by: 10)
            let (sum, carry) = shifted.addingReportingOverflow(Int(byte &- 0x30))
            guard byte &- 0x30 < 10, !overflow, !carry else { return nil }
            number = sum
        }
        return isEmpty ? nil : number
    }
}
