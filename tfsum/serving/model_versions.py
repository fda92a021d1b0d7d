"""The versions of models in folders: which are to be served, loading them, and unloading those that are not."""

import asyncio
import collections
import contextlib
import dataclasses
import logging
import pathlib
import threading
import time
from collections.abc import Callable, Iterator

from tfsum.serving.daemon_thread import run_in_daemon_thread
from tfsum.serving.request_error import RequestError
from tfsum.serving.servable import Servable
from tfsum.serving.settings import ServerSettings
from tfsum.serving.version_folders import Print, chosen, files_print, find_models, versions_in

LOG = logging.getLogger("tfsum.serving")

START, LOADING, AVAILABLE, UNLOADING, END = "START", "LOADING", "AVAILABLE", "UNLOADING", "END"
QUIET = 2.0  # seconds for which the files of a folder have not changed when a server starts


@dataclasses.dataclass
class Version:
    """A version that was found in a folder, and what became of it.

    Attributes:
        path: its folder.
        state: START, LOADING, AVAILABLE, UNLOADING or END, as TensorFlow Serving names them.
        code: "OK", or of the error that kept it out.
        message: of that error.
        servable: the loaded model.
        users: requests that it is answering.
        tries: how often it failed to load since its files changed.
        print: of its files when it was last loaded or tried, or changed while it was loaded.

    Example:
        >>> Version(pathlib.Path("saved_models/news/1")).state
        'START'
    """

    path: pathlib.Path
    state: str = START
    code: str = "OK"
    message: str = ""
    servable: Servable | None = None
    users: int = 0
    tries: int = 0
    print: Print = ()


