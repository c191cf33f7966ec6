import SQLite

struct SQLiteOrders: OrderRepository {
    let database: DemoDatabase

    func status(of id: String) async throws -> OrderStatus {
        try await database.call("orders.status") { connection in try Self.status(of: id, &connection) }
    }

    func info(of id: String) async throws -> OrderInfo {
        try await database.call("orders.info") { connection in
            let info = try connection.first(
                "SELECT customer, phone, address, subject, notes FROM orders WHERE id = ?", [.text(id)]
            ) { row in
                OrderInfo(
                    customer: try row.text(0), phone: try row.text(1), address: try row.text(2),
                    subject: try row.text(3), notes: try row.optionalText(4))
            }
            guard let info else { throw MissingRecord(what: "order \(id)") }
            return info
        }
    }

    func fee(of id: String) async throws -> OrderFee {
        try await database.call("orders.fee") { connection in
            OrderFee(
                lines: try connection.query(
                    "SELECT text, cents FROM fee_lines WHERE order_id = ? ORDER BY id", [.text(id)]
                ) { row in OrderFee.Line(text: try row.text(0), amount: Money(cents: try row.int(1))) })
        }
    }

    func scheduling(of id: String) async throws -> OrderScheduling {
        try await database.call("orders.scheduling") { connection in
            let scheduling = try connection.first(
                "SELECT starts_at, ends_at, technician FROM orders WHERE id = ?", [.text(id)]
            ) { row in
                OrderScheduling(
                    from: try row.localTime(0), to: try row.localTime(1), technician: try row.optionalText(2))
            }
            guard let scheduling else { throw MissingRecord(what: "order \(id)") }
            return scheduling
        }
    }

    func take(_ step: OrderStep, in id: String) async throws -> OrderStatus {
        try await database.call("orders.take") { connection in
            // Read and written under one lock: two people may press the button at once.
            try connection.transaction { connection in
                let status = try Self.status(of: id, &connection)
                guard let target = step.target(from: status) else { throw OrderStepRefused(status: status) }
                // Whoever accepts an order that nobody has gets it.
                try connection.execute(
                    """
                    UPDATE orders SET status = ?1,
                        technician = CASE WHEN ?1 = 'received' THEN NULL ELSE coalesce(technician, 'Katrin Wolff') END
                    WHERE id = ?2
                    """, [.text(target.rawValue), .text(id)])
                return target
            }
        }
    }

    private static func status(of id: String, _ connection: inout Connection) throws -> OrderStatus {
        let text = try connection.first("SELECT status FROM orders WHERE id = ?", [.text(id)]) { row in
            try row.text(0)
        }
        guard let status = text.flatMap(OrderStatus.init) else { throw MissingRecord(what: "status of order \(id)") }
        return status
    }
}
