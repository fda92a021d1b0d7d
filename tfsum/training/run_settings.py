"""The [train] keys that every task has."""

import dataclasses
import importlib.util

from tfsum.errors import Error, RecipeError
from tfsum.training.environment import Strategy
from tfsum.training.profile import profiled_steps
from tfsum.training.recipe_file import keys_of


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunSettings:
    """The [train] keys of every task.

    Attributes:
        folder: of the run.
        steps: optimizer steps of the whole run.
        strategy: the devices and machines that train, see `strategy_of`; a batch is shared among them.
        precision: see `set_precision_and_seed`.
        seed: of new weights, of dropout and of the order of the data.
        deterministic: see `set_precision_and_seed`.
        jit_compile: whether XLA compiles the steps, once for each shape of a batch: worth it on a GPU for long runs.
        validate_every: steps between two validations, each with a checkpoint.
        patience: validations without improvement after which the run ends; 0 for none.
        average_decay: of the moving average of the weights, which is validated and saved; 0 for the weights themselves.
        micro_batches: parts of a batch whose gradients are accumulated.
        tensorboard: also write TensorBoard's event files (extra `tensorboard`).
        profile: "20:30" records the work of the steps 20 to 30 of this process by TensorFlow's profiler, in the run
            folder's `profile`; "" records nothing.
        keep: checkpoints in the folder, the newest.
        checkpoint_minutes: minutes of training after which a checkpoint is written also between validations; 0 for
            never. A validation is not interrupted: its step is saved after it.
        worker_timeout: seconds after which workers that a lost one left behind stop, see `strategy_of`.

    Raises:
        Error: a number is too small, a value is not among the choices of its key, or TensorBoard is not installed.

    Example:
        >>> RunSettings(folder="runs/news", steps=1000).validate_every
        100
    """

    folder: str
    steps: int
    strategy: Strategy = "auto"
    precision: str = "float32"
    seed: int = 0
    deterministic: bool = False
    jit_compile: bool = False
    validate_every: int = 100
    patience: int = 0
    average_decay: float = 0.99
    micro_batches: int = 1
    tensorboard: bool = False
    profile: str = ""
    keep: int = 2
    checkpoint_minutes: float = 10.0
    worker_timeout: int = 60

    def __post_init__(self) -> None:
        for name in ("steps", "validate_every", "micro_batches", "keep", "worker_timeout"):
            if getattr(self, name) < 1:
                raise Error(f"{name} is {getattr(self, name)}; expected 1 or more")
        if not self.checkpoint_minutes >= 0:
            raise Error(f"checkpoint_minutes is {self.checkpoint_minutes}; expected 0 or more")
        if self.deterministic and self.jit_compile:
            raise Error(
                "deterministic and jit_compile are both true, and XLA does not promise the same bits; leave "
                "one out"
            )
        if self.tensorboard and importlib.util.find_spec("tensorboard") is None:
            raise Error(
                "[train] tensorboard is true, and its package is not installed: run pip install "
                "'tfsum[tensorboard]', or leave the key out"
            )
        profiled_steps(self.profile)
        for name, key in keys_of(type(self)).items():
            if key.choices and getattr(self, name) not in key.choices:
                raise RecipeError(
                    f"[train] {name} is {getattr(self, name)!r}; expected {key.wants()}"
                )
