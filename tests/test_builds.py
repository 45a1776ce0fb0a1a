"""Names, downloads, sources and the shelf. Archives are tested end to end against a local server that
serves a real build in the archive's own layout."""

from __future__ import annotations

import hashlib
import http.server
import json
import os
import re
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from moire import home
from moire.browsers import download, names, shelf
from moire.browsers.download import Remote, fetch
from moire.browsers.lab import Lab
from moire.nouns import Build, Case, MoireError, Shot, UnknownBuild, UsageError


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MOIRE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


class Server:
    """Files by path; knows ranges; can break off."""

    def __init__(self) -> None:
        self.files: dict[str, bytes | Path] = {}
        self.headers: dict[str, str] = {}
        self.breaks: list[int] = []
        self.asked: list[tuple[str, str]] = []
        self.dynamic: Callable[[str], bytes | None] = lambda path: None
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                range_ = self.headers.get("Range", "")
                outer.asked.append((self.path, range_))
                held = outer.dynamic(self.path) or outer.files.get(urlsplit(self.path).path)
                if held is None:
                    self.send_error(404)
                    return
                body = held.read_bytes() if isinstance(held, Path) else held
                start = int(range_[6:-1]) if range_ else 0
                if start >= len(body) and start:
                    self.send_error(416)
                    return
                self.send_response(206 if start else 200)
                self.send_header("Content-Length", str(len(body) - start))
                for key, value in outer.headers.items():
                    self.send_header(key, value)
                self.end_headers()
                if outer.breaks:
                    self.wfile.write(body[start : start + outer.breaks.pop(0)])
                    self.close_connection = True
                    return
                self.wfile.write(body[start:])

            def log_message(self, *args: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.close()


BODY = bytes(range(256)) * 4000
SHA = "sha256:" + hashlib.sha256(BODY).hexdigest()


def test_a_download_goes_on_after_breaks(server: Server, own_home: Path) -> None:
    server.files["/f"] = BODY
    server.breaks = [300_000, 1, 200_000]
    seen: list[int] = []
    path = fetch(Remote(f"{server.url}/f", "f", SHA, len(BODY)), lambda what, done, total: seen.append(done))
    assert path.read_bytes() == BODY and seen == sorted(seen) and seen[-1] == len(BODY)
    assert [r for _, r in server.asked] == ["", "bytes=300000-", "bytes=300001-", "bytes=500001-"]
    fetch(Remote(f"{server.url}/f", "f", SHA))
    assert len(server.asked) == 4, "it was fetched again"


def test_a_download_goes_on_in_the_next_process(server: Server, own_home: Path) -> None:
    server.files["/f"] = BODY
    server.breaks = [1000] + [0] * download.BREAKS
    with pytest.raises(MoireError, match="goes on where it stopped"):
        fetch(Remote(f"{server.url}/f", "f", SHA))
    server.breaks = []
    assert fetch(Remote(f"{server.url}/f", "f", SHA)).read_bytes() == BODY
    assert server.asked[-1][1] == "bytes=1000-"


@pytest.mark.parametrize("digest", ["sha256:" + "0" * 64, "md5:" + "0" * 32])
def test_a_damaged_download_never_gets_into_place(server: Server, own_home: Path, digest: str) -> None:
    server.files["/f"] = BODY
    with pytest.raises(MoireError, match="damaged"):
        fetch(Remote(f"{server.url}/f", "f", digest))
    assert list((own_home / "downloads").iterdir()) == []


def test_the_servers_own_checksum_is_checked(server: Server, own_home: Path) -> None:
    server.files["/f"] = BODY
    server.headers["x-goog-hash"] = "crc32c=AAAAAA==,md5=AAAAAAAAAAAAAAAAAAAAAA=="
    with pytest.raises(MoireError, match="damaged"):
        fetch(Remote(f"{server.url}/f", "f"))


def test_no_server_and_no_file_are_sentences(server: Server, own_home: Path) -> None:
    with pytest.raises(MoireError, match="404"):
        fetch(Remote(f"{server.url}/nothing", "f"))
    with pytest.raises(MoireError, match="cannot be fetched"):
        fetch(Remote("http://127.0.0.1:1/f", "f"))


def test_two_processes_fetch_a_file_once(server: Server, own_home: Path) -> None:
    server.files["/f"] = BODY
    code = (
        "from moire.browsers.download import Remote, fetch;"
        f"print(fetch(Remote('{server.url}/f', 'f', '{SHA}')).stat().st_size)"
    )
    both = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [p.communicate()[0].strip() for p in both] == [str(len(BODY))] * 3
    assert len(server.asked) == 1


@pytest.fixture(scope="session")
def npm_chromium() -> Build:
    """Chromium 108 as npm packs it: one program of 150 MB."""
    return names.resolve("chromium@108")


@pytest.fixture(scope="session")
def zipped(npm_chromium: Build, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The real build as an archive would zip it, with the program at the given place."""

    def make(inside: str) -> Path:
        path = tmp_path_factory.mktemp("zip") / "build.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
            info = zipfile.ZipInfo(inside)
            info.external_attr = 0o100755 << 16
            assert npm_chromium.path is not None
            archive.writestr(info, npm_chromium.path.read_bytes())
        return path

    return make


async def shows(build: Build) -> bool:
    async with Lab([build]) as lab:
        return isinstance(await lab.shoot(build, Case(b"<!DOCTYPE html><p>x")), Shot)


async def test_chrome_for_testing_end_to_end(server: Server, own_home: Path, zipped: Callable[[str], Path]) -> None:
    known = {
        "versions": [
            {"version": "108.0.5351.0", "revision": "1", "downloads": {
                "chrome-headless-shell": [{"platform": "linux64", "url": f"{server.url}/108/shell.zip"}]}},
            {"version": "999.0.1.0", "revision": "2", "downloads": {"chrome": [{"platform": "win64", "url": "x"}]}},
        ]
    }  # fmt: skip
    server.files["/known-good-versions-with-downloads.json"] = json.dumps(known).encode()
    server.files["/108/shell.zip"] = zipped("chrome-headless-shell-linux64/chrome-headless-shell")
    done = shelf.install("chromium@108", "chrome-for-testing", server.url)
    assert done.fresh and done.build.version == "108.0.5351.0" and await shows(done.build)
    assert not shelf.install("chromium@108", "chrome-for-testing", server.url).fresh
    with pytest.raises(UnknownBuild):
        shelf.install("chromium@999", "chrome-for-testing", server.url)


async def test_snapshots_end_to_end(server: Server, own_home: Path, zipped: Callable[[str], Path]) -> None:
    positions = [1000, 1004, 1007, 1100]
    server.files["/Linux_x64/1004/chrome-linux.zip"] = zipped("chrome-linux/chrome")

    def listing(path: str) -> bytes | None:
        query = parse_qs(urlsplit(path).query, keep_blank_values=True)
        if "prefix" not in query:
            return None
        prefix, marker = query["prefix"][0], query["marker"][0]
        space = "xmlns='http://doc.s3.amazonaws.com/2006-03-01'"
        if re.fullmatch(r"Linux_x64/\d+/", prefix):
            there = f"/{prefix}chrome-linux.zip" in server.files
            inner = f"<Contents><Key>{prefix}chrome-linux.zip</Key></Contents>" if there else ""
            return f"<ListBucketResult {space}>{inner}</ListBucketResult>".encode()
        # Two a page, as the archive has a thousand a page.
        rest = [p for p in positions if f"Linux_x64/{p}/" > marker]
        inner = "".join(f"<CommonPrefixes><Prefix>Linux_x64/{p}/</Prefix></CommonPrefixes>" for p in rest[:2])
        more = f"<NextMarker>Linux_x64/{rest[1]}/</NextMarker>" if len(rest) > 2 else ""
        return f"<ListBucketResult {space}>{inner}{more}</ListBucketResult>".encode()

    server.dynamic = listing
    source = shelf.sources("snapshots", server.url)[0]
    assert [o.version for o in source.offers("chromium", "r")] == ["r1000", "r1004", "r1007", "r1100"]
    done = shelf.install("chromium@r1004", "snapshots", server.url)
    # Before every release: a snapshot is never taken for the newest build.
    assert done.build.position == (0, 1004) and await shows(done.build)
    assert names.resolve("chromium@r1004").path == done.build.path
    with pytest.raises(UnknownBuild):
        shelf.install("chromium@r1005", "snapshots", server.url)


async def test_mozilla_end_to_end(server: Server, own_home: Path, tmp_path: Path) -> None:
    packed = tmp_path / "firefox.tar"
    with tarfile.open(packed, "w") as archive:
        archive.add("/usr/lib/firefox-esr", "firefox", filter=lambda info: None if info.issym() else info)
        archive.add("/usr/lib/firefox-esr/firefox-esr", "firefox/firefox")
    # The layout is Mozilla's; the packing is none, which tarfile tells by itself.
    name = "linux-x86_64/en-US/firefox-153.7.0esr.tar.xz"
    with packed.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    server.files["/"] = b'<a href="/pub/firefox/releases/153.7.0esr/">153.7.0esr/</a><a href="/x/0.8/">0.8/</a>'
    server.files["/153.7.0esr/SHA256SUMS"] = f"{'0' * 64}  win64/firefox.exe\n{digest}  {name}\n".encode()
    server.files[f"/153.7.0esr/{name}"] = packed
    done = shelf.install("firefox@153", "mozilla", server.url)
    assert done.build.version == "153.7.0" and await shows(done.build)


@pytest.mark.parametrize("source", ["chrome-for-testing", "snapshots", "mozilla"])
def test_a_wrong_base_url_is_a_sentence(server: Server, own_home: Path, source: str) -> None:
    engine = "firefox" if source == "mozilla" else "chromium"
    with pytest.raises(MoireError):
        shelf.install(f"{engine}@r1" if source == "snapshots" else f"{engine}@1", source, server.url)
    server.files["/"] = server.files["/known-good-versions-with-downloads.json"] = b"<p>hello"
    server.dynamic = lambda path: b"<p>hello" if "?" in path else None
    with pytest.raises(MoireError):
        shelf.install(f"{engine}@r1" if source == "snapshots" else f"{engine}@1", source, server.url)


async def test_npm_and_debian_builds_work(own_home: Path) -> None:
    """Live: the registries are the ones this machine's npm and apt know."""
    npm = shelf.install("chromium@116", "npm")
    assert npm.fresh and npm.build.version.startswith("116.") and await shows(npm.build)
    debian = shelf.install("chromium@150", "debian")
    assert debian.build.version.startswith("150.") and await shows(debian.build)
    system = next(b for b in shelf.installed() if b.source == "system" and b.engine == "chromium")
    assert system.path != debian.build.path
    assert list((own_home / "downloads").iterdir()) == []


def test_two_processes_install_a_build_once(server: Server, own_home: Path, zipped: Callable[[str], Path]) -> None:
    url = f"{server.url}/b.zip"
    entry = {"version": "7.0.0.0", "downloads": {"chrome": [{"platform": "linux64", "url": url}]}}
    server.files["/known-good-versions-with-downloads.json"] = json.dumps({"versions": [entry]}).encode()
    server.files["/b.zip"] = zipped("chrome-linux64/chrome")
    command = [sys.executable, "-m", "moire.cli", "browsers", "install", "chromium@7", "--json",
               "--source", "chrome-for-testing", "--base-url", server.url]  # fmt: skip
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for _ in range(2)]
    rows = [json.loads(p.communicate()[0]) for p in both]
    assert rows[0] == rows[1] and rows[0][0]["name"] == "chromium@7.0.0.0"
    assert [path for path, _ in server.asked].count("/b.zip") == 1


def put(own_home: Path, version: str, age: int, megabytes: int = 1) -> Build:
    place = home.folder("builds") / f"chromium-{version}-npm"
    place.mkdir()
    (place / "chromium").write_bytes(b"\0" * (megabytes << 20))
    record = place / shelf.RECORD
    record.write_text(json.dumps({"engine": "chromium", "version": version, "source": "npm", "program": "chromium"}))
    os.utime(record, (10**9 + age, 10**9 + age))
    return names.resolve(f"chromium@{version}")


def test_the_least_recently_used_goes_first_and_never_one_in_use(own_home: Path) -> None:
    from contextlib import ExitStack

    builds = [put(own_home, f"{n}.0", age=n) for n in (1, 2, 3, 4)]
    with ExitStack() as stack:
        shelf.use(builds[0], stack)
        gone = shelf.evict(limit_gib=2.5 / 1024)
    assert [b.version for b in gone] == ["2.0"] or [b.version for b in gone] == ["2.0", "3.0"]
    assert builds[0].path is not None and builds[0].path.exists(), "it was in use"
    shelf.remove(builds[0])
    assert not builds[0].path.exists()


def test_damaged_records_are_passed_over(own_home: Path) -> None:
    good = put(own_home, "5.0", age=5)
    for name, text in {"a": "{", "b": "[]", "c": '{"engine": "chromium"}'}.items():
        (home.folder("builds") / name).mkdir()
        (home.folder("builds") / name / shelf.RECORD).write_text(text)
    (home.folder("") / "versions.json").write_text("[1]")
    assert [b.version for b in shelf.installed() if b.source == "npm"] == [good.version]


@pytest.mark.parametrize("damage", ["record", "program"])
def test_a_damaged_build_is_installed_anew(
    server: Server, own_home: Path, zipped: Callable[[str], Path], damage: str
) -> None:
    url = f"{server.url}/shell.zip"
    downloads = {"chrome-headless-shell": [{"platform": "linux64", "url": url}]}
    known = {"versions": [{"version": "150.0.1.0", "downloads": downloads}]}
    server.files["/known-good-versions-with-downloads.json"] = json.dumps(known).encode()
    server.files["/shell.zip"] = zipped("chrome-headless-shell-linux64/chrome-headless-shell")
    name, source, base = "chromium@150", "chrome-for-testing", server.url
    build = shelf.install(name, source, base).build
    assert build.path is not None and build.folder is not None and not shelf.install(name, source, base).fresh
    hurt = build.path if damage == "program" else build.folder / shelf.RECORD
    hurt.unlink()
    if damage == "record":
        hurt.touch()
    again = shelf.install(name, source, base)
    assert again.fresh and again.build == build and build.path.is_file()


KNOWN = [
    Build(f"chromium@{v}", "chromium", v, "npm", path=Path("/x"), position=shelf.position(v))
    for v in ("108.0.1.0", "108.0.2.0", "110.0.0.0")
]


def test_short_names_are_those_of_one_build() -> None:
    def one(engine: str, version: str) -> Build:
        return Build(f"{engine}@{version}", engine, version, "npm")

    every = [one("chromium", "108.0.1"), one("chromium", "156.0.8078.79"), one("webkit", "2.50.6"),
             one("webkit", "2.5.1"), one("firefox", "153.7.0"), one("firefox", "153.8.0"),
             one("chromium", "15.0")]  # fmt: skip
    assert [names.short(build, every).name for build in every] == [
        "chromium@108", "chromium@156", "webkit@2.50", "webkit@2.5", "firefox@153.7", "firefox@153.8", "chromium@15",
    ]  # fmt: skip
    for build in every:
        assert names.resolve(names.short(build, every).name, every).version == build.version
    assert names.resolve("webkit", every).name == "webkit@2.5"


def test_names_find_the_newest_that_fits() -> None:
    assert names.resolve("chromium@108", KNOWN).version == "108.0.2.0"
    assert names.resolve("chromium@108.0.1.0", KNOWN).version == "108.0.1.0"
    assert names.resolve("chromium", KNOWN).name == "chromium@110"
    flagged = names.resolve("chromium@108?flags=--a=b%20c&flags=--d&env=LANG=C", KNOWN)
    assert flagged.flags == ("--a=b", "c", "--d") and flagged.environ == {"LANG": "C"}
    assert flagged != names.resolve("chromium@108", KNOWN)
    prefs = names.resolve("firefox@1?prefs=a.b=true&prefs=c=x", [Build("f", "firefox", "1", "x", path=Path("/f"))])
    assert prefs.prefs == {"a.b": "true", "c": "x"}
    remote = names.resolve('http://grid:4444/wd/hub?capabilities={"browserName":"firefox"}')
    assert remote.engine == "webdriver" and remote.capabilities == {"browserName": "firefox"}
    assert remote.address == "http://grid:4444/wd/hub"
    command = names.resolve("cmd:echo --width 800 '{page}' {png}")
    assert command.command == ("echo", "--width", "800", "{page}", "{png}")
    assert names.resolve("/usr/lib/chromium/chromium-headless-shell").engine == "chromium"


@pytest.mark.parametrize(
    "name",
    ["", "chrome", "chromium@", "chromium@9", "opera@1", "/no/such/file", "cmd:", "cmd:'", "chromium@108?flags",
     "chromium@108?prefs=a=b", "chromium@108?env=x", "http://x?capabilities=[1]", "http://x?capabilities={", "@", "?"],
)  # fmt: skip
def test_a_wrong_name_is_a_sentence_with_a_remedy(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        names.resolve(name, KNOWN)
    assert caught.value.sentence.endswith(".") and caught.value.remedy


def test_the_npm_list_is_in_order() -> None:
    offers = list(shelf.sources("npm")[0].offers("chromium", ""))
    assert len(offers) > 50 and {80, 108, 116, 153} <= {shelf.position(o.version)[0] for o in offers}
    assert [shelf.position(o.version) for o in offers] == sorted(shelf.position(o.version) for o in offers)
