"""From a build to a running browser."""

from __future__ import annotations

from dataclasses import dataclass

from ..nouns import Build
from .drivers.base import Browser, Unsupported
from .drivers.chromium import ChromiumBrowser
from .drivers.command import CommandBrowser
from .drivers.firefox import FirefoxBrowser
from .drivers.webdriver import WebDriverBrowser
from .drivers.webkit import WebKitBrowser
from .network import Network


@dataclass(frozen=True, slots=True)
class Launcher:
    """Starts browsers that may reach `network` and nothing else."""

    network: Network

    async def launch(self, build: Build, *, screening: bool = False) -> Browser:
        """Raises LaunchError, with nothing left behind, when it cannot.

        `screening` is for a browser whose tabs will only ever `screen`, one at a time. Not every
        build has that: Unsupported says so.
        """
        match build.engine:
            case "chromium":
                return await ChromiumBrowser.launch(build, self.network, on_demand=screening)
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
