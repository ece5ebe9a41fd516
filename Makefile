# `make demo` and `make test` work on a fresh Linux machine with Python 3.10+ and make: they make a virtual environment
# and install what they need. ROS 2 comes as wheels from PyPI.
PYTHON ?= python3
ROS_DISTRO ?= jazzy
VENV ?= .venv-$(ROS_DISTRO)
BIN := $(VENV)/bin
ROS_WHEELS := $(addprefix ros-$(ROS_DISTRO)-,rclpy rmw-fastrtps-cpp sensor-msgs geometry-msgs std-msgs std-srvs \
	visualization-msgs diagnostic-msgs trajectory-msgs)
BENCH_ARGS ?=
DEMO_ARGS ?=

# Demo and tests must not reach a robot on the network, so nodes find those of this machine only. Commands and tests
# choose their own ROS domain.
export ROS_AUTOMATIC_DISCOVERY_RANGE ?= LOCALHOST

.PHONY: help demo test tests check kernels lint fuzz bench bench-payload bench-cycle bench-unfamiliar bench-contact bench-datasets bench-1khz \
	docs figures clean

help:
	@echo "make demo              a simulated Panda and the ROS 2 nodes; a payload is picked up, found and put down"
	@echo "make test              ruff, mypy and the tests, all of them with SLOW=1 (ROS_DISTRO=kilted; PYTEST_ARGS='-k payload')"
	@echo "make check             ruff, mypy and the tests of what this branch changes, in a minute or two"
	@echo "make lint              ruff, mypy and bandit"
	@echo "make fuzz              mutated files, messages, calls and parameters for an hour (FUZZ_SECONDS for each kind, FUZZ_SEED)"
	@echo "make docs              the documentation as HTML, in docs/_build"
	@echo "make figures           what README and docs show of the code's outputs and pictures, made anew in some minutes"
	@echo "make bench             speed beside Pinocchio from Python: batches, single states, the whole estimator"
	@echo "make bench-payload     accuracy of the payload estimator beside baselines (BENCH_ARGS=--quick for minutes)"
	@echo "make bench-unfamiliar  payloads on arms that differ from their model (BENCH_ARGS=--quick for minutes)"
	@echo "make bench-cycle       pick-and-place cycles on arms whose dry friction keeps its value at rest (BENCH_ARGS=--quick for minutes)"
	@echo "make bench-contact     contacts: delay, false alarms, links (BENCH_ARGS=--quick for minutes)"
	@echo "make bench-datasets    thousands of recordings as one table: throughput, and what large data sets would cost"
	@echo "make bench-1khz        both nodes at 1 kHz for 10 minutes: losses, latencies, CPU, memory (BENCH_ARGS='--minutes 1')"
	@echo "make clean             remove virtual environments and build products"

