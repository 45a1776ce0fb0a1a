# make hunt   set up everything, hunt for some minutes, end with a report to open
# make test   set up everything, run the tests
# Both may be run again at any time; what is there already is not fetched again.

PYTHON ?= python3
VENV := .venv
MOIRE := $(VENV)/bin/moire
BUILDS := chromium@108 chromium@116 chromium@150

.PHONY: setup hunt test lint bench clean

setup: $(VENV)/.ready
	@sh scripts/system-packages
	@$(MOIRE) browsers install $(BUILDS)

$(VENV)/.ready: pyproject.toml scripts/venv
	@sh scripts/venv $(PYTHON) $(VENV)

hunt: setup
	$(MOIRE) hunt update chromium@156 --time 150s --operations 6
	$(MOIRE) hunt regression --base chromium@108 --new chromium@116 --time 45s --installed

test: setup
	$(VENV)/bin/pytest

lint: $(VENV)/.ready
	$(VENV)/bin/ruff check src tests bench
	$(VENV)/bin/ruff format --check src tests bench
	$(VENV)/bin/mypy

bench: setup
	$(VENV)/bin/python -m bench

clean:
	rm -rf $(VENV) runs
