"""The model behind Python's own HTTP server, one request at a time: what a first attempt looks
like.

python benchmarks/servers/plain_server.py saved_models/bert_sum_ext_news_en/2 8601
"""

import http.server
import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf

from tfsum.inference.eager_model import load_model


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers `{"inputs": {"text": [...]}}` with the summaries."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["inputs"]["text"]
        summaries = self.server.serve(text=tf.constant(texts))["summary"].numpy()
        body = json.dumps(
            {"outputs": {"summary": [summary.decode() for summary in summaries]}}
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        # with one thread, a connection that stays open keeps others out
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    def log_message(self, *words):
        """Nothing."""


def main(path: str, port: str) -> None:
    http.server.HTTPServer.request_queue_size = 1024
    server = http.server.HTTPServer(("127.0.0.1", int(port)), Handler)
    model = load_model(path, {})
    server.serve = model.signatures["serving_default"]
    server.serve(text=tf.constant(["A first text."]))
    print("ready", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
