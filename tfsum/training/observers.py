"""What watches a run and changes nothing: the progress line, TensorBoard, the profiler."""

import pathlib

import keras

from tfsum.training.profile import Profile
from tfsum.training.progress import Progress


def observed(ends: keras.callbacks.Callback, folder: pathlib.Path, steps: int, done: int, tensorboard: bool,
             profile: str) -> list[keras.callbacks.Callback]:
    """Puts a run's own callback among those that only watch it, on the worker that reports.

    Args:
        ends: what the run does at the end of a step and of an interval, whose validation is no part of the progress
            line's speed nor of the profile, but whose scores TensorBoard shows.
        folder: of the run.
        steps: of the whole run.
        done: steps done before.
        tensorboard: whether TensorBoard's event files are written.
        profile: see `profiled_steps`.

    Example:
        >>> made = observed(keras.callbacks.Callback(), pathlib.Path("runs/a"), 100, 0, False, "20:30")
        >>> [type(callback).__name__ for callback in made]
        ['Progress', 'Profile', 'Callback']
    """
    before: list[keras.callbacks.Callback] = [Progress(steps, done)]
    if profile:
        before.append(Profile(profile, folder / "profile"))
    if not tensorboard:
        return [*before, ends]
    return [*before, ends, keras.callbacks.TensorBoard(str(folder / "tensorboard"), write_graph=False)]
