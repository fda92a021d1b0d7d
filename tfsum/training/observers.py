"""What watches a run and changes nothing: the progress line, TensorBoard, the profiler."""

import pathlib

import keras

from tfsum.training.profile import Profile


def observed(
    progress: keras.callbacks.Callback,
    ends: keras.callbacks.Callback,
    folder: pathlib.Path,
    tensorboard: bool,
    profile: str,
) -> list[keras.callbacks.Callback]:
    """Puts a run's own callback among those that only watch it, on the worker that reports.

    Args:
        progress: the progress line.
        ends: what the run does at the end of a step and of an interval, whose validation is no part of the progress
            line's speed nor of the profile, but whose scores TensorBoard shows.
        folder: of the run.
        tensorboard: whether TensorBoard's event files are written.
        profile: see `profiled_steps`.

    Example:
        >>> progress, ends = keras.callbacks.Callback(), keras.callbacks.Callback()
        >>> [
        ...     type(made).__name__
        ...     for made in observed(progress, ends, pathlib.Path("runs/a"), False, "20:30")
        ... ]
        ['Callback', 'Profile', 'Callback']
    """
    before = [progress]
    if profile:
        before.append(Profile(profile, folder / "profile"))
    if not tensorboard:
        return [*before, ends]
    return [
        *before,
        ends,
        keras.callbacks.TensorBoard(str(folder / "tensorboard"), write_graph=False),
    ]
