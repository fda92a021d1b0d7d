"""The versions of models in folders: loading those that are to be served, unloading the others."""

import collections
import contextlib
import dataclasses
import itertools
import logging
import pathlib
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

from tfsum.inference.saved_model import numbered
from tfsum.serving.batching import lower_priority
from tfsum.serving.request_error import LOADING, require
from tfsum.serving.servable import Servable
from tfsum.serving.settings import ServerSettings
from tfsum.serving.version_folders import (
    Fingerprint,
    find_models,
    fingerprint,
    select_versions,
    warm_up,
)
from tfsum.tasks.model_choice import RESEARCH

LOG = logging.getLogger("tfsum.serving")

# State of a version, as TensorFlow Serving names it -> its number in ModelVersionStatus.State.
STATES = {"START": 10, "LOADING": 20, "AVAILABLE": 30, "UNLOADING": 40, "END": 50}
TRIES = 6  # to load a version; TensorFlow Serving's first try and its five others
AT_ONCE = 2  # models that are loaded; Python's work for one goes beside TensorFlow's for the other
QUIET_SECONDS = 2.0  # without a change of a folder's files before a starting server loads them


@dataclasses.dataclass
class Version:
    """A version of a model, and its state.

    Attributes:
        state: Key of `STATES`.
        code: "OK", or the code of the error that kept the version out.
        message: Message of that error.
        servable: Loaded model, or None.
        users: Number of the requests that use the loaded model now.
        tries: Number of the failures to load since the files changed.
        files: Fingerprint of the files that were loaded, or of a later change that was logged.

    Example:
        >>> Version().state
        'START'
    """

    state: str = "START"
    code: str = "OK"
    message: str = ""
    servable: Servable | None = None
    users: int = 0
    tries: int = 0
    files: Fingerprint = ()

    @property
    def unloaded(self) -> bool:
        """Whether the version ended without an error."""
        return self.state == "END" and self.code == "OK"


