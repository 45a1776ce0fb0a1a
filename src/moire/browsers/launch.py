"""From a build to a running browser."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..nouns import Build, LaunchError
from .drivers.base import Browser, StruckAtStart, Unsupported
from .drivers.chromium import ChromiumBrowser
from .drivers.command import CommandBrowser
from .drivers.firefox import FirefoxBrowser
from .drivers.webdriver import WebDriverBrowser
from .drivers.webkit import WebKitBrowser
from .network import Network

# Of a browser that is to draw frames on demand and does not: it may have been disturbed.
TRIES = 3


@dataclass(frozen=True, slots=True)
class Launcher:
    """Starts browsers that may reach `network` and nothing else."""

    network: Network
    # Builds that were seen to draw frames on demand.
    _able: set[Build] = field(default_factory=set, init=False)

    async def launch(self, build: Build, *, screening: bool = False) -> Browser:
        """Raises LaunchError, with nothing left behind, when it cannot.

        `screening` is for a browser whose tabs will only ever `screen`, one at a time. Not every
        build has that: Unsupported says so.
        """
        match build.engine:
            case "chromium" if screening:
                return await self._screening(build)
            case "chromium":
                return await ChromiumBrowser.launch(build, self.network)
            case _ if screening:
                raise Unsupported("every tab of this engine screens alike")
            case "firefox":
                return await FirefoxBrowser.launch(build, self.network)
            case "webkit":
                return await WebKitBrowser.launch_local(build, self.network)
            case "webdriver":
                return await WebDriverBrowser.launch(build, self.network)
            case "command":
                return await CommandBrowser.launch(build)

    async def _screening(self, build: Build) -> Browser:
        """Pages are judged by the same path throughout: a build that can screen once can."""
        for _ in range(TRIES):
            try:
                browser = await ChromiumBrowser.launch(build, self.network, on_demand=True)
            except LaunchError as error:
                if build in self._able or isinstance(error, StruckAtStart):
                    raise
            else:
                self._able.add(build)
                return browser
        raise Unsupported("the build does not start with frames on demand")