$(VENV)/.run: setup.py Makefile
	@$(PYTHON) -c "import ensurepip, venv" || { echo "$(PYTHON) cannot make virtual environments: apt install python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet $(ROS_WHEELS)
	$(BIN)/python -m pip install --quiet --editable .[bags,simulation,identification,view]
	touch $@

$(VENV)/.test: $(VENV)/.run
	$(BIN)/python -m pip install --quiet --editable .[test,lint,docs,colcon]
	@# Robot descriptions of others, 230 MB: where there is no wheel for this Python, their tests are skipped.
	-for name in pybullet example-robot-data; do $(BIN)/python -m pip install --quiet --only-binary :all: $$name; done
	touch $@

demo: $(VENV)/.run
	$(BIN)/panda-dynamics demo --output demo_output $(DEMO_ARGS)

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy panda_dynamics_ros test
	$(BIN)/bandit -q -c pyproject.toml -r panda_dynamics_ros launch examples

# mypy reads beside the tests, which take two workers more than processors, since tests of nodes wait. The kernels
# are compiled before, once for all processes. With PYTEST_ARGS, only those tests run. One thread of OpenBLAS each: see
# panda_dynamics_ros/nodes/__init__.py. Bytecode is kept, also where the user's settings say otherwise: the tests start
# two hundred processes.
PYTEST := PANDA_REQUIRE_ROS=1 OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest
WORKERS ?= $(shell expr $$(nproc) + 2)
test: $(VENV)/.test
	@$(MAKE) --no-print-directory --jobs 2 lint tests

tests: kernels
ifdef PYTEST_ARGS
	$(PYTEST) $(PYTEST_ARGS)
else
	$(PYTEST) -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(if $(SLOW),,-m "not slow")
endif

kernels: $(VENV)/.test
	@$(BIN)/python -c "from panda_dynamics_ros.warm_up import warm_up; warm_up('suite', 'simulated_panda', report=print)"
	@# All workers begin with tests that need this one, too.
	@$(BIN)/python -c "import numpy, panda_dynamics_ros as pdr; pdr.load_robot('panda').inverse_dynamics(*numpy.zeros((3, 64, 7)))"

# What this branch has changed since it left main, and the shape of the house. Of a module: the tests of its room
# that import it or have its name; where there are none, all of its room, of the nodes two that show most.
CHANGED := $(if $(filter check,$(MAKECMDGOALS)),$(shell git diff --name-only --diff-filter=d $$(git merge-base main HEAD) -- '*.py'))
module = $(subst /,.,$(basename $(1)))
room = $(word 2,$(subst /, ,$(1)))
named = $(wildcard test/test_$(notdir $(basename $(1))).py test/*/test_$(notdir $(basename $(1))).py)
importing = $(if $(wildcard test/$(room)),$(shell grep -rlE '$(subst .,\.,$(module))\b' --include='test_*.py' $(wildcard test/$(room))))
of_room = $(if $(filter nodes,$(room)),test/nodes/test_faults.py test/nodes/test_offline_agreement.py,$(wildcard test/$(room)))
tests_of = $(or $(strip $(named) $(importing)),$(of_room))
TESTS = test/test_architecture.py test/test_public_api.py $(filter test/%,$(foreach file,$(CHANGED),$(if \
	$(filter test_%,$(notdir $(file))),$(file),$(if $(filter panda_dynamics_ros/%,$(file)),$(call tests_of,$(file))))))
check: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	MYPYPATH=test $(BIN)/mypy $(or $(CHANGED),test/test_public_api.py)
	$(PYTEST) -n 2 --dist loadfile --no-loadscope-reorder $(sort $(TESTS))

fuzz: $(VENV)/.test
	FUZZ_SECONDS=$(or $(FUZZ_SECONDS),210) FUZZ_SEED=$(or $(FUZZ_SEED),$(shell date +%s)) \
		$(BIN)/python -m pytest test/fuzz test/nodes/test_fuzz_messages.py

bench: $(VENV)/.test
	$(BIN)/python -m benchmarks.speed

bench-payload: $(VENV)/.test
	$(BIN)/python -m benchmarks.payload $(BENCH_ARGS)

bench-cycle: $(VENV)/.test
	$(BIN)/python -m benchmarks.cycle $(BENCH_ARGS)

bench-unfamiliar: $(VENV)/.test
	$(BIN)/python -m benchmarks.unfamiliar $(BENCH_ARGS)

bench-contact: $(VENV)/.test
	$(BIN)/python -m benchmarks.contact $(BENCH_ARGS)

bench-datasets: $(VENV)/.test
	$(BIN)/python -m benchmarks.datasets $(BENCH_ARGS)

bench-1khz: $(VENV)/.run
	$(BIN)/python -m benchmarks.one_khz $(BENCH_ARGS)

# An environment of its own: the documentation needs neither ROS nor the libraries of the tests.
.venv-docs/.done: setup.py Makefile
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python -m pip install --quiet --editable .[docs]
	touch $@

docs: .venv-docs/.done
	.venv-docs/bin/python -m sphinx -q -W --keep-going -b html docs docs/_build

figures: $(VENV)/.test
	$(BIN)/python docs/figures.py

clean:
	rm -rf .venv-* docs/_build build install log *.egg-info