class ModelVersions:
    """The versions of the models of a folder; `scan` loads and unloads as the folder changes.

    A version takes over when it is loaded, verified and warmed up; until then, and for ever where
    it fails, the one before answers. A server that starts warms up when all models answer.

    Args:
        folder: Directory with folders NAME/VERSION, or one NAME.
        settings: `model_licence`, `version_policy`, `labels` and `poll_seconds`.
        load: Function of (name, version, folder) that returns the loaded model.

    Attributes:
        models: Name -> number -> `Version`.
        starting: Whether the first scan is not finished, so that a missing model may still come.

    Raises:
        Error: There is no such folder.

    Example:
        >>> from tfsum.shipped_files import SAVED_MODELS
        >>> versions = ModelVersions(SAVED_MODELS, ServerSettings(), Servable)
        >>> versions.starting, versions.available()
        (True, {})
    """

    def __init__(
        self,
        folder: pathlib.Path,
        settings: ServerSettings,
        load: Callable[[str, int, pathlib.Path], Servable],
    ) -> None:
        self._folder, self._settings, self._load = folder, settings, load
        self._lock = threading.Lock()
        self._files: dict[pathlib.Path, Fingerprint] = {}  # of the last scan
        self._stopped = threading.Event()
        self._was_ready = False
        self.models: dict[str, dict[int, Version]] = collections.defaultdict(dict)
        self.starting = True

        find_models(folder)  # says what is wrong with it

    def watch(self, started: Callable[[], None]) -> None:
        """Scans the folder again and again, until `stop` is called.

        Args:
            started: Function that is called after the first scan.
        """
        lower_priority()  # TensorFlow starts its threads when the first model is loaded
        while not self._stopped.is_set():
            starting = self.starting
            try:
                self.scan()
            except Exception:
                LOG.exception("the folder of the models cannot be scanned")
            if starting:
                started()
                for servable in itertools.chain(*self.available().values()):
                    warm_up(servable, self._stopped)
            self._stopped.wait(self._settings.poll_seconds)

    def scan(self) -> None:
        """Looks at the folder once, and loads and unloads what is due; blocks while it loads."""
        try:
            folders = find_models(self._folder) if self._folder.is_dir() else {}
            if self._settings.model_licence == "production":
                folders = {name: path for name, path in folders.items() if name not in RESEARCH}
            names = sorted({*folders, *self.models})
            paths = [numbered(folders.get(name, self._folder / name)) for name in names]
            with ThreadPoolExecutor(AT_ONCE, "tfsum load") as pool:
                complete = [*pool.map(self._scan_model, names, paths)]
            with self._lock:
                self._was_ready |= all(complete) and all(map(self._settled, self.models.values()))
        finally:
            self.starting = False

    def stop(self) -> None:
        """Lets a scan end with the versions that it is loading, and later ones load nothing."""
        self._stopped.set()

    def states(self, name: str) -> dict[int, Version]:
        """The versions of a model, the newest first, with those that ended.

        Args:
            name: Name of the model.

        Returns:
            Number -> version; empty where there is no such model.
        """
        with self._lock:
            return dict(sorted(self.models.get(name, {}).items(), reverse=True))

    def status(
        self, name: str, version: int | None = None, label: str | None = None
    ) -> dict[int, Version]:
        """The versions of a model, or the one with a number or a label.

        Args:
            name: Name of the model.
            version: Number of a version; all where None.
            label: Label of a version; all where None.

        Returns:
            Number -> version, the newest first.

        Raises:
            RequestError: There is none.
        """
        found = self.states(name)
        self._require(found, f"Could not find any versions of model {name}")
        if label is not None:
            version = self._number_of_label(name, label)
        if version is None:
            return found
        self._require(version in found, f"Could not find version {version} of model {name}")
        return {version: found[version]}

    @property
    def ready(self) -> bool:
        """Whether to send requests: a version answers, and all models of the first scan did.

        Models that were removed, or that failed as often as they are tried, are not waited for.
        Later, neither a new model nor one that fails takes the others out of service.
        """
        with self._lock:
            return self._was_ready and any(map(_available, self.models.values()))

    def available(self) -> dict[str, list[Servable]]:
        """The loaded versions of each model, the oldest first, by the name of the model."""
        with self._lock:
            loaded = {
                name: [version.servable for _, version in sorted(versions.items())]
                for name, versions in sorted(self.models.items())
            }
        return {name: [*filter(None, found)] for name, found in loaded.items() if any(found)}

    @contextlib.contextmanager
    def use(
        self, name: str, version: int | None = None, label: str | None = None
    ) -> Iterator[Servable]:
        """Keeps a loaded model from being unloaded while a request uses it.

        Args:
            name: Name of the model.
            version: Number of the version; the newest where it and `label` are None.
            label: Label of the version.

        Yields:
            The loaded model.

        Raises:
            RequestError: It is not available.
        """
        with self._lock:
            versions = self.models.get(name, {})
            if label is not None:
                version = self._number_of_label(name, label)
            available = _available(versions)
            number, which = version, f"Specific({name}, {version})"
            if number is None:
                number, which = max(available, default=-1), f"Latest({name})"
            coming = any(
                candidate.state == "LOADING"
                for key, candidate in versions.items()
                if version in (None, key)
            )
            self._require(
                number in available, f"Servable not found for request: {which}", coming=coming
            )
            used = available[number]
            assert used.servable is not None
            used.users += 1
        try:
            yield used.servable
        finally:
            with self._lock:
                used.users -= 1
                self._unload_unused(name, number, used)

    def _require(
        self, condition: object, message: str, code: str = "NOT_FOUND", coming: bool = False
    ) -> None:
        """Raises an error unless a condition is true: a version does not answer.

        While the server starts or the version is `coming`, the error asks to repeat the request.
        """
        if self.starting or coming:
            message = f"{message}; {LOADING}"
            require(condition, message, "UNAVAILABLE", retry_after=2)
        require(condition, message, code)

    def _number_of_label(self, name: str, label: str) -> int | None:
        """The version that a label stands for; None where there is no such model."""
        number, versions = self._settings.labels.get(f"{name}/{label}"), self.models.get(name, {})
        require(number is not None or not versions, f"Unrecognized servable version label: {label}")
        self._require(
            number is None or number in _available(versions),
            f"Version label {label} of {name} is for version {number}, which is not currently"
            " available for inference",
            "FAILED_PRECONDITION",
        )

        return number

    def _scan_model(self, name: str, paths: dict[int, pathlib.Path]) -> bool:
        """Loads and unloads what is due of one model; False if the next scan may find more due."""
        loaded = _available(self.states(name))
        # A loaded version answers on from memory while its files change: it does not go before
        # another can take over.
        complete = {
            number: path
            for number, path in paths.items()
            if self._is_complete(path) or number in loaded
        }
        selected = select_versions(complete, self._settings.version_policy)
        # A label keeps a version beside the newest, which answers the requests without a label.
        labelled = {
            number
            for label, number in self._settings.labels.items()
            if label.rpartition("/")[0] == name
            and number in complete
            and number < max(selected, default=0)
        }

        for number in sorted(selected | labelled):
            if self._stopped.is_set():
                return False
            self._load_version(name, number, complete[number])
        self._retire(name, selected, labelled)
        return all(number in complete for number, path in paths.items() if self._files[path])

    def _is_complete(self, path: pathlib.Path) -> bool:
        """Whether a version folder is a SavedModel whose files do not change any more.

        Files are known not to change when they are as in the scan before. A starting server does
        not wait for a second scan: it waits here where a file was changed just now. Later the times
        say nothing, since a copy may keep those of the original.
        """
        files, before = fingerprint(path), self._files.get(path)
        if files and before is None and self.starting:
            last_change = max(nanoseconds for _, _, nanoseconds in files) / 1e9
            self._stopped.wait(min(last_change + QUIET_SECONDS - time.time(), QUIET_SECONDS))
            files, before = fingerprint(path), files
        self._files[path] = files
        return bool(files) and files == before

    def _load_version(self, name: str, number: int, path: pathlib.Path) -> None:
        """Loads a version, unless it is loaded or has failed for good."""
        with self._lock:
            version = self._due_version(name, number, path)
        if version is None:
            return

        begin = time.monotonic()
        try:
            servable = self._load(name, number, path)
        except Exception as error:  # whatever is wrong with a folder, the server goes on
            version.tries += 1
            version.message, version.code = str(error), "FAILED_PRECONDITION"
            version.state = "END"
            LOG.error("model %s version %d cannot be served: %s", name, number, error)
            return

        if not self.starting:
            warm_up(servable, self._stopped)
        version.servable, version.state = servable, "AVAILABLE"
        LOG.info(
            "model %s version %d answers, after %.1f s", name, number, time.monotonic() - begin
        )

    def _due_version(self, name: str, number: int, path: pathlib.Path) -> Version | None:
        """The version in the state LOADING, if it is to be loaded now."""
        files = self._files[path]
        version = self.models[name].get(number)
        if version is not None and version.state in ("AVAILABLE", "UNLOADING"):
            if version.state == "AVAILABLE" and files not in ((), version.files):
                version.files = files
                LOG.warning(
                    "model %s version %d: its files changed while it is served; it answers as it"
                    " was loaded. Write what is new as a version of its own, or start the server"
                    " again",
                    name,
                    number,
                )
            return None

        if version is None or version.files != files or version.unloaded:
            version = self.models[name][number] = Version()
        if version.tries >= TRIES:
            return None
        version.state, version.files, version.code, version.message = "LOADING", files, "OK", ""
        return version

    def _settled(self, versions: dict[int, Version]) -> bool:
        """Whether a model answers, or never will: no version of it is loaded or tried again."""
        return bool(_available(versions)) or all(
            version.unloaded or (version.state == "END" and version.tries >= TRIES)
            for version in versions.values()
        )

    def _retire(self, name: str, selected: set[int], labelled: set[int]) -> None:
        """Unloads the other versions, unless no selected version can take over."""
        with self._lock:
            versions = self.models.get(name, {})
            available = _available(versions)
            if selected and selected.isdisjoint(available):
                return

            for number in set(available) - selected - labelled:
                versions[number].state = "UNLOADING"
                self._unload_unused(name, number, versions[number])

    def _unload_unused(self, name: str, number: int, version: Version) -> None:
        if version.state == "UNLOADING" and not version.users:
            version.state, version.servable = "END", None
            LOG.info("model %s version %d is unloaded", name, number)


def _available(versions: dict[int, Version]) -> dict[int, Version]:
    """The versions that answer."""
    return {number: version for number, version in versions.items() if version.state == "AVAILABLE"}
