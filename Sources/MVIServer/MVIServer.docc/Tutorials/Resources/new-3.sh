$ swift test
