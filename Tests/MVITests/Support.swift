import MVITesting
import Testing

/// The texts of the failures that `body` records, none of which fails this test.
func failures(of body: () async -> Void) async -> [String] {
    let texts = Collected<String>()
    await withKnownIssue(isIntermittent: true) {
        await body()
    } matching: { issue in
        texts.append(issue.comments.map(\.rawValue).joined(separator: "\n"))
        return true
    }
    return texts.all
}
