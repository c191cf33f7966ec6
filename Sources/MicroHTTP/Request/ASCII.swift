/// The byte classes of RFC 9110 and RFC 3986 for checking a request's head.
///
/// Bits in two words: every byte of every head is looked up, and an array would be retained and released each time.
extension UInt8 {
    @inline(__always)
    var lowercased: UInt8 { self &- 0x41 < 26 ? self | 0x20 : self }

    /// `tchar` of RFC 9110 section 5.6.2, the characters of names and methods: letters, digits, and
    /// ``!#$%&'*+-.^_`|~``.
    @inline(__always)
    var isTokenByte: Bool { isMember(low: 0x03FF_6CFA_0000_0000, high: 0x57FF_FFFF_C7FF_FFFE) }

    /// The characters of a host and its port, RFC 3986 section 3.2.2, with the brackets of an IPv6 literal: letters,
    /// digits, and any of `-._~%!$&'()*+,;=:[]`.
    @inline(__always)
    var isHostByte: Bool { isMember(low: 0x2FFF_7FF2_0000_0000, high: 0x47FF_FFFE_AFFF_FFFE) }

    @inline(__always)
    var isDigit: Bool { self &- 0x30 < 10 }

    @inline(__always)
    var isBlank: Bool { self == 0x20 || self == 0x09 }

    /// The bytes of a field's value: visible characters, blanks, and for obs-text the bytes above ASCII (RFC 9110
    /// section 5.5).
    @inline(__always)
    var isValueByte: Bool { self >= 0x20 && self != 0x7F || self == 0x09 }

    /// True if the bit of this byte is set. Bytes above 127 have none.
    @inline(__always)
    private func isMember(low: UInt64, high: UInt64) -> Bool {
        switch self >> 6 {
        case 0: low >> UInt64(self) & 1 == 1
        case 1: high >> UInt64(self & 63) & 1 == 1
        default: false
        }
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// True if this is a token (RFC 9110 section 5.6.2).
    var isToken: Bool {
        for byte in self where !byte.isTokenByte { return false }
        return !isEmpty
    }

    /// True if a field may have this value. Reads all bytes without an early exit, so that the compiler can vectorize
    /// the loop.
    var isFieldValue: Bool {
        var faults: UInt8 = 0
        for byte in self { faults |= byte.isValueByte ? 0 : 1 }
        return faults == 0
    }
}
