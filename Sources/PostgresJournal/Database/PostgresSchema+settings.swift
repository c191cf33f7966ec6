extension PostgresSchema {
    /// The values that clients have set, see `ClientSettings`: that with the session's own token, and each credential's.
    /// A node of an older build loses a credential's when it renews its principal.
    static let eighteenth = Migration(
        sql: """
            ALTER TABLE @.sessions ADD COLUMN client text;
            ALTER TABLE @.credentials ADD COLUMN client text;
            """, isAdditive: true)
}
