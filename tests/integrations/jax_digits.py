"""Softmax regression on scikit-learn's digits with JAX and Optax under a ledger: a program."""

from __future__ import annotations

import json
import sys

POLICY = {
    "dataset": "digits",
    "neighbours": "add-remove-one",
    "columns": {"x": {"bounds": [0.0, 16.0]}},
    "caps": {"epsilon": 8.0, "delta": 1e-4, "delta_of_answers": 5e-5},
}


def main(url: str) -> None:
    # Not above: where the tests are collected JAX is not there.
    import jax
    import jax.numpy as jnp
    import optax
    from sklearn.datasets import load_digits

    from leakcap.integrations.optax import attach
    from leakcap.release import load_policy, open_ledger

    found = load_digits()
    pictures, labels = jnp.array(found.data / 16.0, jnp.float32), jnp.array(found.target)

    def loss(params, picture, label):
        return -jax.nn.log_softmax(picture @ params["w"] + params["b"])[label]

    gradients = jax.vmap(jax.grad(loss), (None, 0, 0))
    with open_ledger(url, load_policy(POLICY)) as ledger:
        paid = attach(ledger=ledger, l2_norm_clip=1.0, noise_multiplier=1.1, rows=1500, sample_rate="1/15",
                      max_steps=60, delta=1e-6, name="digits", every=10)  # fmt: skip
        optimizer = optax.chain(paid.transformation, optax.sgd(2.0))
        params = {"w": jnp.zeros((64, 10)), "b": jnp.zeros(10)}
        state, sizes = optimizer.init(params), []

        @jax.jit
        def step(params, state, rows, weights):
            found = gradients(params, pictures[rows], labels[rows])
            updates, state = optimizer.update(found, state, params, weights=weights)
            return optax.apply_updates(params, updates), state

        for rows, weights in paid.batches():
            params, state = jax.block_until_ready(step(params, state, rows, weights))
            sizes.append(float(weights.sum()))
        try:
            jax.block_until_ready(step(params, state, rows, weights))
            refused = ""
        except Exception as error:
            refused = str(error)
        paid.finish(params)
        ledger.verify()
        right = float((jnp.argmax(pictures[1500:] @ params["w"] + params["b"], 1) == labels[1500:]).mean())
        # Without gradients the sum is noise alone, whose deviation per step is σ·clip over the expected rows.
        inner = paid.training
        inner.taken, inner.finished, inner.granted = 0, False, 60
        rows = jnp.zeros(32, jnp.int32)
        quiet = {"w": jnp.zeros((32, 640)), "b": jnp.zeros((32, 10))}
        noise = paid.transformation.update(quiet, paid.transformation.init(params), weights=jnp.ones(32))[0][
            "w"
        ]
        told = {"steps": len(sizes), "sizes": sizes, "refused": refused, "right": right}
        told |= {"entries": ledger.totals().entries, "deviation": float(noise.std())}
        print(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1])
