"""`moire generate` and `moire pages …`: pages by the web's grammar, and the grammar by pages."""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path
from typing import Any

import click

from ..browsers.sources.npm import npm
from ..grammar import prune, write
from ..grammar import weights as weights_of
from ..nouns import Exit, UsageError
from ..pages import read
from ..pages.combine import Combinations
from ..pages.make import Pages
from ..pages.spec import refresh as refresh_snapshot
from ..pages.spec import web
from ..pages.spec.snapshot import load
from . import options, sources
from .progress import pages as progress_bar
from .root import cli, run


@cli.command()
@click.option("--no_of_files", "count", required=True, type=click.IntRange(1, 1_000_000), help="How many pages.")
@click.option("--output_dir", "output", required=True, type=click.Path(path_type=Path), help="The folder to write to.")
@click.option("--input_dir", type=click.Path(path_type=Path), help="A folder of pages to follow, if it holds any.")
@click.option("--seed", type=click.IntRange(0), help="Same seed, same pages; a new one each time if not given.")
@sources.size_option
@sources.page_options
@click.option("--build", "-b", "names", multiple=True, metavar="BUILD", help="Use only what this build understands.")
@click.option("--combine", type=click.IntRange(1, 5), metavar="N", help="Pages of all combinations of N features.")
@click.option("--of", "features", default="", help="The features to combine: div,color:,display: …")
@click.option("--json", "as_json", is_flag=True, help="Say it in JSON.")
def generate(
    count: int, output: Path, input_dir: Path | None, seed: int | None, size: int, names: tuple[str, ...],
    combine: int | None, features: str, as_json: bool, like: tuple[Path, ...], **how: Any,
) -> int:  # fmt: skip
    """Write pages by the web's grammar, as ClusterFuzz calls a fuzzer.

    \b
    Examples:
      moire generate --no_of_files 100 --output_dir pages
      moire generate --no_of_files 100 --output_dir pages --like mine.html --build chromium@156 --seed 7
      moire generate --no_of_files 100 --output_dir pages --combine 2 --of div,float:,display:,columns:
    """
    options.folder_for(output, "--output_dir")
    followed = [*like, *_pages_in(input_dir)]
    source = Pages(sources.weights(like=followed, builds=options.builds(names), **how))
    seed = random.SystemRandom().getrandbits(40) if seed is None else seed
    chosen = _combinations(source, combine, features, seed)
    written, place = 0, 0
    with progress_bar() as bar:
        task = bar.add_task("pages", total=count, found="")
        for n in range(count):
            if chosen is None:
                case = source.page(seed * 1_000_000 + n, size)
            else:
                case, place = source.combined(seed * 1_000_000 + n, size, chosen, place)
            (output / f"fuzz-{n:06d}.html").write_bytes(case.html)
            written += len(case.html)
            bar.update(task, advance=1)
    if as_json:
        click.echo(json.dumps({"pages": count, "bytes": written, "seed": seed, "combinations": place}))
    else:
        click.echo(f"{count} pages of {written // count} bytes in {output}, by seed {seed}.")
    return Exit.DONE


def _pages_in(folder: Path | None) -> list[Path]:
    if folder is None:
        return []
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder.", "Give --input_dir a folder of pages.")
    return sorted(p for p in folder.rglob("*") if p.suffix.lower() in (".html", ".htm") and p.is_file())


def _combinations(source: Pages, n: int | None, names: str, seed: int) -> Combinations | None:
    if n is None:
        if names:
            raise UsageError("--of names features to combine.", "Give --combine N too.")
        return None
    known = source.features
    wanted = [name.strip() for name in names.split(",") if name.strip()] or known
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise UsageError(
            f"{unknown[0]!r} is no feature that can be combined.", "Write a tag as div and a property as color: ."
        )
    return Combinations(wanted, n, seed)


@cli.group()
def pages() -> None:
    """The web's grammar: write it out, read weights off pages, ask builds what they understand.

    \b
    Examples:
      moire pages weights mine.html -o like-mine.json
      moire pages grammar --like mine.html -o grammar/
    """


