# --- Build ------------------------------------------------------------------------------------------------------------
FROM docker.io/library/swift:6.3-bookworm AS build
# Packages without versions, here and below: Debian's archive keeps the newest one only, so that after a security update a
# version written down could not be installed any more.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install -y --no-install-recommends libcurl4-openssl-dev libmicrohttpd-dev libpq-dev libsqlite3-dev libssl-dev pkg-config \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /build

# A layer of its own: fetched again only when the dependencies change. A release has Package.resolved, by which they are the
# same to the last byte; without it they are of the versions that Package.versions lists, or the build ends here.
COPY Package.swift Package.versions Package.resolve[d] ./
COPY script/packages script/packages
RUN swift package resolve && script/packages

# Everything that a target compiles or embeds.
COPY openapi.yaml openapi-admin.yaml ./
COPY Clients/JavaScript/mvi-client.js Clients/JavaScript/mvi-client.js
COPY Sources Sources
# Swift's own libraries go into the binary, so the image below needs none of them. ICU must not: a package that imports
# Foundation, where FoundationEssentials would do, brings it along and doubles the binary.
RUN for product in mvi-server mvi-tools; do \
      swift build -c release --product "$product" --static-swift-stdlib \
      && install -D -s "$(swift build -c release --static-swift-stdlib --show-bin-path)/$product" "/out/$product" || exit 1; \
    done \
 && if grep -q icudt /out/*; then echo "a program has ICU in it: what imports Foundation?" >&2; exit 1; fi

# --- Run --------------------------------------------------------------------------------------------------------------
FROM docker.io/library/debian:bookworm-slim
LABEL org.opencontainers.image.title="mvi-server" \
      org.opencontainers.image.description="MVI features over REST and server-sent events" \
      org.opencontainers.image.licenses="Apache-2.0"
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates libcurl4 libmicrohttpd12 libpq5 libsqlite3-0 libssl3 \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/apt /var/log/dpkg.log \
 && useradd --uid 10001 --user-group --no-log-init --no-create-home --home-dir /data --shell /usr/sbin/nologin mvi \
 && install -d -o mvi -g mvi -m 0700 /data
COPY --from=build /out/ /usr/local/bin/

# Defaults, as every flag has a variable: a flag after the image's name, or `--env`, decides.
# The health check has a port of its own inside the container; MVI_ADMIN_HOST=:: lets probes from outside use it.
ENV MVI_HOST=:: MVI_DATA=/data MVI_ADMIN_PORT=8081
# By number, so that Kubernetes' runAsNonRoot can tell.
USER 10001:10001
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s --retries=3 CMD ["mvi-server", "health"]
# The shell allows no dump of memory, which would hold tokens and keys, and becomes the process itself, PID 1: SIGTERM reaches
# it, and what is given to `docker run` after the image is a flag of it.
ENTRYPOINT ["/bin/sh", "-c", "ulimit -c 0 && exec mvi-server \"$@\"", "mvi-server"]
