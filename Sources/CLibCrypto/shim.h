#pragma once

// SHA256_Init and its like are deprecated in favor of EVP_Digest, which allocates twice for each hash and takes half as many
// instructions more for the 43 characters of a session's token.
#define OPENSSL_SUPPRESS_DEPRECATED

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rsa.h>
#include <openssl/sha.h>

// An OSSL_PARAM points to its name and its value, which must outlive it: simple for C's literals and arguments, not for
// Swift's strings and arrays. Each function returns NULL where OpenSSL refuses the values or has no memory.

/// HMAC with a digest and a key, ready for a message. Free it with EVP_MAC_CTX_free.
static inline EVP_MAC_CTX *_Nullable clibcrypto_hmac(
    const char *_Nonnull digest, const unsigned char *_Nonnull key, size_t count) {
    EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    // Takes a reference of its own.
    EVP_MAC_CTX *context = mac ? EVP_MAC_CTX_new(mac) : NULL;
    EVP_MAC_free(mac);
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)digest, 0),
        OSSL_PARAM_construct_end(),
    };
    if (context && EVP_MAC_init(context, key, count, parameters) == 1) return context;
    EVP_MAC_CTX_free(context);
    return NULL;
}

/// A public key of its parameters. Free it with EVP_PKEY_free.
static inline EVP_PKEY *_Nullable clibcrypto_public_key(const char *_Nonnull type, OSSL_PARAM *_Nonnull parameters) {
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    if (!context || EVP_PKEY_fromdata_init(context) != 1
        || EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters) != 1) {
        EVP_PKEY_free(key);
        key = NULL;
    }
    EVP_PKEY_CTX_free(context);
    return key;
}

/// An RSA key of its numbers in the machine's byte order.
static inline EVP_PKEY *_Nullable clibcrypto_rsa_key(
    unsigned char *_Nonnull modulus, size_t modulus_count, unsigned char *_Nonnull exponent, size_t exponent_count) {
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_BN(OSSL_PKEY_PARAM_RSA_N, modulus, modulus_count),
        OSSL_PARAM_construct_BN(OSSL_PKEY_PARAM_RSA_E, exponent, exponent_count),
        OSSL_PARAM_construct_end(),
    };
    return clibcrypto_public_key("RSA", parameters);
}

/// A key on an elliptic curve, of its uncompressed point (SEC 1 section 2.3.3). NULL for a point that is not on the curve.
static inline EVP_PKEY *_Nullable clibcrypto_ec_key(
    const char *_Nonnull curve, unsigned char *_Nonnull point, size_t count) {
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, (char *)curve, 0),
        OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, point, count),
        OSSL_PARAM_construct_end(),
    };
    return clibcrypto_public_key("EC", parameters);
}