@pages.command()
@sources.LIKE
@sources.KINDS
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The folder to write to.")
def grammar(like: tuple[Path, ...], kinds: str, output: Path) -> int:
    """Write the web's grammar as EBNF, whole or cut down to what some pages use.

    \b
    Examples:
      moire pages grammar -o grammar/
      moire pages grammar --like mine.html -o grammar/
      moire grammar sample grammar/web.ebnf --rule flow
    """
    options.folder_for(output)
    weights = sources.weights(kinds=kinds, like=like)
    whole = prune(web.grammar(), weights) if like else web.grammar()
    options.write(output / "web.ebnf", write(whole).encode())
    own = weights_of.default(whole) if like else weights
    options.write(output / "weights.json", weights_of.text(own).encode())
    click.echo(f"{len(whole.rules)} rules in {output / 'web.ebnf'}, their weights in {output / 'weights.json'}.")
    return Exit.DONE


@pages.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE…")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Where to write the weights.")
def weights(files: tuple[Path, ...], output: Path | None) -> int:
    """Read pages, broken ones too, and count which edges of the web's grammar they take.

    \b
    Example:
      moire pages weights a.html b.html -o like-these.json
    """
    options.file_for(output)
    text = weights_of.text(read.weights(sources.read_bytes(path) for path in files))
    if output is None:
        click.echo(text, nl=False)
    else:
        options.write(output, text.encode())
    return Exit.DONE


@pages.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE…")
@click.option("--json", "as_json", is_flag=True, help="Say it in JSON.")
def features(files: tuple[Path, ...], as_json: bool) -> int:
    """Name what is in pages: tags, attributes, properties, values, and which tags have which properties.

    \b
    Example:
      moire pages features mine.html
    """
    found = {str(path): read.features(sources.read_bytes(path)).names() for path in files}
    if as_json:
        click.echo(json.dumps(found, indent=1, ensure_ascii=False))
    else:
        for path, names in found.items():
            for name in names:
                click.echo(f"{path}: {name}" if len(found) > 1 else name)
    return Exit.DONE


@pages.command()
@click.argument("names", nargs=-1, required=True, metavar="BUILD…")
@click.option("--json", "as_json", is_flag=True, help="Say it in JSON.")
def support(names: tuple[str, ...], as_json: bool) -> int:
    """Ask builds what they understand of the web's grammar. Answers are kept.

    \b
    Example:
      moire pages support chromium@156 firefox@153
    """
    builds = options.builds(names)
    asked = list(zip(builds, run(sources.supports(builds)), strict=True))
    if as_json:
        rows = [{"build": b.name, "properties": known.properties, "refused": list(known.refused)} for b, known in asked]
        click.echo(json.dumps(rows, indent=1))
    else:
        for build, known in asked:
            share = f"{len(known.properties)} of {len(load().properties)} properties"
            click.echo(f"{build.name}: {share}; {len(known.refused)} alternatives refused")
    return Exit.DONE


@pages.command()
@click.argument("packages", nargs=-1, metavar="[PACKAGE@VERSION]…")
def refresh(packages: tuple[str, ...]) -> int:
    """Make the snapshot of the specifications' data anew, from npm.

    \b
    Examples:
      moire pages refresh
      moire pages refresh @webref/css@8.7.5
    """
    wanted = {package.rpartition("@")[0]: package for package in packages}
    unknown = sorted(set(wanted) - set(refresh_snapshot.PACKAGES))
    if unknown:
        raise UsageError(
            f"{wanted[unknown[0]]!r} is not one of the packages.", f"They are {', '.join(refresh_snapshot.PACKAGES)}."
        )
    with tempfile.TemporaryDirectory(prefix="moire-") as folder:
        sources = refresh_snapshot.refresh(lambda package: _packed(wanted.get(package, package), Path(folder)))
    for package, about in sources.items():
        click.echo(f"{package} {about['version']}")
    return Exit.DONE


def _packed(package: str, folder: Path) -> tuple[Path, str]:
    """npm knows where packages are, and checks what it fetches."""
    row = npm("pack", package, "--pack-destination", str(folder))[0]
    return folder / row["filename"], str(row["version"])
