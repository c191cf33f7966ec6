extension String {
    /// The text with invisible characters written as `\u{…}`: for every line that people read and that may hold a text
    /// from outside, such as a file's member, a session's id or a variable. Otherwise it could hide another text, look
    /// like two lines or command a terminal.
    package var withoutInvisibles: String {
        guard unicodeScalars.contains(where: \.isInvisible) else { return self }
        var text = ""
        for scalar in unicodeScalars {
            if scalar.isInvisible {
                text += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}

extension [UInt8] {
    /// A JSON document with the invisible characters of its strings escaped. Parsers of JSON get the same texts.
    package var withoutInvisiblesInJSON: [UInt8] {
        guard contains(where: { $0 >= 0x7F }) else { return self }
        var document: [UInt8] = []
        for scalar in String(decoding: self, as: UTF8.self).unicodeScalars {
            if scalar.value >= 0x7F, scalar.isInvisible {
                for unit in UTF16.encode(scalar) ?? UTF16.encodedReplacementCharacter {
                    let digits = String(unit, radix: 16)
                    let escape = "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
                    document += Array(escape.utf8)
                }
            } else {
                document += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
            }
        }
        return document
    }
}

extension Unicode.Scalar {
    /// True if a reader of a log cannot see the character or sees a blank: controls, separators, direction marks (UAX
    /// 9), and code points that Unicode allows to be ignored in display, such as zero-width spaces, soft hyphens and
    /// variation selectors. False for the ASCII blank.
    var isInvisible: Bool {
        if value < 0x7F { return value < 0x20 }
        // Unicode treats the Braille pattern without dots as a symbol.
        if properties.isDefaultIgnorableCodePoint || value == 0x2800 { return true }
        switch properties.generalCategory {
        case .control, .format, .spaceSeparator, .lineSeparator, .paragraphSeparator: return true
        default: return false
        }
    }
}
