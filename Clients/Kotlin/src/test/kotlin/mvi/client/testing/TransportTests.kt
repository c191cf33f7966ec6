package mvi.client.testing

import java.io.IOException
import java.net.InetAddress
import java.net.ServerSocket
import java.net.Socket
import java.net.UnknownHostException
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.CountDownLatch
import java.util.concurrent.TimeUnit
import kotlin.concurrent.thread
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
