"""The schedule against the originals' rates; Adam against its paper in float64 and against
torch."""

import json

import keras
import numpy as np
import pytest

from tfsum.training.optimizer import NOT_DECAYED, Adam, WarmUp


def test_the_rates_of_bertsum(shared):
    for case in json.loads((shared / "parity" / "schedule.json").read_text()):
        schedule = WarmUp(case["lr"] / case["warmup"] ** 0.5, case["warmup"])
        for step, rate in case["step_lr"]:
            assert float(schedule(step - 1)) == pytest.approx(rate, rel=2e-6), (
                case["lr"],
                case["warmup"],
                step,
            )


def test_linear_decay_ends_at_zero():
    schedule = WarmUp(2.0, 4, total_steps=10)
    # t = 1..4 grows to the peak; then 6/7, 5/7, ... of it; one step after the last it is 0
    expected = [0.5, 1.0, 1.5, 2.0] + [2.0 * n / 7 for n in range(6, 0, -1)] + [0.0, 0.0]
    np.testing.assert_allclose([float(schedule(i)) for i in range(12)], expected, rtol=1e-6)


def test_one_step_of_warm_up_or_none():
    for warmup in (0, 1):
        assert float(WarmUp(3.0, warmup)(0)) == pytest.approx(3.0)


def test_configurations_come_back():
    schedule = WarmUp(0.5, 7, 20)
    optimizer = Adam(schedule, {"head": 20.0}, global_clipnorm=1.0, weight_decay=0.01)
    again = keras.optimizers.deserialize(
        json.loads(json.dumps(keras.optimizers.serialize(optimizer)))
    )
    assert type(again) is Adam and again.get_config() == optimizer.get_config()
    assert again.factors == {"head": 20.0}


def gradients(steps):
    """Gradients of every size, some of them tiny, where the place of epsilon tells."""
    random = np.random.default_rng(0)
    return [
        random.normal(size=6) * np.array([1.0, 1e-3, 1e-8, 1e-9, 10.0, 0.0]) for _ in range(steps)
    ]


def paper(start, steps, rates, epsilon=1e-9, decay=0.0):
    """Algorithm 1 of Kingma and Ba in float64, and AdamW's decay beside it."""
    w, m, v = np.array(start, np.float64), 0.0, 0.0
    for t, (g, rate) in enumerate(zip(gradients(steps), rates, strict=True), 1):
        w = w - w * decay * rate
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        w = w - rate * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + epsilon)
    return w


def ours(optimizer, steps, path="weight"):
    variable = keras.Variable(np.arange(6, dtype=np.float32), name=path)
    optimizer.build([variable])
    for g in gradients(steps):
        optimizer.apply([keras.ops.convert_to_tensor(g.astype(np.float32))], [variable])
    return variable.numpy()


def test_the_papers_adam():
    np.testing.assert_allclose(
        ours(Adam(0.01), 20), paper(np.arange(6), 20, [0.01] * 20), rtol=1e-4, atol=2e-6
    )


def test_with_the_schedule():
    schedule = WarmUp(0.05, 5)
    rates = [0.05 * min(t / 5, (5 / t) ** 0.5) for t in range(1, 21)]
    np.testing.assert_allclose(
        ours(Adam(schedule), 20), paper(np.arange(6), 20, rates), rtol=1e-4, atol=5e-6
    )


def test_weight_decay():
    np.testing.assert_allclose(
        ours(Adam(0.01, weight_decay=0.1), 20),
        paper(np.arange(6), 20, [0.01] * 20, decay=0.1),
        rtol=1e-4,
        atol=2e-6,
    )


def test_a_weight_decays_by_its_own_rate():
    """Without gradients w(T) = w(0) * product over t of (1 - rate(t) * factor * decay), a factor
    for each group."""
    with keras.name_scope("bert"):
        encoder = keras.Variable(np.full(3, 2.0, np.float32), name="kernel")
        with keras.name_scope("pooler"):
            pooler, spared = (
                keras.Variable(np.full(3, 2.0, np.float32), name=n) for n in ("kernel", "bias")
            )
    head = keras.Variable(np.full(3, 2.0, np.float32), name="kernel")
    optimizer = Adam(WarmUp(0.5, 5), {"bert": 0.1, "pooler": 0.5}, weight_decay=0.2)
    optimizer.exclude_from_weight_decay(var_names=NOT_DECAYED)
    group = [encoder, pooler, spared, head]
    optimizer.build(group)
    for _ in range(20):
        optimizer.apply([keras.ops.zeros((3,))] * 4, group)
    rates = np.array([0.5 * min(t / 5, (5 / t) ** 0.5) for t in range(1, 21)])
    left = [2.0 * np.prod(1 - rates * factor * 0.2) for factor in (0.1, 0.5, 0.0, 1.0)]
    np.testing.assert_allclose([v.numpy()[0] for v in group], left, rtol=1e-5)


def test_a_weight_takes_the_factors_of_its_path():
    with keras.name_scope("bert"):
        inside = keras.Variable(np.zeros(1, np.float32), name="kernel")
    outside = keras.Variable(np.zeros(1, np.float32), name="bert_like")
    optimizer = Adam(0.1, {"bert": 0.25})
    optimizer.build([inside, outside])
    one = keras.ops.ones((1,))
    optimizer.apply([one, one], [inside, outside])
    np.testing.assert_allclose([inside.numpy()[0], outside.numpy()[0]], [-0.025, -0.1], rtol=1e-5)


@pytest.mark.reference
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_torch(decay):
    torch = pytest.importorskip("torch", reason="pip install '.[reference]'")
    weight = torch.nn.Parameter(torch.arange(6, dtype=torch.float32))
    theirs = torch.optim.AdamW([weight], lr=0.01, eps=1e-9, weight_decay=decay)
    for g in gradients(20):
        weight.grad = torch.tensor(g, dtype=torch.float32)
        theirs.step()
    found = ours(Adam(0.01, weight_decay=decay or None), 20)
    np.testing.assert_allclose(found, weight.detach().numpy(), rtol=1e-5, atol=2e-6)
