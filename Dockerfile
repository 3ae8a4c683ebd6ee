# Footnote in a container: docker build -t footnote .
# docs/replicas.md says what one needs. The three stages have the same Debian, so that
# what is linked in one runs in the other.

FROM node:22-trixie-slim AS app
WORKDIR /src
COPY scripts/ui.sh scripts/ui.sh
COPY web web
COPY internal/currency internal/currency
RUN scripts/ui.sh

FROM golang:1.26-trixie AS program
ARG VERSION=docker
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
COPY --from=app /src/web/dist web/dist
RUN CGO_ENABLED=1 go build -trimpath -o /footnote \
  -ldflags "-s -w -X main.version=$VERSION -extldflags '-Wl,--exclude-libs,ALL -Wl,--gc-sections'" ./cmd/footnote

FROM debian:trixie-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates curl libstdc++6 \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --home-dir /data --no-create-home --shell /usr/sbin/nologin footnote \
 && install -d -o footnote -g footnote -m 0700 /data
COPY --from=program /footnote /usr/local/bin/footnote
# Off this machine only with keys: footnote keys create makes them.
ENV FOOTNOTE_DATA=/data FOOTNOTE_LISTEN=0.0.0.0:8787 FOOTNOTE_AUTH_REQUIRED=true
USER 10001
WORKDIR /data
VOLUME /data
EXPOSE 8787
# It drains on SIGTERM; set the stop timeout above drain_timeout (docker run --stop-timeout 75).
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
  CMD curl -fsS -o /dev/null "http://127.0.0.1:${FOOTNOTE_LISTEN##*:}/healthz"
ENTRYPOINT ["footnote"]
CMD ["serve"]
