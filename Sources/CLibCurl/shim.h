#pragma once

// Where it lies is pkg-config's to say (libcurl).
#include <curl/curl.h>

// Swift calls no variadic function: one function for each type of argument that is used.

typedef size_t (*mvi_curl_sink)(char *bytes, size_t size, size_t count, void *context);
typedef int (*mvi_curl_check)(void *context, char *peer, char *local, int peer_port, int local_port);

static inline CURLcode mvi_curl_set_number(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

// libcurl copies the text, but for CURLOPT_POSTFIELDS.
static inline CURLcode mvi_curl_set_text(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode mvi_curl_set_pointer(CURL *easy, CURLoption option, void *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode mvi_curl_set_fields(CURL *easy, struct curl_slist *fields) {
    return curl_easy_setopt(easy, CURLOPT_HTTPHEADER, fields);
}

static inline CURLcode mvi_curl_set_body(CURL *easy, const char *bytes, long count) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)count);
    return code == CURLE_OK ? curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, bytes) : code;
}

static inline CURLcode mvi_curl_set_sinks(CURL *easy, mvi_curl_sink head, mvi_curl_sink body, void *context) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, head);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_HEADERDATA, context);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, body);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_WRITEDATA, context);
    return code;
}

// Called on a connection before each sending of the request, the repeated ones too.
static inline CURLcode mvi_curl_set_check(CURL *easy, mvi_curl_check check, void *context) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, check);
    return code == CURLE_OK ? curl_easy_setopt(easy, CURLOPT_PREREQDATA, context) : code;
}

static inline CURLMcode mvi_curl_multi_set_number(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

// The next transfer that is over, with its result; NULL if there is none.
static inline CURL *mvi_curl_multi_next(CURLM *multi, CURLcode *result) {
    int left = 0;
    CURLMsg *message = curl_multi_info_read(multi, &left);
    while (message && message->msg != CURLMSG_DONE) message = curl_multi_info_read(multi, &left);
    if (!message) return NULL;
    *result = message->data.result;
    return message->easy_handle;
}
