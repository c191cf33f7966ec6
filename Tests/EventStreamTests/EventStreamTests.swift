import EventStream
import Testing

@Test("an epoch has thirteen characters of base32")
func epochShape() {
    let epoch = Epoch.random()
    #expect(epoch.utf8.count == 13)
    #expect(Epoch.isValid(epoch))
}
