# SPDX-License-Identifier: Apache-2.0
"""What an estimate needs before it is sent to a robot, and what the robot's answer becomes.

With Franka's own messages where they are installed: they are on no registry, but `build_franka_msgs.sh` builds them
with the generators that PyPI has. Without them, the service is a real one over DDS, of a type that is there: `SetLoad`
here is std_srvs/SetBool, with the names that franka_msgs gives to its fields.
"""

import sys
import threading
from dataclasses import replace
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from std_srvs.srv import SetBool, Trigger

from panda_dynamics_ros import InertialParameters
from panda_dynamics_ros.estimation.estimate import UNDECIDED, PayloadEstimate
from panda_dynamics_ros.nodes.franka_load import LoadService, unfit_for_load

BODY = InertialParameters(1.0, np.array([0.02, -0.015, 0.06]), 0.002 * np.eye(3))
COVARIANCE = np.diag([0.02**2, *[0.003**2] * 3, *[0.005**2] * 6])
FIT = PayloadEstimate(0.0, BODY.vector, COVARIANCE, np.array([True] * 4 + [False] * 6), "estimating")


def less_certain(index: int, std: float) -> Any:
    covariance = COVARIANCE.copy()
    covariance[index, index] = std**2
    return {"covariance": covariance}


def test_a_converged_estimate_is_fit_unless_the_arm_is_touched():
    assert unfit_for_load(FIT) == ""
    assert unfit_for_load(FIT, is_touched=True) == "a contact lasts"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"problem": "samples contradict it"}, "the estimate is not plausible (samples contradict it)"),
        ({"vector": np.zeros(10)}, "no payload is found"),
        ({"status": UNDECIDED}, "a weight or a steady push: move the arm"),
        ({"vector": 3.5 * BODY.vector}, "3.50 kg are more than the arm carries"),
        (less_certain(0, 0.15), "the mass has not converged (standard deviation 0.150 kg"),
        (less_certain(3, 0.2), "the centre of mass is not known"),
        ({"identifiable": np.array([True, True, True, False] + [False] * 6)}, "not identifiable yet: z"),
        ({"vector": np.concatenate([BODY.vector[:9], [1.0]])}, "no body that can exist"),
    ],
)
def test_what_is_missing_is_named(change, words):
    assert words in unfit_for_load(replace(FIT, **change))


SENT: list[dict[str, Any]] = []
REASON = "motion is running"


class SetLoad(SetBool):
    """Franka's service in the clothes of another: the load is kept, the answer is `success` alone."""

    class Request(SetBool.Request):
        def __init__(self, **load: Any) -> None:
            super().__init__(data=True)
            SENT.append(load)

    class Response(SetBool.Response):
        error = REASON


def stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules in the place of Franka's."""
    messages, services = (ModuleType(f"franka_msgs{name}") for name in ("", ".srv"))
    services.SetLoad = SetLoad  # type: ignore[attr-defined]
    monkeypatch.setattr(SetBool.Response, "error", REASON, raising=False)
    for module in (messages, services):
        monkeypatch.setitem(sys.modules, module.__name__, module)


@pytest.fixture(params=["franka_msgs", "stand-ins"])
def robot(probe, monkeypatch, request):
    """Starts a robot that takes loads or refuses them."""
    is_real = request.param == "franka_msgs"
    if not is_real:
        stand_ins(monkeypatch)
    set_load = pytest.importorskip("franka_msgs.srv", reason="franka_msgs is not installed").SetLoad
    SENT.clear()
    node, executor = rclpy.create_node("robot"), SingleThreadedExecutor()
    executor.add_node(node)
    thread = threading.Thread(target=executor.spin)
    thread.start()

    def start(takes: bool) -> None:
        def answer(request: Any, response: Any) -> Any:
            response.success = takes
            if is_real:
                SENT.append({name: getattr(request, name) for name in request.get_fields_and_field_types()})
                response.error = "" if takes else REASON
            return response

        node.create_service(set_load if is_real else SetBool, "service_server/set_load", answer)

    yield start
    executor.shutdown()
    thread.join()
    node.destroy_node()


def monitor_of(estimate: PayloadEstimate, contact: Any = None) -> Any:
    """What the service reads of an ArmMonitor."""
    estimator, detector = SimpleNamespace(estimate=estimate), SimpleNamespace(contact=contact)
    return SimpleNamespace(payload_estimator=estimator, contact_detector=detector)


@pytest.fixture
def service(probe):
    """Beside a node that is not spun: the robot is waited for by the service's own threads."""
    node = rclpy.create_node("estimator")
    service = LoadService(node, monitor_of(FIT))
    yield service
    service.close()
    node.destroy_node()


def test_a_load_that_the_robot_takes(robot, service, probe):
    robot(True)
    answer = probe.call(Trigger, "estimator/apply_load")
    assert answer.success, answer.message
    assert answer.message.startswith("the robot took the load {'mass': 1.0")
    (load,) = SENT
    assert load["center_of_mass"] == pytest.approx(BODY.com)
    assert load["load_inertia"] == pytest.approx(BODY.inertia.T.ravel())


@pytest.mark.parametrize(
    ("monitor", "words"),
    [
        (monitor_of(replace(FIT, **less_certain(0, 0.15))), "the mass has not converged"),
        (monitor_of(FIT, SimpleNamespace(lasts=True)), "a contact lasts"),
    ],
)
def test_an_estimate_that_is_unfit_is_not_sent(monitor, words, robot, service, probe):
    robot(True)
    service._monitor = monitor
    answer = probe.call(Trigger, "estimator/apply_load")
    assert not answer.success
    assert answer.message.startswith(f"not sent: {words}")
    assert not SENT


@pytest.mark.parametrize(
    ("takes", "patience", "words"),
    [
        (False, 1.0, "the robot refused the load: motion is running"),
        (True, 0.0, "/service_server/set_load did not answer within 0 s"),
        (None, 1.0, "nobody offers the service service_server/set_load"),
    ],
)
def test_a_load_that_is_not_taken(takes, patience, words, robot, service, probe, monkeypatch):
    """Refused, not answered, or offered to nobody."""
    monkeypatch.setattr("panda_dynamics_ros.nodes.franka_load.ANSWER_PATIENCE", patience)
    if takes is not None:
        robot(takes)
    answer = probe.call(Trigger, "estimator/apply_load")
    assert not answer.success
    assert answer.message.startswith(words)
