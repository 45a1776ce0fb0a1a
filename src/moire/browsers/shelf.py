"""The builds on this machine: those Moire installed and those the system has."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from .. import home
from ..nouns import Build, Engine, MoireError, UnknownBuild, UsageError
from .download import Progress, downloads_of_one_install, silent
from .sources.archives import ChromeForTesting, Mozilla, Snapshots
from .sources.base import Offer, Source
from .sources.debian import Debian
from .sources.npm import Npm

RECORD = "build.json"
# Room for some sixty builds of 150 to 400 MB.
LIMIT_GIB = 25.0

_SYSTEM: tuple[tuple[Engine, tuple[str, ...]], ...] = (
    ("chromium", ("/usr/lib/chromium/chromium-headless-shell", "/usr/bin/chromium", "/usr/bin/google-chrome")),
    ("firefox", ("/usr/lib/firefox-esr/firefox-esr", "/usr/lib/firefox/firefox", "/usr/bin/firefox")),
    ("webkit", ("/usr/bin/WebKitWebDriver",)),
)


def position(version: str) -> tuple[int, ...]:
    """A version's place in its engine's history. A commit's (`r1234567`) cannot be told from that alone:
    it comes before every release, so that no snapshot is taken for the newest build."""
    numbers = tuple(int(n) for n in re.findall(r"\d+", version))
    return (0, *numbers) if version.startswith("r") else numbers


def sources(name: str = "", base_url: str = "") -> list[Source]:
    """The sources to ask. Archives are asked only by name: they need the internet."""
    made: dict[str, Callable[[], Source]] = {
        "npm": Npm,
        "debian": Debian,
        "chrome-for-testing": lambda: ChromeForTesting(base_url) if base_url else ChromeForTesting(),
        "snapshots": lambda: Snapshots(base_url) if base_url else Snapshots(),
        "mozilla": lambda: Mozilla(base_url) if base_url else Mozilla(),
    }
    if base_url and name not in ("chrome-for-testing", "snapshots", "mozilla"):
        raise UsageError("--base-url is for an archive.", "Name it: --source chrome-for-testing, snapshots or mozilla.")
    if base_url and not base_url.startswith(("http://", "https://", "file://")):
        raise UsageError(f"--base-url {base_url} is no address.", "Write it with http:// or https:// in front.")
    if not name:
        return [Npm(), Debian()]
    if name not in made:
        raise UnknownBuild(f"There is no source named {name}.", f"The sources are {', '.join(made)}.")
    return [made[name]()]


def installed() -> list[Build]:
    """Every build that can be named, in the order of engine and history."""
    found = [*_own(), *_system()]
    return sorted(found, key=lambda b: (b.engine, b.position, b.source))


def _own() -> Iterator[Build]:
    for record in sorted(home.folder("builds").glob(f"*/{RECORD}")):
        if build := _recorded(record.parent):
            yield build


def damaged() -> list[Path]:
    """Folders on the shelf that hold no build that could be run."""
    places = sorted(p for p in home.folder("builds").iterdir() if p.is_dir() and not p.name.startswith("."))
    return [place for place in places if _recorded(place) is None]


def _recorded(place: Path) -> Build | None:
    """The build in a folder of the shelf; a damaged one counts as not there."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        data = json.loads((place / RECORD).read_text())
        program = place / data["program"]
        if program.is_file():
            return _build(data["engine"], data["version"], data["source"], program, place)
    return None


def _system() -> Iterator[Build]:
    for engine, places in _SYSTEM:
        for place in places:
            path = Path(place)
            if path.exists() and (version := _version(path, engine)):
                yield _build(engine, version, "system", path)
                break


def _build(engine: Engine, version: str, source: str, path: Path, folder: Path | None = None) -> Build:
    return Build(f"{engine}@{version}", engine, version, source, path=path, position=position(version), folder=folder)


def _version(path: Path, engine: Engine) -> str:
    """Asked of the program once, and remembered until the program changes."""
    status = path.stat()
    key = f"{path.resolve()}:{status.st_mtime_ns}:{status.st_size}"
    memory = home.folder("") / "versions.json"
    known: dict[str, str] = {}
    with contextlib.suppress(OSError, ValueError, TypeError):
        known = dict(json.loads(memory.read_text()))
    if not known.get(key):
        known[key] = _ask_webkit() if engine == "webkit" else _ask_version(path)
        fresh = memory.with_name(f"versions.{os.getpid()}.tmp")
        with contextlib.suppress(OSError):
            fresh.write_text(json.dumps(known))
            fresh.replace(memory)
    return known[key]


def _ask_version(path: Path) -> str:
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        said = subprocess.run([str(path), "--version"], capture_output=True, text=True, timeout=20)
        if match := re.search(r"\d+(?:\.\d+)+", said.stdout):
            return match[0]
    return ""


def _ask_webkit() -> str:
    """The driver has no word for its version; the package that brought it has."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        asked = ["dpkg-query", "-W", "-f", "${Version}", "webkit2gtk-driver"]
        said = subprocess.run(asked, capture_output=True, text=True, timeout=20).stdout
        if match := re.match(r"\d+(?:\.\d+)+", said):
            return match[0]
    return "0"


def identify(path: Path) -> Build:
    """A build from a program's path alone."""
    program = shutil.which(str(path)) or str(path)
    path = Path(program).absolute()
    if not path.is_file():
        raise UnknownBuild(f"There is no program at {path}.", "Check the path.")
    name = path.name.lower()
    engine: Engine = "chromium"
    if "firefox" in name:
        engine = "firefox"
    elif "webkit" in name:
        engine = "webkit"
    if not os.access(path, os.X_OK):
        raise UnknownBuild(f"{path} is not a program.", "Give a browser's own program, or make it executable.")
    return _build(engine, _version(path, engine) or "0", "path", path).named(str(path))


