"""The verbs, as a user and as a script meets them."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from moire.browsers.lab import Lab, LabOptions
from moire.cli.root import cli
from moire.nouns import Build, Case, Failure, Shot
from moire.pixels import decode

MOIRE = [sys.executable, "-m", "moire.cli"]
SAME = "<!DOCTYPE html><body style='margin:0;background:#080'>"
# Chromium balances headings only since 114.
NEWER = "<!DOCTYPE html><h1 style='width:330px;text-wrap:balance'>a heading that takes two lines or so, yes</h1>"


def moire(*words: object, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*MOIRE, *map(str, words)], capture_output=True, text=True, timeout=240, env={**os.environ, **environ}
    )


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.html"
    path.write_text(SAME)
    return path


@pytest.fixture
def newer(tmp_path: Path) -> Path:
    path = tmp_path / "newer.html"
    path.write_text(NEWER)
    return path


def test_shot_takes_a_picture_in_every_engine(page: Path, tmp_path: Path) -> None:
    out = tmp_path / "shots"
    done = moire("shot", page, "-b", "chromium@156", "-b", "firefox@153", "-b", "webkit@2.50", "-o", out, "--json")
    rows = json.loads(done.stdout)
    assert done.returncode == 0 and [row["outcome"] for row in rows] == ["shot"] * 3
    for row in rows:
        assert decode(Path(row["path"]).read_bytes())[300, 400].tolist() == [0, 136, 0]
    assert moire("shot", page, "-b", "chromium@156", "-o", tmp_path / "one.png").returncode == 0
    assert (tmp_path / "one.png").stat().st_size > 100


def test_compare_prints_the_json_that_scripts_rely_on(newer: Path, tmp_path: Path) -> None:
    done = moire("compare", newer, "-b", "chromium@108", "-b", "chromium@156", "-o", tmp_path / "out", "--json")
    (pair,) = json.loads(done.stdout)["pairs"]
    wanted = {"a", "b", "verdict", "phash", "pixels", "max_difference", "sqdiff", "flake_rate"}
    assert done.returncode == 0 and wanted <= set(pair)
    assert (pair["a"], pair["b"], pair["verdict"], pair["flake_rate"]) == (
        "chromium@108",
        "chromium@156",
        "different",
        0,
    )
    assert pair["pixels"] > 100 and pair["max_difference"] > 50 and pair["sqdiff"] > 0
    assert len(list((tmp_path / "out").glob("*.png"))) == 4
    table = moire("compare", newer, "-b", "chromium@108", "-b", "chromium@156", COLUMNS="200")
    assert "different" in table.stdout and 'name="fuzzy"' in table.stdout


def test_check_speaks_bisects_language(page: Path, newer: Path) -> None:
    def check(*words: object) -> int:
        return moire("check", *words).returncode

    two = ("-b", "chromium@108", "-b", "chromium@156")
    assert check(page, *two) == 0
    assert check(newer, *two) == 1
    assert check(newer, *two, "--interesting") == 0
    assert check(page, *two, "--interesting") == 1
    assert check(newer, *two, "--measure", "fuzzy:255;480000") == 0
    assert check(newer, "-b", "chromium@156", "-b", "chromium@156") == 0


def test_check_says_what_cannot_be_tested(page: Path, tmp_path: Path) -> None:
    hangs = tmp_path / "hangs.html"
    hangs.write_text("<script>for (;;);</script>")
    two = ("-b", "chromium@108", "-b", "chromium@156")
    assert moire("check", hangs, *two, "--deadline", "2").returncode == 125
    dead = tmp_path / "chromium"
    dead.write_text("#!/bin/sh\nexit 1\n")
    dead.chmod(0o755)
    done = moire("check", page, "-b", dead, "-b", "chromium@156")
    assert done.returncode == 125 and "would not start" in done.stderr
    for words in ((page,), (page, "-b", "chromium@156"), (tmp_path / "no.html", *two), (page, "-b", "x", "-b", "y"),
                  (page, *two, "--measure", "x"), (page, *two, "--size", "0x0"), (page, *two, "--what")):  # fmt: skip
        done = moire("check", *words)
        assert done.returncode == 129 and done.stderr.startswith("moire: "), words


def test_check_never_says_different_by_mistake(page: Path, tmp_path: Path) -> None:
    """Python's own exit code for a failure is 1, which a bisector takes for "bad"."""
    broken = tmp_path / "broken"
    broken.write_text(f"#!{sys.executable}\nimport sys\nopen(sys.argv[2], 'wb').write(b'\\x89PNG\\r\\n\\x1a\\n')\n")
    broken.chmod(0o755)
    assert moire("check", page, "-b", f"cmd:{broken}", "-b", "chromium@156").returncode == 125
    read, write = os.pipe()
    os.close(read)
    words = [*MOIRE, "check", str(page), "-b", "chromium@156", "-b", "chromium@156"]
    assert subprocess.run(words, stdout=write, stderr=subprocess.DEVNULL).returncode == 129
    os.close(write)
    mistaken = "import sys, moire.cli.shoot as s; s._compare = lambda *a: 1 / 0; from moire.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", mistaken, *words[3:]], capture_output=True, text=True)
    assert done.returncode == 129 and "mistake of Moire's own" in done.stderr and "Traceback" not in done.stderr


