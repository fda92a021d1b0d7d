# docker build -t tfsum . && docker run --read-only --tmpfs /tmp -p 127.0.0.1:8501:8501 tfsum
# For the same image each time: python:3.12-slim@sha256:..., by docker buildx imagetools inspect python:3.12-slim
FROM python:3.12-slim
RUN --mount=type=bind,target=/source,rw pip install --no-cache-dir '/source[serve]' && useradd --uid 10001 tfsum
USER 10001
EXPOSE 8500 8501
HEALTHCHECK --start-period=60s CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://localhost:8501/healthz')"]
ENTRYPOINT ["tfsum", "serve", "--host", "0.0.0.0", "--grpc-port", "8500"]
