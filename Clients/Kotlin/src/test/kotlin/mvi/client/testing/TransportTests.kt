package mvi.client.testing

import java.net.UnknownHostException
import java.util.concurrent.CountDownLatch
import java.util.concurrent.TimeUnit
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
            require(ended.await(10, TimeUnit.SECONDS)) { "the request does not end" }
        }
    },
    Test("a request that is started after the close ends") {
        val ended = CountDownLatch(1)
        val transport = OkHttpTransport("http://127.0.0.1:1")
        transport.close()
        transport.start(1, HttpRequest("GET", "/")) { if (it is TransportEvent.End) ended.countDown() }
        require(ended.await(10, TimeUnit.SECONDS)) { "the request does not end" }
    },
)