def test_long_names_hide_no_verdict_and_lose_no_picture(page: Path, tmp_path: Path) -> None:
    names = [f"chromium@156?flags=--a=x{sign}y --b={'b' * 150}" for sign in ",;"]
    done = moire("compare", page, "-b", names[0], "-b", names[1], "-o", tmp_path / "out", COLUMNS="80")
    assert done.returncode == 0 and " same " in done.stdout, done.stdout + done.stderr
    assert len(list((tmp_path / "out").glob("*.png"))) == 4


def test_a_name_that_looks_like_markup_is_shown_as_it_is(page: Path) -> None:
    done = moire("compare", page, "-b", "chromium@156?flags=--x=[/b]", "-b", "chromium@156", COLUMNS="200")
    assert done.returncode == 0 and "[/b]" in done.stdout, done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("shot", "{page}", "-b", "chromium@1"),
        ("shot", "{page}", "-b", "nonsense"),
        ("shot", "{page}"),
        ("shot", "{folder}", "-b", "chromium@156"),
        ("shot", "{page}", "-b", "chromium@156", "--size", "axb"),
        ("shot", "{page}", "-b", "chromium@156", "--size", "99999x1"),
        ("shot", "{page}", "-b", "chromium@156", "--size", "²x600"),
        ("shot", "{page}", "-b", "chromium@156", "--deadline", "0"),
        ("shot", "{page}", "-b", "chromium@156", "--deadline", "nan"),
        ("shot", "{page}", "-b", "chromium@156?flags='"),
        ("shot", "{page}", "-b", "~nosuchuser/chrome"),
        ("shot", "{page}", "-b", "cmd:true?flags=--x"),
        ("shot", "{page}", "-b", "chromium@156", "--scale", "0"),
        ("compare", "{page}", "-b", "chromium@156"),
        ("compare", "{page}", "-b", "chromium@156", "-b", "chromium@108", "--measure", "phash:x"),
        ("browsers", "install", "chromium@1"),
        ("browsers", "install", "chromium@108", "--source", "nowhere"),
        ("browsers", "install", ""),
        ("browsers", "install", "chromium@"),
        ("browsers", "install", "chromium@120", "--source", "snapshots", "--base-url", "nowhere"),
        ("shot", "{page}", "-b", "cmd:nosuchprogram"),
        ("shot", "{page}", "-b", "cmd:true {pgae}"),
        ("shot", "{page}", "-b", "http://127.0.0.1:99999"),
        ("shot", "{page}", "-b", "chromium@156", "--serve-host", "0.0.0.0"),
        ("shot", "{page}", "-b", "chromium@156", "-b", "chromium@108", "-o", "{folder}/one.png"),
        ("compare", "{page}", "-b", "chromium@156", "-b", "chromium@108", "--measure", "exact:5"),
        ("compare", "{page}", "-b", "chromium@156", "-b", "chromium@108", "--measure", "phash:99999"),
        ("compare", "{page}", "-b", "chromium@156", "-b", "chromium@108", "--measure", "fuzzy:-1;2"),
        ("hunt", "change", "--base", "chromium@156", "--new", "chromium@108", "-o", "{page}"),
        ("browsers", "install", "webkit"),
        ("browsers", "install", "chromium@108", "--base-url", "http://127.0.0.1:1"),
        ("browsers", "remove", "chromium@1"),
        ("browsers", "remove", "chromium@108", "http://x"),
        ("browsers", "remove", "chromium@156"),
        ("shot", "{page}", "-b", "chromium@156?colour=red"),
        ("shot", "{page}", "-b", "{page}"),
        ("shot", "/dev/zero", "-b", "chromium@156"),
        ("shot", "{page}", "-b", "chromium@156", "-o", "{folder}/new.jpg"),
        ("shot", "{page}", "-b", "chromium@156", "-o", "/proc/new.png"),
        ("compare", "{page}", "-b", "chromium@156", "-b", "chromium@108", "-o", "{page}"),
        ("compare", "{page}", "-b", "chromium@156", "-b", "chromium@108", "-o", "/proc/new"),
        ("hunt", "change", "--base", "chromium@156"),
        ("nonsense",),
    ],
)
def test_bad_input_is_one_sentence_and_exit_two(words: tuple[str, ...], page: Path) -> None:
    done = moire(*(word.replace("{page}", str(page)).replace("{folder}", str(page.parent)) for word in words))
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("moire: ") and done.stderr.count("\n") == 1


