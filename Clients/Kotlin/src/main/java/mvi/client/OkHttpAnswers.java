package mvi.client;

import java.io.IOException;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.UnknownHostException;
import javax.net.ssl.SSLHandshakeException;
import javax.net.ssl.SSLPeerUnverifiedException;
import okhttp3.Headers;
import okhttp3.Response;
import okhttp3.ResponseBody;
import okio.BufferedSource;

/** Reads OkHttp's answers. In Java these calls are the same for all versions; in Kotlin they are not. */
final class OkHttpAnswers {
    private OkHttpAnswers() {}

    static int code(Response response) {
        return response.code();
    }

    static Headers headers(Response response) {
        return response.headers();
    }

    static BufferedSource source(Response response) throws IOException {
        ResponseBody body = response.body();
        if (body == null) throw new IOException("The answer has no body.");
        return body.source();
    }

    /** Returns true if the server cannot have received the request. */
    static boolean isUnreached(IOException error) {
        return error instanceof ConnectException || error instanceof NoRouteToHostException
                || error instanceof UnknownHostException || error instanceof SSLHandshakeException
                || error instanceof SSLPeerUnverifiedException;
    }
}