@dataclass(frozen=True, slots=True)
class Installed:
    build: Build
    fresh: bool


def install(name: str, source: str = "", base_url: str = "", progress: Progress = silent) -> Installed:
    """Put a build on the shelf, once, however many ask for it at the same time."""
    places, limit = sources(source, base_url), _limit()
    engine, _, version = name.partition("@")
    if engine == "webkit":
        raise UnknownBuild("WebKitGTK comes with the system.", "Run `apt-get install webkit2gtk-driver xvfb`.")
    if engine not in ("chromium", "firefox") or name.endswith("@"):
        raise UnknownBuild(
            f"{name!r} names no build that can be installed.",
            "Write chromium@108 or firefox@153; `moire browsers available` lists what there is.",
        )
    wanted = [b for b in installed() if b.engine == engine and _is(b, version) and (not source or b.source == source)]
    if wanted:
        return Installed(wanted[-1], False)
    offer = choose(engine, version, places)
    key = re.sub(r"[^\w.-]+", "-", f"{offer.engine}-{offer.version}-{offer.source}")
    with home.lock(f"install-{key}"):
        place = home.folder("builds") / key
        build = _recorded(place)
        fresh = build is None
        if build is None:
            build = _unpack(offer, place, next(s for s in places if s.name == offer.source), progress)
    evict(limit)
    return Installed(build, fresh)


def choose(engine: str, version: str, places: Iterable[Source]) -> Offer:
    offers = [o for place in places for o in place.offers(engine, version)]
    if not offers:
        raise UnknownBuild(
            f"No source offers {engine}@{version}." if version else f"No source offers {engine}.",
            f"`moire browsers available {engine}` lists what there is.",
        )
    return max(offers, key=lambda o: position(o.version))


def _unpack(offer: Offer, place: Path, source: Source, progress: Progress) -> Build:
    """Beside its place first, and moved there whole."""
    fresh = place.with_name(f".{place.name}.{os.getpid()}")
    # The lock is ours: what others began and did not end is left over.
    for left in place.parent.glob(f".{place.name}.*"):
        shutil.rmtree(left, ignore_errors=True)
    try:
        fresh.mkdir(parents=True)
        with downloads_of_one_install():
            program = source.install(offer, fresh, progress)
        record = {
            "engine": offer.engine, "version": offer.version, "source": offer.source, "detail": offer.detail,
            "program": str(program.relative_to(fresh)),
        }  # fmt: skip
        (fresh / RECORD).write_text(json.dumps(record, indent=1))
        shutil.rmtree(place, ignore_errors=True)
        fresh.rename(place)
        return _build(offer.engine, offer.version, offer.source, place / record["program"], place)
    except OSError as error:
        raise MoireError(f"{offer.name} cannot be unpacked: {error.strerror}.", "Free some disk space.") from None
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _is(build: Build, version: str) -> bool:
    return not version or build.version == version or build.version.startswith(version + ".")


def removable(name: str) -> Build:
    """The one build of that name that Moire installed."""
    engine, _, version = name.partition("@")
    known = [b for b in installed() if b.engine == engine and _is(b, version)]
    own = [b for b in known if b.folder is not None]
    if len(own) > 1:
        raise UsageError(f"{name} is several: {', '.join(b.name for b in own)}.", "Name the one to remove.")
    if own:
        return own[0]
    if known:
        raise UsageError(f"{name} belongs to the system.", "Remove it with the system's package manager.")
    raise UnknownBuild(f"{name!r} is not installed.", "`moire browsers list` shows what is.")


def remove(build: Build) -> None:
    assert build.folder is not None
    with home.lock(f"use-{build.folder.name}", wait=False) as free:
        if not free:
            raise MoireError(f"{build.name} is in use.", "Stop the run that uses it first.")
        # Out of sight first: a build is there as a whole or not at all.
        gone = build.folder.with_name(f".{build.folder.name}.removed")
        shutil.rmtree(gone, ignore_errors=True)
        build.folder.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)


def use(build: Build, stack: ExitStack) -> None:
    """Mark a build as in use for as long as `stack` is open."""
    if build.folder is not None:
        stack.enter_context(home.lock(f"use-{build.folder.name}", shared=True))
        with contextlib.suppress(OSError):
            os.utime(build.folder / RECORD)


def _limit() -> float:
    said = os.environ.get("MOIRE_BUILDS_GIB", "")
    with contextlib.suppress(ValueError):
        limit = float(said) if said else LIMIT_GIB
        if limit >= 0:
            return limit
    raise UsageError(f"MOIRE_BUILDS_GIB is {said!r}, which is no limit.", "Give it in GiB, for example 25.")


def evict(limit_gib: float) -> list[Build]:
    """Drop the least recently used builds until the shelf is within its limit."""
    shelf = sorted(
        ((b, _bytes(b.folder), _last_use(b.folder)) for b in _own() if b.folder is not None),
        key=lambda row: row[2],
    )
    total = sum(size for _, size, _ in shelf)
    gone = []
    # The newest is what was just asked for.
    for build, size, _ in shelf[:-1]:
        if total <= limit_gib * 2**30:
            break
        with contextlib.suppress(MoireError):
            remove(build)
            total -= size
            gone.append(build)
    return gone


def _last_use(folder: Path) -> float:
    with contextlib.suppress(OSError):
        return (folder / RECORD).stat().st_mtime
    return 0.0


def _bytes(folder: Path) -> int:
    total = 0
    # Another process may be removing it.
    with contextlib.suppress(OSError):
        for file in folder.rglob("*"):
            with contextlib.suppress(OSError):
                total += 0 if file.is_dir() else file.lstat().st_size
    return total