class ModelVersions:
    """The versions of the models of a folder; `scan` loads and unloads as the folder changes.

    A version takes over when it is loaded, warmed up and checked; until then, and for ever where it fails, the one
    before answers.

    Args:
        folder: with folders NAME/VERSION, or NAME itself.
        settings: `version_policy`, `labels`, `load_retries` and `keep_last_version`.
        load: gives the loaded model of (name, version, folder).

    Attributes:
        models: name -> number -> `Version`.
        starting: whether the first scan has not ended, so that a model that is not there may still come.

    Raises:
        Error: there is no such folder, or the policy is unknown.

    Example:
        >>> from tfsum.inference.shipped import shipped_folder
        >>> versions = ModelVersions(shipped_folder(), ServerSettings(), Servable)
        >>> versions.scan()  # doctest: +SKIP
        >>> with versions.use("bert_sum_ext_news_en") as servable:  # doctest: +SKIP
        ...     print(servable.version)
        1
    """

    def __init__(
        self,
        folder: pathlib.Path,
        settings: ServerSettings,
        load: Callable[[str, int, pathlib.Path], Servable],
    ) -> None:
        self._folder, self._settings, self._load = folder, settings, load
        self._lock = threading.Lock()
        self._seen: dict[pathlib.Path, Print] = {}
        self._stopped = threading.Event()
        self._was_ready = False
        self.models: dict[str, dict[int, Version]] = collections.defaultdict(dict)
        self.starting = True
        chosen({}, settings.version_policy)
        find_models(folder)

    def scan(self) -> None:
        """Looks at the folder, and loads and unloads what is due; blocks while it loads."""
        try:
            found = find_models(self._folder) if self._folder.is_dir() else {}
            brought = [
                self._scan_model(name, versions_in(found[name]) if name in found else {})
                for name in sorted({*found, *self.models})
            ]
            with self._lock:
                self._was_ready |= all(brought) and all(map(self._settled, self.models.values()))
        finally:
            self.starting = False

    def stop(self) -> None:
        """Makes a scan end with the version that it is loading, and those after it load nothing."""
        self._stopped.set()

    def states(self, name: str) -> dict[int, Version]:
        """The versions of a model, the newest first, those that ended too; empty where there is no such model."""
        with self._lock:
            return dict(sorted(self.models.get(name, {}).items(), reverse=True))

    @property
    def ready(self) -> bool:
        """Whether requests may be sent: a version answers, and at first each model did that was found.

        Models that were removed, or that failed as often as they are tried, are not waited for. From then on neither a
        model that arrives nor one that fails takes the others out of service.
        """
        with self._lock:
            return self._was_ready and any(
                version.state == AVAILABLE
                for versions in self.models.values()
                for version in versions.values()
            )

    def missing(self, code: str, message: str, coming: bool = False) -> RequestError:
        """The error of a request to what is not there; while the server starts it may come, and is to be asked again.

        Args:
            code: of the error, where it will not come.
            message: what is not there.
            coming: whether it is being loaded.

        Example:
            >>> from tfsum.inference.shipped import shipped_folder
            >>> versions = ModelVersions(shipped_folder(), ServerSettings(), Servable)
            >>> versions.missing("NOT_FOUND", "no such model").http_status
            503
        """
        if self.starting or coming:
            return RequestError(
                "UNAVAILABLE", f"{message}; models are still being loaded", retry_after=2
            )
        return RequestError(code, message)

    def available(self) -> dict[str, list[Servable]]:
        """The loaded versions of each model, the oldest first, by the model's name."""
        with self._lock:
            loaded = {
                name: [
                    found.servable
                    for _, found in sorted(versions.items())
                    if found.servable is not None
                ]
                for name, versions in sorted(self.models.items())
            }
            return {name: servables for name, servables in loaded.items() if servables}

    @contextlib.contextmanager
    def use(
        self, name: str, version: int | None = None, label: str | None = None
    ) -> Iterator[Servable]:
        """The loaded model for a request, which is not unloaded before the request is answered.

        Args:
            name: of the model.
            version: of it; the newest where neither it nor a label is given.
            label: of a version.

        Raises:
            RequestError: it is not there.
        """
        with self._lock:
            versions = self.models.get(name, {})
            ready = {
                number: found for number, found in versions.items() if found.state == AVAILABLE
            }
            if label is not None:
                version = self._settings.labels.get(f"{name}/{label}")
                if version is None and versions:
                    raise RequestError(
                        "INVALID_ARGUMENT", f"Unrecognized servable version label: {label}"
                    )
                if version is not None and version not in ready:
                    raise self.missing(
                        "FAILED_PRECONDITION",
                        f"Version label {label} of {name} is for version "
                        f"{version}, which is not currently available for inference",
                    )
            number = max(ready, default=None) if version is None else version
            if number is None or number not in ready:
                which = f"Latest({name})" if version is None else f"Specific({name}, {version})"
                asked = (
                    versions.values() if version is None else filter(None, [versions.get(version)])
                )
                raise self.missing(
                    "NOT_FOUND",
                    f"Servable not found for request: {which}",
                    coming=any(found.state == LOADING for found in asked),
                )
            found = ready[number]
            assert found.servable is not None
            found.users += 1
        try:
            yield found.servable
        finally:
            with self._lock:
                found.users -= 1
                self._unload_unused(name, number, found)

    def _scan_model(self, name: str, versions: dict[int, pathlib.Path]) -> bool:
        """Loads and unloads what is due of one model; False where the next scan may find more that is due."""
        loaded = {
            number for number, version in self.states(name).items() if version.state == AVAILABLE
        }
        # A loaded version answers on from memory while its files change: it does not go before another can take over.
        whole = {
            number: path
            for number, path in versions.items()
            if self._whole(path) or number in loaded
        }
        wanted = chosen(whole, self._settings.version_policy)
        labelled = self._labelled(name, whole, wanted)
        for number in sorted(wanted | labelled):
            if self._stopped.is_set():
                return False
            self._bring(name, number, whole[number])
        self._retire(name, wanted, labelled)
        return all(number in whole for number, path in versions.items() if self._seen[path])

    def _labelled(self, name: str, whole: dict[int, pathlib.Path], wanted: set[int]) -> set[int]:
        """The versions that are served for their labels: those before the newest, which answers what has no label."""
        labels = self._settings.labels.items()
        return {
            number
            for label, number in labels
            if label.rpartition("/")[0] == name
            and number in whole
            and number < max(wanted, default=0)
        }

    def _whole(self, path: pathlib.Path) -> bool:
        """Whether a version folder is complete: a SavedModel whose files do not change any more.

        That is known of a file that had the same size and time in the scan before. A server that starts does not wait
        for a second scan, unless a file was changed just now; later the time says nothing, since copying may keep it.
        """
        found, before = files_print(path), self._seen.get(path)
        self._seen[path] = found
        if found and before is None and self.starting:
            return time.time() - max(changed for _, _, changed in found) / 1e9 > QUIET
        return bool(found) and found == before

    def _bring(self, name: str, number: int, path: pathlib.Path) -> None:
        """Loads a version, unless it is loaded or has failed for good."""
        files = self._seen[path]
        with self._lock:
            version = self.models[name].get(number)
            if (
                version is not None
                and version.state == AVAILABLE
                and files not in ((), version.print)
            ):
                version.print = files
                LOG.warning(
                    "model %s version %d: its files changed while it is served; it answers as it was loaded. "
                    "Write what is new as a version of its own, or start the server again",
                    name,
                    number,
                )
            if version is not None and (
                version.state in (AVAILABLE, UNLOADING)
                or (version.print == files and version.tries > self._settings.load_retries)
            ):
                return
            if (
                version is None
                or version.print != files
                or (version.state == END and version.code == "OK")
            ):
                version = self.models[name][number] = Version(path)
            version.state, version.print = LOADING, files
        begin = time.monotonic()
        try:
            servable = self._load(name, number, path)
        except Exception as error:  # whatever is wrong with a folder, the server goes on
            with self._lock:
                version.tries += 1
                version.state = END
                version.code = (
                    error.code if isinstance(error, RequestError) else "FAILED_PRECONDITION"
                )
                version.message = str(error)
            LOG.error("model %s version %d cannot be served: %s", name, number, error)
            return
        with self._lock:
            version.servable, version.state, version.code, version.message = (
                servable,
                AVAILABLE,
                "OK",
                "",
            )
        LOG.info(
            "model %s version %d answers, after %.1f s", name, number, time.monotonic() - begin
        )

    def _settled(self, versions: dict[int, Version]) -> bool:
        """Whether a model answers, or is not to: its versions were unloaded, or failed as often as they are tried."""
        return any(version.state == AVAILABLE for version in versions.values()) or all(
            version.state == END
            and (version.code == "OK" or version.tries > self._settings.load_retries)
            for version in versions.values()
        )

    def _retire(self, name: str, wanted: set[int], labelled: set[int]) -> None:
        """Unloads what neither the policy nor a label wants, unless no version of the policy can take over."""
        with self._lock:
            versions = self.models.get(name, {})
            answering = any(versions[number].state == AVAILABLE for number in wanted)
            for number, version in versions.items():
                if number in wanted | labelled or version.state != AVAILABLE:
                    continue
                if (wanted and not answering) or (not wanted and self._settings.keep_last_version):
                    continue
                version.state = UNLOADING
                self._unload_unused(name, number, version)

    def _unload_unused(self, name: str, number: int, version: Version) -> None:
        if version.state == UNLOADING and not version.users:
            version.state, version.servable = END, None
            LOG.info("model %s version %d is unloaded", name, number)


async def watch(versions: ModelVersions, poll_seconds: float, started: Callable[[], None]) -> None:
    """Scans again and again, in a thread that ends with the process.

    Args:
        versions: what scans.
        poll_seconds: between two scans.
        started: called after the first.

    Example:
        >>> from tfsum.serving import Server
        >>> task = asyncio.create_task(
        ...     watch(Server().versions, 1.0, lambda: None)
        ... )  # doctest: +SKIP
    """
    first = True
    while True:
        try:
            await run_in_daemon_thread(versions.scan, "tfsum scan")
        except Exception:
            LOG.exception("the folder of the models cannot be scanned")
        if first:
            started()
            first = False
        await asyncio.sleep(poll_seconds)
