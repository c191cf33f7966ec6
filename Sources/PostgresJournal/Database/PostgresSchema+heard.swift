extension PostgresSchema {
    /// The senders of messages that a session received: see `StoredSender`. Nodes of older builds leave those of sessions that
    /// they remove; these end by their time.
    static let nineteenth = Migration(
        sql: """
            CREATE TABLE @.heard (
                session bigint NOT NULL,
                sender bytea NOT NULL,              -- a hash that names its log
                number bigint NOT NULL,             -- of its last message
                time bigint NOT NULL,               -- of that message's append
                PRIMARY KEY (session, sender)
            );
            CREATE INDEX heard_by_time ON @.heard (time);
            """, isAdditive: true)
}
