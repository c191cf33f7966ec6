enum Random {
    private static let digits = Array("0123456789abcdef".utf8)

    /// Hexadecimal digits of random bytes; `bytes` is a multiple of 8.
    static func text(bytes: Int) -> String {
        String(unsafeUninitializedCapacity: bytes * 2) { buffer in
            var generator = SystemRandomNumberGenerator()
            var word: UInt64 = 0
            for index in 0..<bytes * 2 {
                if index % 16 == 0 { word = generator.next() }
                buffer[index] = digits[Int(word & 15)]
                word >>= 4
            }
            return bytes * 2
        }
    }
}
