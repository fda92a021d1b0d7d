"""The model behind LitServe, with batches as its documentation describes them.

python benchmarks/servers/litserve_server.py saved_models/bert_sum_ext_news_en/2 8601
"""

import os
import sys
import threading
import time
import urllib.request

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import litserve


class Summaries(litserve.LitAPI):
    """Answers `{"inputs": {"text": [one text]}}` with its summary."""

    def setup(self, device):
        import tensorflow as tf

        from tfsum.inference.eager_model import load_model

        self.model = load_model(sys.argv[1], {})
        self.serve, self.constant = self.model.signatures["serving_default"], tf.constant
        self.predict(["A first text."])

    def decode_request(self, request):
        return request["inputs"]["text"][0]

    def batch(self, inputs):
        return list(inputs)

    def predict(self, x):
        return self.serve(text=self.constant(list(x)))["summary"].numpy().tolist()

    def unbatch(self, output):
        return output

    def encode_response(self, output):
        return {"outputs": {"summary": [output.decode()]}}


def report(port: int) -> None:
    """Says when the server answers."""
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
                break
        except OSError:
            time.sleep(0.2)
    print("ready", flush=True)


if __name__ == "__main__":
    port = int(sys.argv[2])
    threading.Thread(target=report, args=[port], daemon=True).start()
    api = Summaries(max_batch_size=8, batch_timeout=0.005)
    litserve.LitServer(api, accelerator="cpu", workers_per_device=1).run(
        host="127.0.0.1", port=port, log_level="error", generate_client_file=False
    )
