import Testing

@testable import mvi_tools

@Suite struct `Numbers of the table` {
    @Test func `numbers have grouped thousands`() {
        #expect(Figures.number(1_234_567.891, decimals: 2) == "1,234,567.89")
        #expect(Figures.number(999.5) == "1,000")
        #expect(Figures.number(-1_000) == "-1,000")
        #expect(Figures.number(0.04, decimals: 1) == "0.0")
        #expect(Figures.number(.nan) == "?" && Figures.number(.infinity) == "∞")
    }

    @Test(arguments: [
        (0.000_000_5, "0.50 µs"), (0.000_15, "150 µs"), (0.001_234, "1.23 ms"), (0.999_9, "1.00 s"), (0.05, "50.0 ms"),
        (12.5, "12.5 s"), (0, "0.00 µs"),
    ])
    func `times have a fitting unit`(seconds: Double, text: String) { #expect(Figures.time(seconds) == text) }

    @Test(arguments: [(0.0, "0"), (0.01, "<0.1"), (0.5, "0.5"), (99.94, "99.9"), (1_240.4, "1,240")])
    func `small rates have a decimal`(rate: Double, text: String) {
        #expect(Figures.rate(rate) == text)
    }

    @Test func `ages and bytes`() {
        #expect(Figures.age(100) == "00:01:40")
        #expect(Figures.age(273_906) == "3d 04:05:06")
        #expect(Figures.age(-5) == "00:00:00")
        #expect(Figures.bytes(536_870_912) == "512 MiB")
        #expect(Figures.bytes(999) == "999 B")
        #expect(Figures.bytes(1_500) == "1.46 KiB")
        #expect(Figures.bytes(nil) == "-")
    }
}