def test_a_build_that_will_not_start_is_exit_four(page: Path, tmp_path: Path) -> None:
    dead = tmp_path / "chromium"
    dead.write_text("#!/bin/sh\necho out of luck >&2\nexit 1\n")
    dead.chmod(0o755)
    done = moire("shot", page, "-b", dead)
    assert done.returncode == 4 and "out of luck" in done.stderr and "Check that" in done.stderr


def test_list_and_available_and_doctor() -> None:
    rows = json.loads(moire("browsers", "list", "--json").stdout)
    assert {"name", "engine", "version", "source", "path"} <= set(rows[0])
    assert {"chromium", "firefox", "webkit"} == {row["engine"] for row in rows}
    offers = json.loads(moire("browsers", "available", "chromium", "--json").stdout)
    assert {"npm", "debian"} == {offer["source"] for offer in offers}
    doctor = moire("browsers", "doctor", "--json")
    reports = {report["what"]: report for report in json.loads(doctor.stdout)}
    assert doctor.returncode == 0 and all(reports[e]["well"] for e in ("chromium", "firefox", "webkit", "fonts", "npm"))
    assert ("off" in reports["sandbox"]["says"]) == (os.geteuid() == 0)


def test_every_verb_has_help_with_an_example() -> None:
    for verb in ("", "shot", "compare", "check", "browsers", "hunt", "hunt change", "browsers list",
                 "browsers available", "browsers install", "browsers remove", "browsers doctor", "generate", "pages",
                 "pages grammar", "pages weights", "pages features", "pages support", "pages refresh",
                 "grammar compile", "hunt update", "runs", "runs list", "runs show", "report", "check-update",
                 "reduce", "runs resume", "runs verify", "runs gc", "runs merge", "recheck", "export", "serve",
                 "hunt consensus", "hunt regression"):  # fmt: skip
        done = CliRunner().invoke(cli, [*verb.split(), "--help"])
        assert done.exit_code == 0 and "Example" in done.output, verb


def test_hunt_finds_reports_and_repeats_itself(tmp_path: Path) -> None:
    words = ("hunt", "change", "--base", "chromium@108", "--new", "chromium@156", "--pages", 1, "--seed", 3, "--afresh",
             "--no-guidance")  # fmt: skip
    reports = []
    for name in ("one", "two"):
        done = moire(*words, "-o", tmp_path / name)
        assert done.returncode == 0 and "index.html" in done.stdout, done.stderr
        reports.append(json.loads((tmp_path / name / "report.json").read_text()))
    assert reports[0]["findings"] == reports[1]["findings"] != []
    assert [report["ids"] for report in reports] == [{"finding-001": 1}, {"finding-001": 2}]
    first = tmp_path / "one" / reports[0]["findings"][0]["name"]
    pictures = {"chromium-108.png", "chromium-156.png", "difference.png", "close-up.png"}
    assert {f.name for f in first.iterdir()} == {"page.html", "before.html", "finding.json", *pictures}
    again = moire("check", first / "page.html", "-b", "chromium@108", "-b", "chromium@156", "--measure", "phash")
    assert again.returncode == 1
    failing = moire("hunt", "--resume", "change-1", "--fail-on-finding", "-o", tmp_path / "three")
    assert failing.returncode == 1


