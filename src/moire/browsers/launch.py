"""From a build to a running browser."""

from __future__ import annotations

from dataclasses import dataclass

from ..nouns import Build
from .drivers.base import Browser
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

    async def launch(self, build: Build) -> Browser:
        """Raises LaunchError, with nothing left behind, when it cannot."""
        match build.engine:
            case "chromium":
                return await ChromiumBrowser.launch(build, self.network)
            case "firefox":
                return await FirefoxBrowser.launch(build, self.network)
            case "webkit":
                return await WebKitBrowser.launch_local(build, self.network)
            case "webdriver":
                return await WebDriverBrowser.launch(build)
            case "command":
                return await CommandBrowser.launch(build)
