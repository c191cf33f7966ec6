package mvi.client

import java.io.IOException
import java.net.InetAddress
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.SynchronousQueue
import java.util.concurrent.ThreadPoolExecutor
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicInteger
import mvi.client.wire.RetryAfter
import okhttp3.Call
import okhttp3.Callback
import okhttp3.ConnectionPool
import okhttp3.Dispatcher
import okhttp3.Dns
import okhttp3.Interceptor
import okhttp3.MediaType
import okhttp3.OkHttpClient
import okhttp3.Request
import okhttp3.RequestBody
import okhttp3.Response
import okio.BufferedSink

/**
 * Sends requests with OkHttp 3.13 or newer.
 *
 * The accessors that Kotlin calls in another way since OkHttp 4 are in `OkHttpAnswers.java`.
 *
 * @param base the server's URL; paths are appended to its path.
 * @param change changes the client, for instance to pin certificates or to add an interceptor. It must not add retries,
 *     redirects, caches, cookies or read timeouts.
 */
class OkHttpTransport(
    base: String,
    change: (OkHttpClient.Builder) -> OkHttpClient.Builder = { it },
) : Transport {
    private val base = base.trimEnd('/')
    private val calls = ConcurrentHashMap<Long, Call>()
    private val pool = ConnectionPool()
    private val executor = ThreadPoolExecutor(0, Int.MAX_VALUE, 10, TimeUnit.SECONDS, SynchronousQueue()) { task ->
        Thread(task, "mvi-client").apply { isDaemon = true }
    }
    private val dns = RotatingDns()

    /**
     * Stops canceled calls before they send their request. OkHttp's `cancel` closes the socket of the call, but has no
     * effect before the socket exists: the request would be sent, and a stream would stay open without a reader.
     */
    private val refuseCanceled = Interceptor { chain ->
        if (chain.call().isCanceled()) throw IOException("Canceled")
        chain.proceed(chain.request())
    }
    private val client: OkHttpClient

    init {
        // A stream occupies a request for a long time.
        val dispatcher = Dispatcher(executor).apply {
            maxRequests = 128
            maxRequestsPerHost = 128
        }
        val builder = OkHttpClient.Builder().dispatcher(dispatcher).connectionPool(pool).dns(dns)
            // Another server must not receive credentials or intents.
            .followRedirects(false).followSslRedirects(false)
            // OkHttp's own retries do not back off. It still repeats a 503 with `Retry-After: 0`, once.
            .retryOnConnectionFailure(false)
            // The client detects silence itself.
            .readTimeout(0, TimeUnit.MILLISECONDS).writeTimeout(0, TimeUnit.MILLISECONDS)
            .addNetworkInterceptor(refuseCanceled)
        client = change(builder).build()
    }

    override fun start(id: Long, request: HttpRequest, told: (TransportEvent) -> Unit) {
        val call = try {
            client.newCall(made(request))
        } catch (error: IllegalArgumentException) {
            val failure = TransportFailure(mayHaveReached = false, "The request is invalid: ${error.message}")
            return told(TransportEvent.End(failure))
        }
        calls[id] = call
        call.enqueue(object : Callback {
            override fun onFailure(call: Call, e: IOException) {
                if (!call.isCanceled()) dns.rotate()
                end(TransportFailure(mayHaveReached = !OkHttpAnswers.isUnreached(e), e.toString()))
            }

            override fun onResponse(call: Call, response: Response) {
                try {
                    read(response, told)
                    end(null)
                } catch (error: IOException) {
                    end(TransportFailure(message = error.toString()))
                } finally {
                    response.close()
                }
            }

            private fun end(failure: TransportFailure?) {
                calls.remove(id)
                told(TransportEvent.End(failure))
            }
        })
    }

    private fun made(request: HttpRequest): Request {
        val builder = Request.Builder().url(base + request.target)
        for (field in request.fields) builder.addHeader(field.name, field.value)
        val needsBody = request.method == "POST" || request.method == "PUT"
        val body = request.body ?: if (needsBody) "" else null
        return builder.method(request.method, body?.let { JsonBody(it.encodeToByteArray()) }).build()
    }

    private fun read(response: Response, told: (TransportEvent) -> Unit) {
        val headers = OkHttpAnswers.headers(response)
        val fields = headers.names().associate { it.lowercase() to headers.values(it).first() }
        val retryAfter = RetryAfter.of(fields, System.currentTimeMillis())
        told(TransportEvent.Head(HttpAnswer(OkHttpAnswers.code(response), fields, retryAfter)))
        val source = OkHttpAnswers.source(response)
        val buffer = ByteArray(16 * 1_024)
        while (true) {
            val count = source.read(buffer)
            if (count < 0) return
            told(TransportEvent.Piece(buffer.copyOf(count)))
        }
    }

    override fun cut(id: Long) {
        calls.remove(id)?.cancel()
    }

    override fun close() {
        // First: what starts later is rejected, and what started before is among the calls.
        executor.shutdown()
        // Not a copy: `toList` expects that a collection does not shrink meanwhile.
        for (id in calls.keys) cut(id)
        pool.evictAll()
    }

    /** The content type is among the fields. */
    private class JsonBody(private val bytes: ByteArray) : RequestBody() {
        override fun contentType(): MediaType? = null

        override fun contentLength(): Long = bytes.size.toLong()

        override fun writeTo(sink: BufferedSink) {
            sink.write(bytes)
        }
    }

    /** Begins with another address of a host after each failure, since OkHttp tries only the first without retries. */
    private class RotatingDns : Dns {
        private val failures = AtomicInteger()

        fun rotate() {
            failures.incrementAndGet()
        }

        override fun lookup(hostname: String): List<InetAddress> {
            val all = Dns.SYSTEM.lookup(hostname)
            val first = failures.get().mod(maxOf(all.size, 1))
            return all.drop(first) + all.take(first)
        }
    }
}
