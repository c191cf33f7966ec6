package mvi.client.testing

import java.io.IOException
import java.net.InetAddress
import java.net.ServerSocket
import java.net.Socket
import java.net.UnknownHostException
import java.util.concurrent.CompletableFuture
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.CountDownLatch
import java.util.concurrent.TimeUnit
import kotlin.concurrent.thread
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds
import mvi.client.HttpAnswer
import mvi.client.HttpRequest
import mvi.client.OkHttpTransport
import mvi.client.TransportEvent
import okhttp3.Dns

internal fun transportTests(): List<Test> = listOf(
    Test("a transport closes while its request ends") {
        repeat(3_000) { round ->
            val (asked, ended) = CountDownLatch(1) to CountDownLatch(1)
            val dns = Dns {
                asked.countDown()
                throw UnknownHostException(it)
            }
            val transport = OkHttpTransport("http://shop.invalid", { it.dns(dns) })
            transport.start(1, HttpRequest("GET", "/")) { if (it is TransportEvent.End) ended.countDown() }
            asked.await()
            // The request ends at about this time.
            val pause = System.nanoTime() + round % 100 * 2_000
            while (System.nanoTime() < pause) Thread.onSpinWait()
            transport.close()
            require(ended.await(60, TimeUnit.SECONDS)) { "the request does not end" }
        }
    },
    Test("a request that is started after the close ends") {
        val ended = CountDownLatch(1)
        val transport = OkHttpTransport("http://127.0.0.1:1")
        transport.close()
        transport.start(1, HttpRequest("GET", "/")) { if (it is TransportEvent.End) ended.countDown() }
        require(ended.await(60, TimeUnit.SECONDS)) { "the request does not end" }
    },
    Test("a Retry-After date is compared with the answer's Date, since the device's clock may be wrong") {
        val sent = "Date: Thu, 01 Jan 2026 00:00:00 GMT\r\n"
        val until = "Retry-After: Thu, 01 Jan 2026 00:00:10 GMT\r\n"
        requireEqual(retryAfter(sent + until), 10.seconds, "with a date")
        requireEqual(retryAfter("Retry-After: 7\r\n$sent"), 7.seconds, "seconds")
        // By the device's clock, which is later than that.
        requireEqual(retryAfter(until), Duration.ZERO, "without a date")
        requireEqual(retryAfter("Date: soon\r\n$until"), Duration.ZERO, "with a date that cannot be read")
        requireEqual(retryAfter(sent), null, "without a delay")
    },
    Test("a canceled request leaves no connection open that has sent it") {
        StreamingServer().use { server ->
            val count = 2_000
            val ended = CountDownLatch(count)
            val transport = OkHttpTransport("http://127.0.0.1:${server.port}")
            for (round in 1L..count) {
                transport.start(round, HttpRequest("GET", "/events")) { if (it is TransportEvent.End) ended.countDown() }
                // The connection is being opened at about this time.
                val pause = System.nanoTime() + round % 100 * 20_000
                while (System.nanoTime() < pause) Thread.onSpinWait()
                transport.cut(round)
            }
            require(ended.await(60, TimeUnit.SECONDS)) { "${ended.count} requests do not end" }
            transport.close()
            server.awaitClosed()
        }
    },
)

/** Returns the delay in an answer with these fields. */
private fun retryAfter(fields: String): Duration? = ServerSocket(0, 0, InetAddress.getLoopbackAddress()).use { server ->
    val answer = CompletableFuture<HttpAnswer>()
    val transport = OkHttpTransport("http://127.0.0.1:${server.localPort}")
    transport.start(1, HttpRequest("GET", "/")) { event ->
        if (event is TransportEvent.Head) answer.complete(event.answer)
        if (event is TransportEvent.End) event.failure?.let { answer.completeExceptionally(IOException(it.message)) }
    }
    server.accept().use { socket ->
        val head = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n$fields\r\n"
        socket.getOutputStream().write(head.encodeToByteArray())
        answer.get(60, TimeUnit.SECONDS).retryAfter
    }.also { transport.close() }
}

/** Answers each request with a stream that does not end, and waits for its client to close the connection. */
private class StreamingServer : AutoCloseable {
    private val listening = ServerSocket(0, 0, InetAddress.getLoopbackAddress())
    private val connections = ConcurrentLinkedQueue<Thread>()
    val port: Int get() = listening.localPort

    init {
        thread(isDaemon = true) {
            try {
                while (true) {
                    val socket = listening.accept()
                    connections += thread(isDaemon = true) { socket.use { serve(it) } }
                }
            } catch (_: IOException) {
                // The test is over.
            }
        }
    }

    private fun serve(socket: Socket) {
        try {
            if (socket.getInputStream().read() < 0) return
            val head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n: ok\n"
            socket.getOutputStream().write(head.encodeToByteArray())
            while (socket.getInputStream().read() >= 0) continue
        } catch (_: IOException) {
            // The client closed the connection.
        }
    }

    /** Waits until the client has closed all its connections. */
    fun awaitClosed() {
        // The server accepts in order: when this connection is served, the earlier ones are known.
        Socket(InetAddress.getLoopbackAddress(), port).use {
            it.shutdownOutput()
            it.getInputStream().read()
        }
        val deadline = System.nanoTime() + 60_000_000_000
        for (connection in connections) {
            connection.join(maxOf(1, (deadline - System.nanoTime()) / 1_000_000))
        }
        val open = connections.count { it.isAlive }
        require(open == 0) { "$open of ${connections.size} connections stay open" }
    }

    override fun close() = listening.close()
}