def test_a_hunt_that_cannot_start_leaves_the_earlier_report(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "finding-001", tmp_path / "finding-notes"
    for folder in (ours, theirs):
        folder.mkdir()
    (ours / "finding.json").write_text("{}")
    done = moire("hunt", "change", "--base", "chromium@156", "--new", "/bin/true", "--pages", 3, "-o", tmp_path)
    assert done.returncode == 4 and ours.exists() and theirs.exists()
    done = moire("hunt", "change", "--base", "chromium@156", "--new", "chromium@156", "--pages", 3, "-o", tmp_path)
    assert done.returncode == 0 and not ours.exists() and theirs.exists()


def test_a_build_never_differs_from_itself(tmp_path: Path) -> None:
    done = moire("hunt", "change", "--base", "chromium@156", "--new", "chromium@156", "--measure", "exact",
                 "--pages", "60", "-o", tmp_path)  # fmt: skip
    assert json.loads((tmp_path / "report.json").read_text())["summary"]["same"] == 60, done.stdout


def test_ctrl_c_before_anything_is_loaded_is_no_different_to_check(page: Path) -> None:
    code = "import builtins, sys, moire.cli as c\n"
    code += "def slow(*a, **k): raise KeyboardInterrupt\n"
    code += "sys.argv = ['moire', 'check']; builtins.__import__ = slow; c.main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (129, "moire: Stopped.\n")


def test_a_hunt_that_could_test_nothing_says_why(tmp_path: Path) -> None:
    broken = renderer(tmp_path / "broken", "echo no licence >&2; exit 3")
    words = ("hunt", "change", "--base", "chromium@156", "--new", f"cmd:{broken}", "--pages", "3", "-o", tmp_path / "r")
    done = moire(*words)
    assert done.returncode == 1 and "Not one page" in done.stderr
    (told,) = (tmp_path / "r" / "data" / "run").iterdir()
    assert "no licence" in told.read_text()


def test_what_goes_to_a_file_is_whole_and_has_no_bars(tmp_path: Path) -> None:
    listed = moire("browsers", "list", COLUMNS="40")
    assert "chromium-headless-shell" in listed.stdout and "…" not in listed.stdout
    hunted = moire("hunt", "change", "--base", "chromium@156", "--new", "chromium@156", "--pages", "3", "-o", tmp_path)
    assert hunted.returncode == 0 and hunted.stderr == ""
    assert moire("browsers", "list", PYTHONIOENCODING="ascii").returncode == 0


def renderer(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


async def test_any_program_is_a_renderer(tmp_path: Path) -> None:
    shell = "/usr/lib/chromium/chromium-headless-shell"
    real = Build("cmd", "command", "", "command", command=(
        shell, "--no-sandbox", "--hide-scrollbars", "--window-size={width},{height}", "--screenshot={png}", "{page}",
    ))  # fmt: skip
    case = Case(b"<!DOCTYPE html><link rel=stylesheet href=s/a.css>", resources={"s/a.css": b"body{background:#080}"})
    fails = Build(
        "fails", "command", "", "command", command=(str(renderer(tmp_path / "fails", "echo sorry >&2; exit 3")),)
    )
    hangs = Build("hangs", "command", "", "command", command=(str(renderer(tmp_path / "hangs", "exec sleep 1000")),))
    async with Lab([real, fails]) as lab:
        outcome = await lab.shoot(real, case)
        assert isinstance(outcome, Shot) and decode(outcome.png)[300, 400].tolist() == [0, 136, 0]
        assert outcome.how == "command"
        failure = await lab.shoot(fails, case)
        assert failure == Failure("untestable", "the renderer ended with 3: sorry")
    async with Lab([hangs], LabOptions(deadline=0.5)) as lab:
        hung = await lab.shoot(hangs, case)
        assert isinstance(hung, Failure) and hung.kind == "hung"


def test_any_webdriver_end_is_a_build(chromedriver: str, page: Path, tmp_path: Path) -> None:
    options = {"args": ["--headless=new", "--no-sandbox", "--hide-scrollbars"]}
    capabilities = json.dumps({"browserName": "chrome", "goog:chromeOptions": options})
    remote = f"{chromedriver}?capabilities={capabilities}"
    done = moire("compare", page, "-b", remote, "-b", "chromium@156", "--json")
    (pair,) = json.loads(done.stdout)["pairs"]
    assert pair["verdict"] == "same", done.stdout
    refused = moire("shot", page, "-b", f'{chromedriver}?capabilities={{"browserName":"netscape"}}')
    assert refused.returncode == 4 and "no session" in refused.stderr
    nobody = moire("shot", page, "-b", "http://127.0.0.1:1")
    assert nobody.returncode == 4 and "WebDriver" in nobody.stderr
    served = moire("shot", page, "-b", remote, "--serve-host", "127.0.0.2", "-o", tmp_path / "s.png")
    assert served.returncode == 0, served.stderr
    wrong = moire("shot", page, "-b", remote, "--serve-host", "203.0.113.1")
    assert wrong.returncode == 2 and "--serve-host" in wrong.stderr


def test_flags_make_another_build_of_one_program(page: Path) -> None:
    page.write_text("<!DOCTYPE html><body style='background:#fff;color:#000'>text")
    done = moire(
        "compare",
        page,
        "-b",
        "chromium@156",
        "-b",
        "chromium@156?flags=--blink-settings=defaultFontSize=40",
        "--json",
    )
    (pair,) = json.loads(done.stdout)["pairs"]
    assert pair["verdict"] == "different" and pair["b"].startswith("chromium@156?flags=")
